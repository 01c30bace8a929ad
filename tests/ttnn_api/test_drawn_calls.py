"""What each function of ``ttnn`` does with drawn arguments: the ops that it executes, its result's type, its refusals.

The values of such calls are judged by ``test_values.py``.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.ttnn_draw_families import calls
from tests.golden import Goldens
from tt_xla.ir.program import Instruction
from tt_xla.profiling.observing import recorded
from tt_xla.profiling.recording import Recording

SEED = 44
CALLS = calls(1, SEED)
"""One call of each function, by family; functions of small families have more."""

OF_OPERANDS = "ttnn.to_device"
"""The op that brings a call's operands to the device, before it begins."""


def golden_file(family: str) -> str:
    return f"ttnn_calls/{family.replace(' ', '_')}"


def op_line(instruction: Instruction) -> str:
    attributes = ", ".join(f"{name}={value}" for name, value in instruction.attributes.items())
    return f"  {instruction.op}({attributes}) {instruction.cost.total_us:.6g} us, {instruction.cost.cores} cores"


def lines_of(call: str, outcome: dict[str, str], recording: Recording) -> Iterator[str]:
    """Yields a call, the ops that it executed, and what it returned or why it was refused."""
    yield re.sub(r"ttnn_tensor\((\([^)]*\)), ([^)]*)\)", r"[\1 \2]", call).replace('"', "").replace(", ", " ")
    ops = [recording.ops[number] for number, _, _ in recording.events]
    while ops and ops[0].instruction.op == OF_OPERANDS:
        del ops[0]
    yield from (op_line(op.instruction) for op in ops)
    yield f"  {outcome['result']} {outcome['words']}".rstrip()


@pytest.mark.parametrize("family", CALLS)
def test_calls(family: str, ttnn: Any, device: Any, goldens: Goldens) -> None:
    from conformance.ttnn_run_calls import outcome

    lines: list[str] = []
    for call in CALLS[family]:
        with recorded() as recording:
            made = outcome(call, device)
        lines += lines_of(call, made, recording)
    goldens.check(golden_file(family), family, lines)


REDUCTIONS = ("sum", "mean", "max", "min", "std", "var", "prod")


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_in_shards(name: str, ttnn: Any, device: Any, goldens: Goldens) -> None:
    from conformance.ttnn_run_calls import outcome

    lines: list[str] = []
    for memory in ("height", "width", "block"):
        for dims in ("0", "1", "-1", "None") if name == "prod" else ("0", "1", "-1", "[0, 1]", "[-2, -1]", "None"):
            call = f'ttnn.{name}(ttnn_tensor((2, 3, 64, 96), "bfloat16", "tile", "{memory}"), dim={dims}, keepdim=True)'
            with recorded() as recording:
                made = outcome(call, device)
            lines += lines_of(call, made, recording)
    goldens.check(golden_file("reductions in shards"), name, lines)


@pytest.mark.parametrize(("script", "system"), [("calls", "p150"), ("mesh_calls", "p150x4")])
def test_scripts_of_calls(
    script: str,
    system: str,
    ttnn: Any,
    goldens: Goldens,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The calls that ``test_beside_ttnn.py`` compares with the real TT-NN have the results that they had then."""
    opened: list[Any] = []

    def remembered(open_device: Callable[..., Any]) -> Callable[..., Any]:
        def open_and_remember(*arguments: Any, **options: Any) -> Any:
            opened.append(open_device(*arguments, **options))
            return opened[-1]

        return open_and_remember

    for name in ("open_device", "open_mesh_device"):
        monkeypatch.setattr(ttnn, name, remembered(getattr(ttnn, name)))
    monkeypatch.setenv("TTXLA_SYSTEM", system)
    runpy.run_path(str(Path(__file__).with_name(f"{script}.py")), run_name="__main__")
    for device in opened:
        ttnn.close_mesh_device(device)
    ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)
    goldens.check(golden_file("scripts"), script, capsys.readouterr().out)


def test_no_golden_file_is_left_over(goldens: Goldens) -> None:
    families = {Path(golden_file(family)).name: [family] for family in CALLS}
    others = {"scripts": ["calls", "mesh_calls"], "reductions_in_shards": REDUCTIONS}
    goldens.has_only("ttnn_calls", families | others)
