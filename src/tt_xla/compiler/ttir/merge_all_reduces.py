"""Small all_reduces that do not depend on each other become one.

An exchange between chips takes tens of microseconds to start, whatever its size. Tensors whose rows have the same
width, such as the gradients of a weight and of its bias, are joined row by row, reduced together, and taken apart.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tt_xla.compiler import collectives
from tt_xla.compiler.meshes import mesh_of
from tt_xla.compiler.rewriting import body, functions, is_pure
from tt_xla.compiler.ttir.match import is_float
from tt_xla.cost import instruction_cost
from tt_xla.ir.base import DATA_TYPES, Tensor, TTOp, shape, tensor, tensor_type
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.mesh import Mesh, Shape
from tt_xla.ir.program import Instruction, Operand, TensorSpec
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
        while (group := next(_groups(function, _Prices(target, mesh)), None)) is not None:
            _merge(group)
            _sort(body(function))


def _matrix(value: SSAValue) -> Shape:
    """Returns the shape of a tensor as a matrix with rows of its last dimension."""
    sizes = shape(value)
    return (math.prod(sizes[:-1]), sizes[-1]) if sizes else (1, 1)


class _Prices:
    """Predicted time of what merging adds and saves, in microseconds."""

    def __init__(self, target: Target, mesh: Mesh) -> None:
        self.target = target
        self.mesh = mesh

    def merged(self, group: Sequence[AllReduceOp]) -> float:
        """Returns the time of a group that is merged."""
        dtype, axis = _dtype(group[0]), group[0].cluster_axis
        matrices = [_matrix(op.input) for op in group]
        rows = (sum(count for count, _ in matrices), matrices[0][1])
        total = self._cost("concat", matrices, rows, dtype, dim=0) + self._all_reduce(rows, dtype, axis)
        for op, matrix in zip(group, matrices, strict=True):
            ends = {"begins": [0, 0], "ends": list(matrix), "step": [1, 1]}
            total += self._cost("slice_static", [rows], matrix, dtype, **ends)
            if shape(op.input) != matrix:
                there = self._cost("reshape", [shape(op.input)], matrix, dtype, shape=list(matrix))
                back = self._cost("reshape", [matrix], shape(op.input), dtype, shape=list(shape(op.input)))
                total += there + back
        return total

    def apart(self, group: Iterable[AllReduceOp]) -> float:
        """Returns the time of a group as it is."""
        return sum(self._all_reduce(shape(op.input), _dtype(op), op.cluster_axis) for op in group)

    def _all_reduce(self, sizes: Shape, dtype: DataType, axis: int) -> float:
        return self._cost("all_reduce", [sizes], sizes, dtype, cluster_axis=axis, reduce_type="sum")

    def _cost(self, op: str, operands: Sequence[Shape], result: Shape, dtype: DataType, **attributes: object) -> float:
        specs = [TensorSpec(sizes, TensorLayout.of(sizes, dtype)) for sizes in (*operands, result)]
        numbers = tuple(range(len(operands)))
        inputs: dict[str, Operand] = {"inputs": numbers} if op == "concat" else {"input": 0}
        instruction = Instruction(f"ttnn.{op}", inputs, (len(operands),), dict(attributes))
        return instruction_cost(instruction, specs, self.target, self.mesh).total_us + self.target.gap_us_traced


def _dtype(op: AllReduceOp) -> DataType:
    return DATA_TYPES[tensor_type(op.input).element_type]


def _groups(function: FuncOp, prices: _Prices) -> Iterator[list[AllReduceOp]]:
    """Yields groups of independent all_reduces that are faster as one."""
    groups: dict[tuple[int, Attribute, int], list[AllReduceOp]] = {}
    members: dict[tuple[int, Attribute, int], int] = {}
    depends: dict[Operation, int] = {}
    for number, op in enumerate(body(function).ops):
        behind = 0
        for operand in op.operands:
            if isinstance(operand.owner, Operation):
                behind |= depends[operand.owner]
        if isinstance(op, AllReduceOp) and op.reduce_type is ReduceType.SUM and is_float(op.input):
            key = (op.cluster_axis, tensor_type(op.input).element_type, _matrix(op.input)[1])
            if not behind & members.get(key, 0):
                groups.setdefault(key, []).append(op)
                members[key] = members.get(key, 0) | 1 << number
                behind |= 1 << number
        depends[op] = behind
    for group in groups.values():
        group.sort(key=lambda op: math.prod(shape(op.input)))
        while len(group) > 1:
            if prices.merged(group) < prices.apart(group):
                yield group
                break
            group.pop()


def _merge(group: list[AllReduceOp]) -> None:
    """Replaces a group by one all_reduce, at the place of its last member."""
    block = group[0].parent
    assert block is not None
    order = {op: number for number, op in enumerate(block.ops)}
    group.sort(key=order.__getitem__)
    last = group[-1]

    def emit(kind: type[TTOp], operands: Sequence[object], result: Tensor, /, **values: object) -> SSAValue:
        created = kind.make(operands, [result], last.location, **values)  # pyright: ignore[reportArgumentType]
        block.insert_op_before(created, last)
        return created.results[0]

    element = tensor_type(last.input).element_type
    rows = [_reshaped(emit, op.input, _matrix(op.input)) for op in group]
    counts = [shape(row)[0] for row in rows]
    joined_type = tensor((sum(counts), shape(rows[0])[1]), element)
    joined = emit(ConcatOp, [rows], joined_type, dim=0)
    values = {"reduce_type": ReduceType.SUM, "cluster_axis": last.cluster_axis}
    reduced = emit(AllReduceOp, [joined], joined_type, **values)
    start = 0
    for op, count in zip(group, counts, strict=True):
        part = collectives.part(emit, reduced, 0, start, start + count)
        op.result.replace_all_uses_with(_reshaped(emit, part, shape(op.result)))
        start += count
    for op in group:
        op.detach()
        op.erase()


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
