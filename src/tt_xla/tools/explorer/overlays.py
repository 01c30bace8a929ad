"""Overlays: numbers of nodes that Model Explorer shows as colours, such as predicted time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from model_explorer import node_data_builder as builder

from tt_xla.cost.residency import Overflow, Residency, walk
from tt_xla.ir.program import Function, Instruction, Program
from tt_xla.target import Target
from tt_xla.tools.explorer.nodes import FunctionNodes, Node

_HEAT = [("#fff9db", 0.0), ("#ffd43b", 0.25), ("#ff922b", 0.6), ("#e03131", 1.0)]
_CORRELATIONS = [(0.9, "#e03131"), (0.99, "#ff922b"), (0.999, "#ffd43b"), (0.9999, "#d8f5a2"), (1.0, "#b2f2bb")]
"""Colours of correlations up to each number."""

_BLUES = [("#e7f5ff", 0.0), ("#1c7ed6", 1.0)]

BOUNDS = {"compute": "#b2f2bb", "dram": "#ffc9c9", "noc": "#d0bfff", "launch": "#e9ecef", "link": "#99e9f2"}
"""Colour of each part of the predicted time that can bound an op."""


@dataclass(frozen=True)
class Overlay:
    """A number or a word for some nodes of a stage.

    Attributes:
        name: name that people see, with the unit.
        values: numbers, or words, by node.
        colours: colour of each word; empty for numbers.
        correlations: whether the numbers are correlations, of which low ones are bad.
        sums: whether the sum over a group means something.
    """

    name: str
    values: Mapping[str, float | str]
    colours: Mapping[str, str] | None = None
    correlations: bool = False
    sums: bool = True

    def node_data(self) -> builder.GraphNodeData:
        """Returns the overlay in Model Explorer's form."""
        colours = self.colours or {}
        results = {
            node: builder.NodeDataResult(value, bgColor=colours.get(str(value)))  # pyright: ignore[reportArgumentType]
            for node, value in self.values.items()
        }
        data = builder.GraphNodeData(results=results, name=self.name)
        if self.colours is not None:
            data.showExpandedSummaryOnGroupNode = True
            return data
        if self.correlations:
            data.thresholds = [builder.ThresholdItem(value, bgColor=colour) for value, colour in _CORRELATIONS]
        else:
            stops = _HEAT if self.sums else _BLUES
            data.gradient = [builder.GradientItem(stop, bgColor=colour) for colour, stop in stops]
        if not self.sums:
            data.hideAggregatedStats = ["sum"]
        return data


def overlays(functions: Sequence[FunctionNodes], program: Program, target: Target) -> list[Overlay]:
    """Returns the overlays of a Program's nodes: times, bounds, bytes, cores, memory, and links on several chips.

    Ops that take no time, such as const-eval calls, are left out of those about time.
    """
    memory = _MemoryInUse(target, program)
    nodes = [node for function in functions for node in function.nodes if node.instruction is not None]
    timed = [node for node in nodes if _instruction(node).cost.total_us]
    shown = [
        Overlay("predicted time (us)", _by_node(timed, lambda cost: round(_instruction(cost).cost.total_us, 3))),
        Overlay("bound by", _by_node(timed, lambda node: _instruction(node).cost.bound), BOUNDS),
        Overlay("bytes read and written", {node.id: _bytes(node, program) for node in timed}),
        Overlay("cores", _by_node(timed, lambda node: _instruction(node).cost.cores), sums=False),
    ]
    if memory.used:
        shown.append(Overlay("DRAM in use (MiB)", memory.of(nodes, 0), sums=False))
        shown.append(Overlay("L1 in use (KiB a core)", memory.of(nodes, 1), sums=False))
    if program.mesh is not None:
        exchanges = [node for node in timed if _instruction(node).cost.link_us]
        shown.append(Overlay("links (us)", _by_node(exchanges, lambda node: round(_instruction(node).cost.link_us, 3))))
        shape = program.mesh.shape
        shown.append(Overlay("chips of an exchange", _by_node(exchanges, lambda node: _chips(node, shape)), sums=False))
    return shown


def _instruction(node: Node) -> Instruction:
    assert node.instruction is not None
    return node.instruction


def _by_node(nodes: Sequence[Node], value: Callable[[Node], float | str]) -> dict[str, float | str]:
    return {node.id: value(node) for node in nodes}


def _chips(node: Node, mesh: Sequence[int]) -> int:
    """Returns how many chips of a mesh exchange data with each other in an op: those of a row along an axis, or all."""
    instruction = _instruction(node)
    if instruction.op == "ttnn.point_to_point":
        return 2
    axis = instruction.attributes.get("cluster_axis")
    return math.prod(mesh) if axis is None else mesh[int(axis)]


def _bytes(node: Node, program: Program) -> int:
    """Returns the bytes of the operands and results of an op on one chip."""
    function = program.function(node.id.rpartition(":")[0])
    instruction = _instruction(node)
    values = {*instruction.operand_values(), *instruction.results}
    return sum(function.values[value].layout.bytes for value in values)


class _MemoryInUse(Residency):
    """The memory in use after each instruction, over one run that computes everything."""

    def __init__(self, target: Target, program: Program) -> None:
        super().__init__(target, program.mesh)
        self.used: dict[tuple[str, int], tuple[int, int]] = {}
        """Bytes in DRAM, all banks together, and in the L1 of a core, by function and identity of the instruction."""
        walk(program, self)

    def run(self, function: Function, instruction: Instruction, functions: Mapping[str, Function]) -> Overflow | None:
        overflow = super().run(function, instruction, functions)
        self.used[function.name, id(instruction)] = self.dram.used * self.target.dram_banks, self.l1.used
        return overflow

    def of(self, nodes: Sequence[Node], space: int) -> dict[str, float | str]:
        """Returns the memory in use at nodes, in MiB of DRAM (0) or KiB of L1 (1)."""
        unit = (1 << 20, 1 << 10)[space]
        found = {node.id: self.used.get((node.id.rpartition(":")[0], id(_instruction(node)))) for node in nodes}
        return {node: round(used[space] / unit, 3) for node, used in found.items() if used is not None}
