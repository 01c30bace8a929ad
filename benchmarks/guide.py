"""Predicts what each recommendation of docs/performance.md gains for its program, and writes the tables there.

``make bench-guide`` runs it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples/pytorch"))

import torch
import torch_xla
from mnist_performant import MNISTCNNDropoutModel, generate_input

from docs.tables import write_between_marks
from tt_xla.frontends.torch.backend import compiled_programs
from tt_xla.ir.program import Program

BATCHES = 1, 4, 16, 32, 64, 128, 256


def compiled(batch: int, dtype: torch.dtype, **options: object) -> tuple[Program, float]:
    """Returns the program of the guide's network, and the seconds that its first run took."""
    torch.manual_seed(0)
    torch.compiler.reset()
    torch_xla.set_custom_compile_options(options)
    model = MNISTCNNDropoutModel().eval().to(dtype).to("tt")
    start = time.perf_counter()
    with torch.no_grad():
        torch.compile(model, backend="tt")(generate_input(batch, dtype).to("tt")).cpu()
    return compiled_programs()[-1], time.perf_counter() - start


def steps() -> str:
    """Returns the table of recommendations, one after the other, for batches of 64 images."""
    bfp8 = {"enable_bfp8_conversion": True}
    rows = [
        ("level 0, float32", torch.float32, {"optimization_level": 0}),
        ("bfloat16", torch.bfloat16, {"optimization_level": 0}),
        ("level 1", torch.bfloat16, {"optimization_level": 1}),
        ("level 2", torch.bfloat16, {"optimization_level": 2}),
        ("bfloat8_b", torch.bfloat16, {"optimization_level": 2, **bfp8}),
    ]
    lines = [
        "| so far | predicted us a batch | images/s on the chip | DRAM MB | L1 kB a core |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, dtype, options in rows:
        program, _ = compiled(64, dtype, **options)
        us, memory = program.predicted_device_us, program.memory
        lines.append(
            f"| {name} | {us:,.0f} | {64e6 / us:,.0f} | {memory.dram_peak_bytes / 1e6:.1f} | "
            f"{memory.l1_peak_bytes_per_core / 1e3:.0f} |"
        )
    return "\n".join(lines)


def batches() -> str:
    """Returns the table of batch sizes at level 2 with bfloat8_b, and a chart of the throughput."""
    lines = ["| batch | predicted us a batch | us an image | images/s |", "|--:|--:|--:|--:|"]
    speeds = []
    for batch in BATCHES:
        program, _ = compiled(batch, torch.bfloat16, optimization_level=2, enable_bfp8_conversion=True)
        us = program.predicted_device_us
        speeds.append(round(batch / us * 1e6))
        lines.append(f"| {batch} | {us:,.0f} | {us / batch:.1f} | {speeds[-1]:,} |")
    chart = f"""
```mermaid
xychart-beta
    title "Predicted throughput on n150"
    x-axis "batch" [{", ".join(map(str, BATCHES))}]
    y-axis "images/s"
    line [{", ".join(map(str, speeds))}]
```"""
    return "\n".join(lines) + "\n" + chart


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--document", type=Path, help="document to write the tables to")
    arguments = parser.parse_args()
    for name, table in (("steps", steps()), ("batches", batches())):
        print(table)
        if arguments.document:
            write_between_marks(arguments.document, name, table)


if __name__ == "__main__":
    main()
