"""Small all_reduces that do not depend on each other become one.

An exchange between chips takes tens of microseconds to start, whatever its size. Tensors are joined to one matrix,
reduced together, and taken apart: row by row where rows have the same width, such as the gradients of a weight and of
its bias, side by side where there are as many rows, and else as one row.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tt_xla.compiler import collectives
from tt_xla.compiler.meshes import mesh_of
from tt_xla.compiler.rewriting import body, functions, is_pure
from tt_xla.compiler.ttir.all_reduces import Prices, Sum, emitter, sum_from
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.mesh import Shape
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.collective import AllReduceOp
from tt_xla.ir.ttir.structure import ConcatOp, ReshapeOp
from tt_xla.target import Target


def run(module: ModuleOp, target: Target) -> None:
    """Merges all_reduces of each function where the cost model says that it saves time."""
    mesh = mesh_of(module)
    if mesh is None:
        return
    for function in functions(module):
        prices = Prices(target, mesh)
        while (found := next(_groups(function, prices), None)) is not None:
            _merge(*found)
            _sort(body(function))


@dataclass(frozen=True)
class _Layout:
    """A way to join tensors to one matrix."""

    dim: int
    """Dimension of the matrix along which tensors follow each other."""
    flat: bool = False
    """Whether a tensor is one row; otherwise its rows are those of its last dimension."""

    def matrix(self, value: SSAValue) -> Shape:
        """Returns the shape of a tensor in the matrix."""
        sizes = shape(value)
        return (1, math.prod(sizes)) if self.flat or not sizes else (math.prod(sizes[:-1]), sizes[-1])

    def joined(self, matrices: Sequence[Shape]) -> Shape:
        """Returns the shape of the matrix."""
        along, across = sum(sizes[self.dim] for sizes in matrices), matrices[0][1 - self.dim]
        return (along, across) if self.dim == 0 else (across, along)

    def bounds(self, matrix: Shape, start: int) -> tuple[Shape, Shape]:
        """Returns where a tensor begins and ends in the matrix, from its place along ``dim``."""
        if self.dim == 0:
            return (start, 0), (start + matrix[0], matrix[1])
        return (0, start), (matrix[0], start + matrix[1])


_LAYOUTS = (_Layout(0), _Layout(1), _Layout(1, flat=True))


def _merged(group: Sequence[Sum], layout: _Layout, prices: Prices) -> float:
    """Returns the predicted time of a group that is merged, in microseconds."""
    dtype = group[0].dtype
    matrices = [layout.matrix(sum_.first.input) for sum_ in group]
    joined = layout.joined(matrices)
    total = prices.cost("concat", matrices, joined, dtype, dim=layout.dim)
    total += prices.all_reduce(joined, dtype, group[0].axes)
    start = 0
    for sum_, matrix in zip(group, matrices, strict=True):
        begins, ends = layout.bounds(matrix, start)
        start += matrix[layout.dim]
        bounds = {"begins": list(begins), "ends": list(ends), "step": [1, 1]}
        total += prices.cost("slice_static", [joined], matrix, dtype, **bounds)
        sizes = shape(sum_.first.input)
        if sizes != matrix:
            total += prices.cost("reshape", [sizes], matrix, dtype, shape=list(matrix))
            total += prices.cost("reshape", [matrix], sizes, dtype, shape=list(sizes))
    return total


def _apart(group: Iterable[Sum], prices: Prices) -> float:
    """Returns the predicted time of a group as it is, in microseconds."""
    return sum(prices.all_reduce(shape(sum_.first.input), sum_.dtype, sum_.axes) for sum_ in group)


def _groups(function: FuncOp, prices: Prices) -> Iterator[tuple[list[Sum], _Layout]]:
    """Yields groups of independent sums that are faster as one, each with the way to join them."""
    groups: dict[tuple[_Layout, tuple[int, ...], Attribute, int], list[Sum]] = {}
    members: dict[tuple[_Layout, tuple[int, ...], Attribute, int], int] = {}
    depends: dict[Operation, int] = {}
    effects = 0
    """Sums behind the last op with effects. Such ops keep their order, so the next one depends on them too."""
    for number, op in enumerate(body(function).ops):
        behind = 0
        for operand in op.operands:
            if isinstance(operand.owner, Operation):
                behind |= depends[operand.owner]
        if not is_pure(op):
            behind |= effects
            effects = behind
        sum_ = sum_from(op)
        if sum_ is not None:
            for layout in _LAYOUTS:
                across = layout.matrix(sum_.first.input)[1 - layout.dim]
                key = (layout, sum_.axes, tensor_type(sum_.first.input).element_type, across)
                if not behind & members.get(key, 0):
                    groups.setdefault(key, []).append(sum_)
                    members[key] = members.get(key, 0) | 1 << number
            behind |= 1 << number
        depends[op] = behind
    for layout in _LAYOUTS:
        for group in [group for key, group in groups.items() if key[0] is layout]:
            group.sort(key=lambda sum_: math.prod(shape(sum_.first.input)))
            while len(group) > 1:
                if _merged(group, layout, prices) < _apart(group, prices):
                    yield group, layout
                    break
                group.pop()


def _merge(group: list[Sum], layout: _Layout) -> None:
    """Replaces a group by one sum, at the place of its last member."""
    block = group[0].first.parent
    assert block is not None
    order = {op: number for number, op in enumerate(block.ops)}
    group.sort(key=lambda sum_: order[sum_.first])
    place = group[-1].first
    emit = emitter(place)
    matrices = [layout.matrix(sum_.first.input) for sum_ in group]
    parts = [_reshaped(emit, sum_.first.input, matrix) for sum_, matrix in zip(group, matrices, strict=True)]
    type_ = tensor(layout.joined(matrices), tensor_type(place.input).element_type)
    joined = emit(ConcatOp, [parts], type_, dim=layout.dim)
    for axis in group[0].axes:
        joined = emit(AllReduceOp, [joined], type_, reduce_type=ReduceType.SUM, cluster_axis=axis)
    start = 0
    for sum_, matrix in zip(group, matrices, strict=True):
        end = start + matrix[layout.dim]
        part = collectives.part(emit, joined, layout.dim, start, end)
        sum_.last.result.replace_all_uses_with(_reshaped(emit, part, shape(sum_.last.result)))
        start = end
    for sum_ in group:
        sum_.erase()


def _reshaped(emit: collectives.Emit, value: SSAValue, sizes: Shape) -> SSAValue:
    if shape(value) == sizes:
        return value
    return emit(ReshapeOp, [value], tensor(sizes, tensor_type(value).element_type), shape=sizes)


def _sort(block: Block) -> None:
    """Moves every op behind the ops that it depends on, and leaves the order otherwise as it is.

    Ops with effects keep their order, and the terminator stays last.
    """
    ops = list(block.ops)
    order = {op: number for number, op in enumerate(ops)}
    waiting: dict[Operation, int] = {}
    followers: dict[Operation, list[Operation]] = {op: [] for op in ops}
    previous: Operation | None = None
    for op in ops:
        needed = {operand.owner for operand in op.operands if isinstance(operand.owner, Operation)}
        if not is_pure(op):
            needed |= {previous} if previous is not None else set()
            previous = op
        waiting[op] = len(needed)
        for other in needed:
            followers[other].append(op)
    terminator = ops[-1]
    ready = [order[op] for op in ops if not waiting[op] and op is not terminator]
    heapq.heapify(ready)
    sorted_ops: list[Operation] = []
    while ready:
        op = ops[heapq.heappop(ready)]
        sorted_ops.append(op)
        for follower in followers[op]:
            waiting[follower] -= 1
            if not waiting[follower] and follower is not terminator:
                heapq.heappush(ready, order[follower])
    if sorted_ops == ops[:-1]:
        return
    for op in sorted_ops:
        op.detach()
        block.insert_op_before(op, terminator)
