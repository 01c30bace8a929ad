"""A quick estimate of the time and memory of a plan, without compiling it.

Each op costs its products or its bytes on one chip, with the rates of the cost model, and the exchanges that its
factors ask for, with the cost model's collectives. Fusions, layouts and const-eval are left out, so estimates only rank
plans: the search compiles those that rank first. Ops of repeated layers are alike, and each is estimated once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tt_xla.compiler.auto_sharding.graph import Graph, Op
from tt_xla.compiler.auto_sharding.units import STORED_BYTES, Axes, Plan, Units
from tt_xla.cost.collective import exchange
from tt_xla.cost.rates import TILE_ELEMENTS, rates_of
from tt_xla.ir.layout import TILE
from tt_xla.ir.mesh import Mesh
from tt_xla.target import Target

_FREE = frozenset(
    ("constant", "iota", "broadcast_in_dim", "reshape", "convert", "composite", "return", "optimization_barrier")
)
"""Ops that are folded into others, or change no bytes."""

_READ_IN_PART = ("gather", "dynamic_slice", "slice")
"""Ops that read as many elements as they return."""

_PRODUCTS = ("dot_general", "convolution")


class Part(NamedTuple):
    """A tensor as an op uses it."""

    shape: tuple[int, ...]
    element_bytes: float
    factors: tuple[int | None, ...]
    units: tuple[int | None, ...]
    """Unit of each dimension; None for a dimension that is never split."""
    stored: bool
    """Whether it is an argument that may be split for its storage alone."""


class Shape(NamedTuple):
    """Description of an op; ops with equal descriptions cost the same."""

    kind: str
    operands: tuple[Part, ...]
    results: tuple[Part, ...]
    sizes: tuple[int, ...]
    """Size of each factor."""
    units: tuple[int | None, ...]
    """Unit of each factor."""


@dataclass(frozen=True)
class Estimate:
    """The estimate of a plan."""

    us: float
    """Time of a call in microseconds."""
    bytes: float
    """Greatest number of bytes in use on a chip."""


@dataclass
class Estimator:
    """Estimates plans of one module.

    Attributes:
        graph: the ops of the module.
        units: the units.
        mesh: the chips.
        target: the system.
    """

    graph: Graph
    units: Units
    mesh: Mesh
    target: Target
    _times: dict[object, float] = field(default_factory=dict[object, float])

    def __post_init__(self) -> None:
        self.rates = rates_of(self.target, self.mesh)
        self.launch_us = self.rates.launch + self.rates.launch_core * self.rates.cores + self.rates.gap_untraced
        self.shapes: Counter[Shape] = Counter()
        for op in self.graph.ops:
            if not op.prepared:
                self.shapes[self._shape(op)] += op.runs
        self.relevant = [
            (shape, runs, _units_of(shape), any(part.stored for part in shape.operands))
            for shape, runs in self.shapes.items()
        ]
        self._read_lifetimes()

    def estimate(self, plan: Plan) -> Estimate:
        """Returns the estimate of a plan."""
        us = 0.0
        for shape, runs, units, stored in self.relevant:
            key = shape, tuple([plan.axes[unit] for unit in units]), plan.stored if stored else ()
            time = self._times.get(key)
            if time is None:
                time = self._times[key] = self._time(shape, plan)
            us += runs * time
        return Estimate(us, self._peak(plan))

    # ---- Description of ops

    def _shape(self, op: Op) -> Shape:
        unit_of = [self._units(number) for number in (*op.operands, *op.results)]
        factor_units: list[int | None] = [None] * len(op.factors)
        for units, dims in zip(unit_of, (*op.operand_dims, *op.result_dims), strict=True):
            for unit, factor in zip(units, dims, strict=True):
                if factor is not None and not op.factors[factor].blocked and unit is not None:
                    factor_units[factor] = unit
        count = len(op.operands)
        return Shape(
            op.kind,
            tuple(map(self._part, op.operands, op.operand_dims, unit_of[:count])),
            tuple(map(self._part, op.results, op.result_dims, unit_of[count:])),
            tuple(factor.size for factor in op.factors),
            tuple(factor_units),
        )

    def _units(self, number: int) -> tuple[int | None, ...]:
        return tuple(self.units.by_group.get(group) for group in self.graph.groups[number])

    def _part(self, number: int, dims: tuple[int | None, ...], units: tuple[int | None, ...]) -> Part:
        tensor = self.graph.tensors[number]
        stored = number < len(self.graph.arguments) and tensor.bytes >= STORED_BYTES
        return Part(tensor.shape, tensor.element_bytes, dims, units, stored)

    # ---- Time

    def _time(self, shape: Shape, plan: Plan) -> float:
        """Returns the least time of an op, over the choices of a factor that comes first where two want one axis."""
        wanted = [plan.axes[unit] if unit is not None else () for unit in shape.units]
        taken = Counter(axis for axes in wanted for axis in axes)
        contested = [factor for factor, axes in enumerate(wanted) if any(taken[axis] > 1 for axis in axes)] or [
            0
        ] * bool(wanted)
        orders = [[first, *(factor for factor in range(len(wanted)) if factor != first)] for first in contested]
        if shape.kind == "gather":  # the localiser gathers a table whose rows are split like the indices
            in_results = {factor for part in shape.results for factor in part.factors}
            orders = [sorted(range(len(wanted)), key=lambda factor: factor not in in_results)]
        return min((self._time_of(shape, plan, _split(wanted, order)) for order in orders or [[]]), default=0.0)

    def _time_of(self, shape: Shape, plan: Plan, split: Sequence[Axes]) -> float:
        """Returns the time of an op of which some mesh axes split each factor."""
        us = 0.0
        for part in shape.operands:
            now, needed = self._present(part, plan), _dims(part, split)
            us += self._gathers(part, now, needed)
            if part.stored and plan.stored and shape.kind in (*_PRODUCTS, "gather"):
                used = {axis for axes in now for axis in axes}
                for axis in plan.stored:
                    if axis not in used:
                        us += self._exchange(("all_gather",), axis, self._bytes(part, needed))
        if shape.kind not in _FREE:
            us += self._compute(shape, split)
        in_results = {factor for part in shape.results for factor in part.factors}
        reduced = [axis for factor, axes in enumerate(split) if factor not in in_results for axis in axes]
        for part in shape.results:
            now, wanted = _dims(part, split), self._present(part, plan)
            size = self._bytes(part, now)
            scattered = {axis for axes in wanted for axis in axes}
            for axis in reduced:
                kinds = ("reduce_scatter",) if axis in scattered else ("reduce_scatter", "all_gather")
                us += self._exchange(kinds, axis, size)
            us += self._gathers(part, now, wanted)
        return us

    def _present(self, part: Part, plan: Plan) -> tuple[Axes, ...]:
        """Returns the axes that split each dimension of a tensor; an axis splits the first one that has it."""
        dims: list[Axes] = []
        used: set[int] = set()
        for unit in part.units:
            axes = () if unit is None else tuple(axis for axis in plan.axes[unit] if axis not in used)
            used.update(axes)
            dims.append(axes)
        return tuple(dims)

    def _gathers(self, part: Part, now: tuple[Axes, ...], needed: tuple[Axes, ...]) -> float:
        """Returns the time to join what an op needs on one chip."""
        if now == needed:
            return 0.0
        us = 0.0
        kept = {axis for axes in needed for axis in axes}
        size = self._bytes(part, needed)
        for have, want in zip(now, needed, strict=True):
            for axis in have:
                if axis not in want:
                    us += self._exchange(("all_to_all",) if axis in kept else ("all_gather",), axis, size)
        return us

    def _exchange(self, kinds: Sequence[str], axis: int, size: float) -> float:
        links = self.rates.axes[axis]
        return sum(sum(exchange(kind, links, size, self.rates)) for kind in kinds) + self.rates.gap_untraced

    def _bytes(self, part: Part, dims: tuple[Axes, ...]) -> float:
        count = math.prod(self.mesh.shape[axis] for axes in dims for axis in axes)
        return math.prod(part.shape) * part.element_bytes / count

    def _compute(self, shape: Shape, split: Sequence[Axes]) -> float:
        read = shape.operands if shape.kind not in _READ_IN_PART else shape.results
        moved = sum(self._bytes(part, _dims(part, split)) for part in (*read, *shape.results))
        us = moved * self.rates.dram
        if shape.kind in _PRODUCTS and len(shape.operands) > 1 and shape.results:
            us = max(us, self._product(shape, split))
        return us + self.launch_us

    def _product(self, shape: Shape, split: Sequence[Axes]) -> float:
        """Returns the time of the products of tiles on the cores of a chip."""
        left, right, result = (set(part.factors) for part in (*shape.operands[:2], shape.results[0]))
        counts = dict.fromkeys(("batch", "rows", "columns", "inner"), 1)
        for factor, size in enumerate(shape.sizes):
            loop = (
                "inner"
                if factor not in result
                else "batch"
                if factor in left and factor in right
                else "rows"
                if factor in left
                else "columns"
            )
            counts[loop] *= -(-size // math.prod(self.mesh.shape[axis] for axis in split[factor]))
        rows, columns, inner = (-(-counts[loop] // TILE) for loop in ("rows", "columns", "inner"))
        tiles = counts["batch"] * rows * columns
        rounds = -(-tiles // self.rates.cores)
        return rounds * inner * self.rates.tile_product["hifi4"]

    # ---- Memory

    def _read_lifetimes(self) -> None:
        """Finds the first and last op of each tensor, and tensors that are split alike."""
        last = dict.fromkeys(self.graph.results, len(self.graph.ops))
        kinds: dict[tuple[float, tuple[int | None, ...], bool], int] = {}
        spans: list[tuple[int, int, int]] = []

        def add(number: int, start: int, end: int, stored: bool) -> None:
            tensor = self.graph.tensors[number]
            if tensor.bytes >= TILE_ELEMENTS:
                kind = kinds.setdefault((tensor.bytes, self._units(number), stored), len(kinds))
                spans.append((kind, start, end))

        for step, op in enumerate(self.graph.ops):
            last.update(dict.fromkeys(op.operands, max(step, 0)))
        last.update(dict.fromkeys(self.graph.results, len(self.graph.ops)))
        for number in range(len(self.graph.arguments)):
            add(number, 0, len(self.graph.ops), self.graph.tensors[number].bytes >= STORED_BYTES)
        for step, op in enumerate(self.graph.ops):
            if op.kind not in _FREE and not op.prepared:
                for number in op.results:
                    add(number, step, last.get(number, step), stored=False)
        self._kinds = list(kinds)
        table = np.array(spans or [(0, 0, 0)], np.int64)
        self._kind, self._start, self._end = table[:, 0], table[:, 1], table[:, 2] + 1

    def _peak(self, plan: Plan) -> float:
        sizes = np.array([self._local(kind, plan) for kind in self._kinds] or [0.0])
        changes = np.zeros(len(self.graph.ops) + 2)
        np.add.at(changes, self._start, sizes[self._kind])
        np.add.at(changes, self._end, -sizes[self._kind])
        return float(np.cumsum(changes).max())

    def _local(self, kind: tuple[float, tuple[int | None, ...], bool], plan: Plan) -> float:
        size, units, stored = kind
        axes = {axis for unit in units if unit is not None for axis in plan.axes[unit]}
        if stored:
            axes.update(plan.stored)
        return size / math.prod(self.mesh.shape[axis] for axis in axes)


def _units_of(shape: Shape) -> tuple[int, ...]:
    """Returns the units on which the time of an op depends."""
    units = {unit for part in (*shape.operands, *shape.results) for unit in part.units if unit is not None}
    return tuple(sorted(units))


def _split(wanted: Sequence[Axes], order: Sequence[int]) -> list[Axes]:
    """Returns the axes that split each factor when factors choose in some order."""
    split: list[Axes] = [()] * len(wanted)
    used: set[int] = set()
    for factor in order:
        split[factor] = tuple(axis for axis in wanted[factor] if axis not in used)
        used.update(split[factor])
    return split


def _dims(part: Part, split: Sequence[Axes]) -> tuple[Axes, ...]:
    """Returns the axes that split each dimension of a tensor when some split each factor."""
    return tuple(() if factor is None else split[factor] for factor in part.factors)
