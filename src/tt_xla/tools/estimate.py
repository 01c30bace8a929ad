"""Implements ``tt-xla estimate``: the predicted device time of programs of this compiler and of upstream's."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import msgspec

from tt_xla.cost import instruction_cost, predicted_device_us
from tt_xla.cost.program import rounds
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import (
    WHILE_LOOP,
    Cost,
    Function,
    FunctionKind,
    loop_of,
    subprograms_of,
)
from tt_xla.target import MeshAxis, Target, arrange, load_target, system_names
from tt_xla.target.mesh_axis import describe_axis
from tt_xla.tools.inputs import Kind, read_input
from tt_xla.tools.output import console, print_json, table
from tt_xla.tools.programs import is_program, read_program
from tt_xla.tools.running import for_each

_EVERY_CALL = (FunctionKind.FORWARD, FunctionKind.TRACE)
"""Functions that every call runs after the first ones: const-eval results are cached by then, and traces replayed."""

_PARTS = {"compute": "compute", "dram": "DRAM", "noc": "NoC", "launch": "launch", "link": "links"}
"""Parts of the time of an op, by their names in :class:`.Cost`."""

_ARCHITECTURES = {"blackhole": "p150", "wormhole_b0": "n150"}
_MESH = re.compile(r'#ttcore\.meshes<\[<"[^"]*" = ([0-9x]+)>')
_ARCH = re.compile(r"#ttcore\.system_desc<.*?arch = <(\w+)>", re.DOTALL)


@dataclass
class Line:
    """The instructions of one op in a call: their number, and the sum of their costs."""

    count: int = 0
    cost: Cost = field(default_factory=Cost)

    @property
    def us(self) -> float:
        """Time of the device in microseconds."""
        return self.cost.total_us

    @property
    def bound(self) -> str:
        """The part that takes longest; empty without device work."""
        name = self.cost.bound
        return {"dram": "DRAM", "noc": "NoC"}.get(name, name) if self.us else ""

    def add(self, cost: Cost, runs: int = 1) -> None:
        """Adds an instruction that a call runs this often."""
        self.count += runs
        pairs = zip(msgspec.structs.astuple(self.cost), msgspec.structs.astuple(cost), strict=True)
        self.cost = Cost(*(before + runs * added for before, added in pairs))


@dataclass(frozen=True)
class AxisTime:
    """The microseconds that exchanges along one axis of the mesh spend on its links."""

    name: str
    links: MeshAxis
    us: float


@dataclass(frozen=True)
class Estimate:
    """The predicted device time of one call of a program on a system."""

    path: Path
    arch: str
    total_us: float
    """Time in microseconds, gaps between ops included."""
    lines: dict[str, Line]
    """Times by op, longest first."""
    open_loops: tuple[str, ...] = ()
    """Loops whose number of rounds is only known at run time; one round is counted."""
    axes: tuple[AxisTime, ...] = ()
    """Links along the axes of the mesh that runs the program; empty for one chip."""

    @property
    def gaps_us(self) -> float:
        """Time between ops in microseconds."""
        return self.total_us - sum(line.us for line in self.lines.values())

    @property
    def transfers_us(self) -> float:
        """Time of transfers between host and device, in microseconds."""
        return sum(line.us for op, line in self.lines.items() if op.endswith((".to_device", ".from_device")))

    @property
    def calls_per_second(self) -> float:
        """Number of calls in a second of device time."""
        return 1e6 / self.total_us if self.total_us else 0.0

    @property
    def bound(self) -> str:
        """The part that takes longest over all ops."""
        total = Line()
        for line in self.lines.values():
            total.add(line.cost)
        return total.bound

    @property
    def communication_us(self) -> float:
        """Time of the ops that exchange data between chips, in microseconds."""
        return sum(line.us for line in self.lines.values() if line.cost.link_us)

    def gaps_if(self, traced: bool) -> float:
        """Returns the microseconds between ops if all ops, or none, were replayed from a trace."""
        target = load_target(self.arch)
        ops = sum(line.count for line in self.lines.values() if line.us)
        return ops * (target.gap_us_traced if traced else target.gap_us_untraced)


def by_op(functions: Iterable[Function]) -> dict[str, Line]:
    """Returns the predicted time of the ops that every call runs, longest first."""
    lines: dict[str, Line] = {}
    functions = list(functions)
    run_counts = _run_counts(functions)
    for function in functions:
        runs = run_counts.get(function.name, 0)
        for instruction in function.body if runs else ():
            lines.setdefault(instruction.op, Line()).add(instruction.cost, runs)
    return dict(sorted(lines.items(), key=lambda item: -item[1].us))


def by_axis(functions: Sequence[Function], mesh: Mesh | None, target: Target) -> tuple[AxisTime, ...]:
    """Returns the time on the links along each axis of the mesh. An op that names no axis counts for none.

    Raises:
        MeshError: the system cannot form the mesh.
    """
    if mesh is None:
        return ()
    times: defaultdict[object, float] = defaultdict(float)
    run_counts = _run_counts(functions)
    for function in functions:
        for instruction in function.body:
            axis = instruction.attributes.get("cluster_axis")
            times[axis] += instruction.cost.link_us * run_counts.get(function.name, 0)
    named = zip(mesh.axes, arrange(target, mesh.shape, mesh.devices).axes, strict=True)
    return tuple(AxisTime(name, links, times[number]) for number, (name, links) in enumerate(named))


def _run_counts(functions: Sequence[Function]) -> dict[str, int]:
    """Returns how often each function runs in a call.

    One round is counted of a loop whose number of rounds is unknown (:func:`open_loops`), and one run of each branch of
    a case.
    """
    counts = {function.name: int(function.kind in _EVERY_CALL) for function in functions}
    by_name = {function.name: function for function in functions}
    waiting = [(function, 1) for function in functions if function.kind in _EVERY_CALL]
    while waiting:
        function, runs = waiting.pop()
        for instruction in function.body:
            for name in subprograms_of(instruction):
                inner_runs = runs * rounds(instruction)
                counts[name] = counts.get(name, 0) + inner_runs
                if name in by_name:
                    waiting.append((by_name[name], inner_runs))
    return counts


def open_loops(functions: Iterable[Function]) -> list[str]:
    """Returns the names of the bodies of loops whose number of rounds is only known at run time."""
    loops = [loop_of(step) for function in functions for step in function.body if step.op == WHILE_LOOP]
    return [loop.body for loop in loops if loop.trips is None]


def estimate(path: Path, arch: str | None = None) -> Estimate:
    """Predicts the device time of one call of a program.

    Args:
        path: a ``.ttnn`` file, or TTNN text of this compiler or of upstream's.
        arch: the system; None for the one that the file names, or n150 if it names none.

    Raises:
        ProgramFormatError: the ``.ttnn`` file is damaged or of another version.
        MalformedModuleError: the text does not parse, or has no TTNN function.
        MeshError: the system cannot form the program's mesh.
    """
    data = read_input(path, Kind.TTNN, Kind.PROGRAM)
    if is_program(data, path):
        program = read_program(data, path)
        target = load_target(arch or program.target)
        mesh = program.mesh
        functions: Sequence[Function] = program.functions
        if target.name != program.target:
            functions = [_recosted(function, target, mesh) for function in functions]
    else:
        text = data.decode("utf-8", errors="replace")
        target = load_target(arch or arch_of(text))
        functions, mesh = ttnn_functions(text, str(path), target)
    total = predicted_device_us(functions[0], target, functions, mesh)
    axes = by_axis(functions, mesh, target)
    return Estimate(path, target.name, total, by_op(functions), tuple(open_loops(functions)), axes)


def arch_of(text: str) -> str:
    """Returns the smallest system with the architecture and the number of chips that the text of a module names."""
    match, mesh = _ARCH.search(text), _MESH.search(text)
    one_chip = load_target(_ARCHITECTURES.get(match[1], "n150") if match else "n150")
    chips = math.prod(map(int, mesh[1].split("x"))) if mesh else 1
    systems = map(load_target, system_names())
    alike = [system for system in systems if system.arch == one_chip.arch and system.chips >= chips > 1]
    return min(alike, key=lambda system: system.chips, default=one_chip).name


def ttnn_functions(text: str, name: str, target: Target) -> tuple[list[Function], Mesh | None]:
    """Returns the functions of a TTNN module, and its mesh."""
    from tt_xla.compiler.emit_program import emit_functions
    from tt_xla.compiler.meshes import mesh_of
    from tt_xla.ir.text import parse_module
    from tt_xla.ir.ttcore import device_module

    module = device_module(parse_module(text, name, unknown_ops=True))
    functions = emit_functions(module, target)
    if not functions or functions[0].kind is not FunctionKind.FORWARD:
        raise MalformedModuleError(f"'{name}' has no function for the device.", hint="Give a TTNN module.")
    return functions, mesh_of(module)


def _recosted(function: Function, target: Target, mesh: Mesh | None) -> Function:
    """Returns a function with its costs on another target."""
    replace, values = msgspec.structs.replace, function.values
    body = (replace(step, cost=instruction_cost(step, values, target, mesh)) for step in function.body)
    return replace(function, body=tuple(body))


def record(estimate: Estimate) -> dict[str, Any]:
    """Returns an estimate as plain data."""
    return {
        "file": str(estimate.path),
        "arch": estimate.arch,
        "predicted_device_us": estimate.total_us,
        "gaps_us": estimate.gaps_us,
        "gaps_us_traced": estimate.gaps_if(traced=True),
        "gaps_us_untraced": estimate.gaps_if(traced=False),
        "transfers_us": estimate.transfers_us,
        "calls_per_second": estimate.calls_per_second,
        "bound": estimate.bound.lower(),
        "communication_us": estimate.communication_us,
        "mesh": [
            {
                "axis": axis.name,
                "chips": axis.links.size,
                "topology": "ring" if axis.links.ring else "line",
                "channels": axis.links.links,
                "narrowest_link": axis.links.narrowest,
                "link_us": axis.us,
            }
            for axis in estimate.axes
        ],
        "one_round_of": list(estimate.open_loops),
        "ops": [
            {
                "op": op,
                "count": line.count,
                "predicted_us": line.us,
                **{f"{part}_us": getattr(line.cost, f"{part}_us") for part in _PARTS},
                "bound": line.bound.lower(),
            }
            for op, line in estimate.lines.items()
        ],
    }


def show(estimate: Estimate) -> None:
    """Prints an estimate as tables."""
    for text in _facts(estimate):
        click.echo(text)
    parts = [part for part in _PARTS if part != "link" or estimate.communication_us]
    numbers = ("count", "predicted us", "share", *(_PARTS[part] for part in parts))
    ops = table("op", *(f">{name}" for name in numbers), "bound by")
    ops.columns[0].min_width = max((len(op) for op in estimate.lines), default=2)
    for op, line in estimate.lines.items():
        if line.us:
            times = (f"{getattr(line.cost, f'{part}_us'):.1f}" for part in parts)
            share = f"{100 * line.us / estimate.total_us:.0f} %"
            ops.add_row(op, str(line.count), f"{line.us:.1f}", share, *times, line.bound)
    if estimate.total_us:
        share = f"{100 * estimate.gaps_us / estimate.total_us:.0f} %"
        ops.add_row("between ops", "", f"{estimate.gaps_us:.1f}", share)
    free = {op: line.count for op, line in estimate.lines.items() if not line.us}
    console().print(ops)
    if free:
        click.echo("No device work: " + ", ".join(f"{op} x {count}" for op, count in free.items()))


def _facts(estimate: Estimate) -> Iterable[str]:
    """Yields the lines above the table."""
    yield (
        f"{estimate.path} on {estimate.arch}: predicted device time {estimate.total_us:.1f} us a call, "
        f"{estimate.gaps_us:.1f} us of it between ops"
    )
    if estimate.total_us:
        yield (
            f"{estimate.calls_per_second:.0f} calls a second, bound by {estimate.bound or 'nothing'}; between ops "
            f"{estimate.gaps_if(True):.1f} us if traced, {estimate.gaps_if(False):.1f} us if not; "
            f"{estimate.transfers_us:.1f} us over PCIe"
        )
    yield from _communication(estimate)
    if estimate.open_loops:
        names = ", ".join(estimate.open_loops)
        yield f"The number of rounds of these loops is only known at run time; one round is counted: {names}"


def _communication(estimate: Estimate) -> Iterable[str]:
    """Yields lines about the exchanges between chips; none without any."""
    total = estimate.communication_us
    if not total:
        return
    ops = ", ".join(f"{op} {line.us:.1f}" for op, line in estimate.lines.items() if line.cost.link_us)
    computing = sum(line.us for line in estimate.lines.values()) - total
    yield f"computing {computing:.1f} us, communication {total:.1f} us: {ops}"
    rate = load_target(estimate.arch).ethernet_bytes_per_second
    most = max((axis.us for axis in estimate.axes), default=0.0)
    for axis in estimate.axes:
        if axis.us:
            narrowest = f"the narrowest is {'-'.join(map(str, axis.links.narrowest or ()))}"
            bound = ", the bound of communication" if axis.us == most else ""
            links = describe_axis(axis.links, rate)
            yield f"axis {axis.name}, {links}: {axis.us:.1f} us on its links, of which {narrowest}{bound}"


def estimate_files(programs: Sequence[Path], system: str | None, *, as_json: bool) -> bool:
    """Prints the estimate of each program, and returns whether a file failed; see :func:`estimate`."""

    def work(path: Path) -> None:
        result = estimate(path, system)
        if as_json:
            print_json(record(result))
        else:
            show(result)

    return for_each(programs, work)
