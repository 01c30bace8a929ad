"""Compares results of our ``ttnn`` with the golden functions of the real package, over drawn arguments.

    python -m conformance.run_ttnn_goldens FOLDER [--each N] [--list] [--document FILE]

FOLDER has an installed ``ttnn``. A golden function says in torch what an operation computes. Calls are those that
``make check-ttnn-calls`` draws, with floats of bfloat16 and float32 in tiles; a call that our ``ttnn`` or the golden
function refuses is counted apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import torch
import ttnn

from conformance import goldens, ttnn_run_calls
from conformance.ttnn_draw_families import families
from conformance.ttnn_draws import Draw
from docs.tables import write_between_marks
from tt_xla.testing.comparison import pcc

PCC = 0.999
"""Least correlation with the golden result; functions whose bfloat16 rounding decides are compared in float32."""


class FloatDraw(Draw):
    """Draws tensors of floats in tiles in DRAM; integers where a function takes nothing else."""

    def kind(self, dtypes: Any = ("bfloat16",), layouts: Any = ("tile",)) -> tuple[str, str, str]:
        floats = [each for each in dtypes if each in ("bfloat16", "float32")]
        return self.one(floats or dtypes), layouts[0], "dram"


def torch_tensors() -> Callable[..., torch.Tensor]:
    """Returns a function that makes the tensors of a call as golden functions take them."""
    drawn = ttnn_run_calls.draws()

    def torch_tensor(shape: Any, dtype: str, layout: str, memory: str, high: int | None = None) -> torch.Tensor:
        elements = torch.from_numpy(drawn(shape, dtype, high))
        if dtype in ("uint32", "uint16", "uint8"):
            return elements.to(torch.int32)
        tensor = elements.to(torch.bfloat16) if dtype == "bfloat16" else elements
        return tensor.requires_grad_(GRADIENTS and tensor.is_floating_point())

    return torch_tensor


GRADIENTS = False
"""Whether golden functions of gradients are called, which differentiate."""


def flat(value: Any) -> list[torch.Tensor]:
    """Returns the tensors of a result."""
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in flat(item)]
    if isinstance(value, ttnn.Tensor):
        return [ttnn.to_torch(value)]
    return [value.detach()] if isinstance(value, torch.Tensor) else []


_OF_TIES = ("ttnn.sort", "ttnn.topk")
"""Functions whose second result has the positions of elements, of which equal ones have several orders."""


def agree(ours: list[torch.Tensor], golden: list[torch.Tensor]) -> str:
    """Returns how results differ; nothing if they agree."""
    for one, other in zip(ours, golden, strict=False):
        if one.numel() != other.numel():
            return f"shape {list(one.shape)} beside {list(other.shape)}"
        left, right = one.double().flatten(), other.double().flatten()
        outside = left.isnan() & right.isinf()  # the chip's kernels return infinities outside of a function's domain
        left, right = left[~outside], right[~outside]
        if not torch.equal(left.isnan(), right.isnan()):
            return f"{int(left.isnan().sum())} NaN beside {int(right.isnan().sum())}"
        finite = left.isfinite() & right.isfinite()
        if not torch.equal(left[~finite].nan_to_num(0), right[~finite].nan_to_num(0)):
            return "other infinities"
        left, right = left[finite], right[finite]
        close = torch.allclose(left, right, rtol=0.02, atol=0.02 * float(right.abs().max()) if len(right) else 0.0)
        if not close and pcc(left.numpy(), right.numpy()) < PCC:
            return f"PCC {pcc(left.numpy(), right.numpy()):.4f}, largest difference {(left - right).abs().max():.3g}"
    return ""


def outcome(call: str, device: Any, known: Mapping[str, Any]) -> str:
    """Returns ``same``, ``no golden``, ``refused``, ``golden refuses``, or how the results differ."""
    name = call.partition("(")[0]
    golden = known.get(name)
    if golden is None:
        return "no golden"
    try:
        result = eval(call, {"ttnn": ttnn, "device": device, "ttnn_tensor": ttnn_run_calls.tensor_on(device)})
        ours = flat(result)
    except Exception:
        return "refused"
    text = re.sub(r", ((memory_config|layout)=ttnn\.\w+|dtype=ttnn\.bfloat8_b)", "", call[len(name) :])
    try:
        expected = flat(
            eval(f"golden{text}", {"golden": golden, "ttnn": ttnn, "device": device, "ttnn_tensor": torch_tensors()})
        )
    except Exception as error:
        return f"golden refuses: {type(error).__name__}: {str(error)[:80]}"
    shown = 1 if name in _OF_TIES else None
    return agree(ours[:shown], expected[:shown]) or "same"


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--each", default=4, show_default=True, help="Calls of each function.")
@click.option("--seed", default=0, show_default=True)
@click.option("--functions", default="", help="Names of functions to draw.")
@click.option("--list", "listed", is_flag=True, help="Print the calls whose results differ.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(folder: Path, each: int, seed: int, functions: str, listed: bool, document: Path | None) -> None:
    global GRADIENTS
    known = goldens.load(folder)
    for name, golden in known.items():
        ttnn.attach_golden_function(name, golden)
    device = ttnn.open_device(device_id=0, l1_small_size=65536)
    lines = ["| results | functions | same | differ | refused | golden refuses |", "|---|--:|--:|--:|--:|--:|"]
    failures = 0
    for family, members in families().items():
        GRADIENTS = family == "gradients"
        counts: Counter[str] = Counter()
        judged: set[str] = set()
        for name, drawer in sorted(members.items()):
            if functions and name not in functions.split():
                continue
            for number in range(each):
                call = f"ttnn.{name}({drawer(FloatDraw(f'{seed} {name} {number}'))})"
                result = outcome(call, device, known)
                kind = result.partition(":")[0]
                counts[kind if kind in ("same", "no golden", "refused", "golden refuses") else "differ"] += 1
                judged |= {name} if kind != "no golden" else set()
                if listed and kind not in ("same", "no golden", "refused"):
                    click.echo(f"{result}: {call}")
        failures += counts["differ"]
        columns = [counts[kind] for kind in ("same", "differ", "refused", "golden refuses")]
        lines.append(f"| {family} | {len(judged)} of {len(members)} | {' | '.join(map(str, columns))} |")
    table = "\n".join(lines)
    click.echo(table)
    if document is not None:
        write_between_marks(document, "conformance-ttnn-goldens", table)
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
