"""What ``tt-xla estimate`` does: the device time of programs, ours and upstream's, by one cost model."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tt_xla.cost import instruction_cost, predicted_device_us
from tt_xla.cost.program import rounds
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.program import (
    MAGIC,
    WHILE_LOOP,
    Function,
    FunctionKind,
    Instruction,
    Program,
    loop_of,
    subprograms_of,
)
from tt_xla.target import Target, load_target

_EVERY_CALL = (FunctionKind.FORWARD, FunctionKind.TRACE)
"""Functions that a call runs once the program has settled: const-eval results are kept, and a trace is replayed."""

_ARCHITECTURES = {"blackhole": "p150", "wormhole_b0": "n150"}
_ARCH = re.compile(r"#ttcore\.system_desc<.*?arch = <(\w+)>", re.DOTALL)


@dataclass
class Line:
    """Predicted microseconds of all instructions of one op."""

    count: int = 0
    us: float = 0.0
    compute: float = 0.0
    dram: float = 0.0
    noc: float = 0.0
    launch: float = 0.0

    @property
    def bound(self) -> str:
        """The part that takes longest; empty where there is no device work."""
        parts = {"compute": self.compute, "DRAM": self.dram, "NoC": self.noc, "launch": self.launch}
        return max(parts, key=lambda name: parts[name]) if self.us else ""


@dataclass(frozen=True)
class Estimate:
    path: Path
    arch: str
    total_us: float
    """With the gaps between ops."""
    lines: dict[str, Line]
    """By op, longest first."""
    open_loops: tuple[str, ...] = ()
    """Loops of which one round is counted, as only the running program knows how many there are."""

    @property
    def gaps_us(self) -> float:
        return self.total_us - sum(line.us for line in self.lines.values())

    @property
    def transfers_us(self) -> float:
        """Of the moves between host and device."""
        return sum(line.us for op, line in self.lines.items() if op.endswith((".to_device", ".from_device")))

    @property
    def calls_per_second(self) -> float:
        return 1e6 / self.total_us if self.total_us else 0.0

    @property
    def bound(self) -> str:
        """The part that takes longest over all ops."""
        whole = Line()
        for line in self.lines.values():
            whole.us += line.us
            whole.compute += line.compute
            whole.dram += line.dram
            whole.noc += line.noc
            whole.launch += line.launch
        return whole.bound

    def gaps_if(self, traced: bool) -> float:
        """Microseconds between ops if all of them were replayed from a trace, or none."""
        target = load_target(self.arch)
        ops = sum(line.count for line in self.lines.values() if line.us)
        return ops * (target.gap_us_traced if traced else target.gap_us_untraced)


def by_op(functions: Iterable[Function]) -> dict[str, Line]:
    """Predicted time of the ops that every call runs, longest first."""
    found: dict[str, Line] = {}
    functions = list(functions)
    times = _times(functions)
    for function in functions:
        each = times.get(function.name, 0)
        for instruction in function.body if each else ():
            line, cost = found.setdefault(instruction.op, Line()), instruction.cost
            line.count += each
            line.us += cost.total_us * each
            line.compute += cost.compute_us * each
            line.dram += cost.dram_us * each
            line.noc += cost.noc_us * each
            line.launch += cost.launch_us * each
    return dict(sorted(found.items(), key=lambda item: -item[1].us))


def _times(functions: Sequence[Function]) -> dict[str, int]:
    """How often each function runs in a call. A loop runs as often as it says; where only the running program knows,
    :func:`open_loops` names it, and one round is counted. So is each branch of a case."""
    times = {function.name: int(function.kind in _EVERY_CALL) for function in functions}
    by_name = {function.name: function for function in functions}
    waiting = [(function, 1) for function in functions if function.kind in _EVERY_CALL]
    while waiting:
        function, each = waiting.pop()
        for instruction in function.body:
            for name in subprograms_of(instruction):
                inner = each * rounds(instruction)
                times[name] = times.get(name, 0) + inner
                if name in by_name:
                    waiting.append((by_name[name], inner))
    return times


def open_loops(functions: Iterable[Function]) -> list[str]:
    """Loops whose number of rounds is known only as the program runs, by their bodies."""
    loops = [loop_of(each) for function in functions for each in function.body if each.op == WHILE_LOOP]
    return [loop.body for loop in loops if loop.trips is None]


def estimate(path: Path, arch: str | None = None) -> Estimate:
    """The device time of one call of a program.

    Args:
        path: a ``.ttnn`` file, or TTNN text: ours, or a dump of upstream's compiler.
        arch: the system; None for the one that the file names, else n150.

    Raises:
        ProgramFormatError: the ``.ttnn`` file is damaged or of another version.
        MalformedModuleError: the text does not parse, with line and column, or has no TTNN function.
    """
    data = path.read_bytes()
    if data.startswith(MAGIC):
        program = Program.from_bytes(data)
        target = load_target(arch or program.target)
        functions: Sequence[Function] = program.functions
        if target.name != program.target:
            functions = [_recosted(function, target) for function in functions]
    else:
        text = data.decode("utf-8", errors="replace")
        target = load_target(arch or _arch_of(text))
        functions = _functions(text, str(path), target)
    total = predicted_device_us(functions[0], target, functions)
    return Estimate(path, target.name, total, by_op(functions), tuple(open_loops(functions)))


def _arch_of(text: str) -> str:
    match = _ARCH.search(text)
    return _ARCHITECTURES.get(match[1], "n150") if match else "n150"


def _functions(text: str, name: str, target: Target) -> list[Function]:
    from tt_xla.compiler.emit_program import emit_functions
    from tt_xla.ir.text import parse_module
    from tt_xla.ir.ttcore import device_module

    functions = emit_functions(device_module(parse_module(text, name, unknown_ops=True)), target)
    if not functions or functions[0].kind is not FunctionKind.FORWARD:
        raise MalformedModuleError(f"'{name}' has no function for the device.", hint="Give a module in TTNN.")
    return functions


def _recosted(function: Function, target: Target) -> Function:
    """The function with the costs of another target."""
    body: list[Instruction] = []
    for each in function.body:
        cost = instruction_cost(each, function.values, target)
        body.append(Instruction(each.op, each.operands, each.results, each.attributes, each.location, cost))
    return Function(function.name, function.kind, function.arguments, function.results, function.values, tuple(body))


def record(found: Estimate) -> dict[str, Any]:
    return {
        "file": str(found.path),
        "arch": found.arch,
        "predicted_device_us": found.total_us,
        "gaps_us": found.gaps_us,
        "gaps_us_traced": found.gaps_if(traced=True),
        "gaps_us_untraced": found.gaps_if(traced=False),
        "transfers_us": found.transfers_us,
        "calls_per_second": found.calls_per_second,
        "bound": found.bound.lower(),
        "one_round_of": list(found.open_loops),
        "ops": [
            {
                "op": op,
                "count": line.count,
                "predicted_us": line.us,
                "compute_us": line.compute,
                "dram_us": line.dram,
                "noc_us": line.noc,
                "launch_us": line.launch,
                "bound": line.bound.lower(),
            }
            for op, line in found.lines.items()
        ],
    }


def show(found: Estimate) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 180)
    console.print(
        f"{found.path} on {found.arch}: predicted device time {found.total_us:.1f} us a call, "
        f"of which {found.gaps_us:.1f} us between ops",
        markup=False,
    )
    if found.total_us:
        console.print(
            f"{found.calls_per_second:.0f} calls a second, bound by {found.bound or 'nothing'}; between ops "
            f"{found.gaps_if(True):.1f} us if traced, {found.gaps_if(False):.1f} us if not; "
            f"{found.transfers_us:.1f} us over PCIe",
            markup=False,
        )
    if found.open_loops:
        names = ", ".join(found.open_loops)
        console.print(
            f"How many rounds these loops have is known only as they run; one is counted: {names}", markup=False
        )
    column = Column("op", min_width=max((len(op) for op in found.lines), default=2))
    table = Table(column, "count", "predicted us", "share", "compute", "DRAM", "NoC", "launch", "bound by", box=None)
    for column in table.columns[1:8]:
        column.justify = "right"
    for op, line in found.lines.items():
        if line.us:
            parts = (f"{part:.1f}" for part in (line.compute, line.dram, line.noc, line.launch))
            share = f"{100 * line.us / found.total_us:.0f} %"
            table.add_row(op, str(line.count), f"{line.us:.1f}", share, *parts, line.bound)
    free = {op: line.count for op, line in found.lines.items() if not line.us}
    console.print(table)
    if free:
        console.print("No device work: " + ", ".join(f"{op} x {count}" for op, count in free.items()), markup=False)


def estimate_files(paths: Sequence[Path], arch: str | None, as_json: bool) -> None:
    for path in paths:
        found = estimate(path, arch)
        if as_json:
            click.echo(json.dumps(record(found)))
        else:
            show(found)
