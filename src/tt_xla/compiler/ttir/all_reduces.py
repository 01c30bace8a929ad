"""All_reduces over one axis of the mesh or several, and the predicted time of what may take their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.ir import Operation, SSAValue

from tt_xla.compiler.collectives import Emit
from tt_xla.compiler.ttir.match import is_float
from tt_xla.cost import instruction_cost
from tt_xla.ir.base import DATA_TYPES, Tensor, TTOp, only_user, tensor_type
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.mesh import Mesh, Shape
from tt_xla.ir.program import Instruction, Operand, TensorSpec
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.collective import AllReduceOp
from tt_xla.target import Target


@dataclass(frozen=True)
class Sum:
    """A sum over chips: one all_reduce after the other, one for each axis of the mesh."""

    ops: tuple[AllReduceOp, ...]

    @property
    def first(self) -> AllReduceOp:
        return self.ops[0]

    @property
    def last(self) -> AllReduceOp:
        return self.ops[-1]

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(op.cluster_axis for op in self.ops)

    @property
    def dtype(self) -> DataType:
        return DATA_TYPES[tensor_type(self.first.input).element_type]

    def erase(self) -> None:
        """Removes the ops, whose result nothing uses any more."""
        for op in reversed(self.ops):
            op.detach()
            op.erase()


def emitter(place: Operation) -> Emit:
    """Returns a function that creates an op before another one, with its location, and returns the result."""
    block = place.parent
    assert block is not None

    def emit(kind: type[TTOp], operands: Sequence[object], result: Tensor, /, **values: object) -> SSAValue:
        created = kind.make(operands, [result], place.location, **values)  # pyright: ignore[reportArgumentType]
        block.insert_op_before(created, place)
        return created.results[0]

    return emit


def sum_from(op: Operation) -> Sum | None:
    """Returns the sum of floats over chips that begins at an op; None if none does."""
    if not _is_sum(op) or (_is_sum(op.input.owner) and only_user(op.input) is not None):
        return None
    ops = [op]
    while _is_sum(user := only_user(ops[-1].result)):
        ops.append(user)
    return Sum(tuple(ops))


def _is_sum(op: object) -> TypeGuard[AllReduceOp]:
    return isinstance(op, AllReduceOp) and op.reduce_type is ReduceType.SUM and is_float(op.input)


class Prices:
    """Predicted time of ops, in microseconds."""

    def __init__(self, target: Target, mesh: Mesh) -> None:
        self.target = target
        self.mesh = mesh
        self._known: dict[object, float] = {}

    def all_reduce(self, sizes: Shape, dtype: DataType, axes: Sequence[int]) -> float:
        """Returns the time of a sum over some axes, one after the other."""
        return sum(self._all_reduce(sizes, dtype, axis) for axis in axes)

    def _all_reduce(self, sizes: Shape, dtype: DataType, axis: int) -> float:
        key = (sizes, dtype, axis)
        if key not in self._known:
            self._known[key] = self.cost("all_reduce", [sizes], sizes, dtype, cluster_axis=axis)
        return self._known[key]

    def cost(self, op: str, operands: Sequence[Shape], result: Shape, dtype: DataType, **attributes: object) -> float:
        """Returns the time of one op, with the gap before the next one."""
        return self.of(op, [interleaved(sizes, dtype) for sizes in operands], interleaved(result, dtype), **attributes)

    def of(self, op: str, operands: Sequence[TensorSpec], result: TensorSpec, **attributes: object) -> float:
        """Returns the time of one op on tensors of any layout, with the gap before the next one."""
        numbers = tuple(range(len(operands)))
        inputs: dict[str, Operand] = {"input": 0} if len(operands) == 1 and op != "concat" else {"inputs": numbers}
        instruction = Instruction(f"ttnn.{op}", inputs, (len(operands),), dict(attributes))
        cost = instruction_cost(instruction, [*operands, result], self.target, self.mesh)
        return cost.total_us + self.target.gap_us_traced


def interleaved(sizes: Shape, dtype: DataType, *, tiled: bool = True) -> TensorSpec:
    """Returns a tensor in interleaved DRAM, in tiles or row by row."""
    return TensorSpec(sizes, TensorLayout.of(sizes, dtype, tiled=tiled))
