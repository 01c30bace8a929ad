"""Implements ``tt-xla check``: submits programs to TT-NN in its mock mode, and reports the calls that it refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tt_xla.codegen.judge import Judgement, Verdict, judge
from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.environment import selected_system
from tt_xla.ir.program import Program, TensorSpec
from tt_xla.options import CompileOptions
from tt_xla.tools.output import print_json
from tt_xla.tools.programs import load_program
from tt_xla.tools.running import for_each


def check_files(
    programs: Sequence[Path], options: CompileOptions, python: Path | None, *, kernels: bool, as_json: bool
) -> bool:
    """Checks each file on the selected system and prints the outcome. ``tt-xla check --help`` tells the arguments.

    Returns:
        Whether TT-NN refuses a call or a file cannot be read or compiled.

    Raises:
        RuntimeUnavailableError: TT-NN cannot be started.
    """
    interpreter = mock(ttnn_python(python), selected_system(), kernels=kernels)
    loaded: dict[Path, Program] = {}

    def load(path: Path) -> None:
        loaded[path] = load_program(path, options)

    failed = for_each(programs, load)
    judgements = judge(list(loaded.values()), interpreter)
    for path, judgement in zip(loaded, judgements, strict=True):
        if as_json:
            print_json({"file": str(path)} | record(judgement))
        else:
            click.echo("\n".join(lines(str(path), judgement)))
    return failed or any(judgement.refusals for judgement in judgements)


def record(judgement: Judgement) -> dict[str, Any]:
    """Returns a judgement as plain data."""
    return {
        "ttnn": judgement.version,
        "calls": len(judgement.verdicts),
        "refused": len(judgement.refusals),
        "dram_peak_bytes_per_bank": judgement.dram_peak_bytes_per_bank,
        "l1_peak_bytes_per_core": judgement.l1_peak_bytes_per_core,
        "refusals": [
            {
                "op": verdict.instruction.op,
                "location": verdict.instruction.location,
                "function": verdict.function,
                "inputs": [described(spec) for spec in verdict.inputs],
                "call": verdict.source,
                "refused": verdict.refused,
                "differs": list(verdict.differs),
            }
            for verdict in judgement.refusals
        ],
    }


def lines(name: str, judgement: Judgement) -> list[str]:
    """Returns a judgement as lines of text: a summary, then the refusals, where equal ones are counted."""
    refusals, calls = judgement.refusals, len(judgement.verdicts)
    outcome = "takes every call" if not refusals else f"refuses {len(refusals)}"
    peak = f"L1 {judgement.l1_peak_bytes_per_core:,} B a core, DRAM {judgement.dram_peak_bytes_per_bank:,} B a bank"
    text = [f"{name}: {judgement.version} {outcome} of {calls}; tensors at most {peak}"]
    counts = Counter((verdict.instruction.op, _reason(verdict)) for verdict in refusals)
    for verdict in refusals:
        key = (verdict.instruction.op, _reason(verdict))
        times = counts.pop(key, 0)
        if times:
            text.append(f"  {verdict.instruction.op}{f' ({times} times)' if times > 1 else ''}: {_reason(verdict)}")
            text.append(f"    on {', '.join(map(described, verdict.inputs)) or 'nothing'}")
            if verdict.instruction.location:
                text.append(f"    at {verdict.instruction.location}")
    return text


def _reason(verdict: Verdict) -> str:
    return verdict.refused or "; ".join(verdict.differs)


def described(spec: TensorSpec) -> str:
    """Returns shape and layout of a tensor as text, such as ``64x32 bf16 tile l1 block_sharded 8x4``."""
    layout = spec.layout
    words = ["x".join(map(str, spec.shape)) or "scalar", layout.dtype.value, "tile" if layout.tiled else "row_major"]
    words.append(layout.buffer.value)
    if layout.is_sharded and layout.memory is not None:
        words += [layout.memory.value, "x".join(map(str, layout.grid))]
    return " ".join(words)
