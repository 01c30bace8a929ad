"""Folding of leading dimensions into rows, where that means fewer tiles.

A tile has 32 rows of the last two dimensions, so ``[32, 1, 4096]``, which 32 users decode, takes 32 times the tiles of
``[1, 32, 4096]``. The pass chooses for each row op (``row_ops.py``) whether it computes its result with folded leading
dimensions. The choice minimises the predicted time of the ops and of the reshapes between the two forms; a reshape that
the program has anyway ends in the form that its users want.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler import cse
from tt_xla.compiler.analysis.constness import constant_values
from tt_xla.compiler.instructions import plain_instruction
from tt_xla.compiler.rewriting import body, functions, is_pure, look_through, run_patterns
from tt_xla.compiler.ttir.fold import MOVES
from tt_xla.compiler.ttir.row_ops import RowOp, RowUse, folded
from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.ir.base import DATA_TYPES, TTOp, shape, tensor, tensor_type
from tt_xla.ir.layout import TensorLayout
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.ir.shapes import Shape
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp
from tt_xla.target import Target

_WORTH_IT_US = 1.0
"""Predicted gain in us below which the program's own form stays; it is within the prediction's error."""

_FEWER_TILES = 2
"""Factor by which folding must reduce the tiles of a result. Reshapes around products of rank 2, as frontends write
them, count here in both forms, while later passes remove them where ops keep the program's own form. Smaller savings,
as for the 197 positions of a vision transformer, do not pay for the reshapes that stay."""

_MOST_ROUNDS = 4
"""Number of times that each choice is looked at again."""

_MOST_USES = 64
"""Number of uses of an operand or result up to which an op is chosen by itself; each choice looks at all of them."""


def run(module: ModuleOp, target: Target) -> None:
    """Folds leading dimensions in each function where the cost model says that it saves time."""
    changed = False
    for function in functions(module):
        candidates = _candidates(function)
        if not candidates:
            continue
        choice = _Choice(function, candidates, target)
        choice.improve()
        for op in choice.folded:
            _fold(candidates[op])
        changed |= bool(choice.folded)
    if changed:
        run_patterns(module, *MOVES)
        cse.run(module)


def _candidates(function: FuncOp) -> dict[Operation, RowOp]:
    """Returns the row ops of a function that take far fewer tiles with folded leading dimensions."""
    candidates: dict[Operation, RowOp] = {}
    for op in body(function).ops:
        if len(op.results) != 1 or not isinstance(op, TTOp) or not is_pure(op):
            continue
        sizes = shape(op.results[0])
        if len(sizes) < 3 or 0 in sizes or _tiles(sizes) < _FEWER_TILES * _tiles(folded(sizes)):
            continue
        row_op = RowOp.of(op)
        if row_op is not None:
            candidates[op] = row_op
    return candidates


def _tiles(sizes: Shape) -> int:
    """Returns the number of tiles of a tensor."""
    return TensorLayout.of(sizes, DATA_TYPES[bf16]).pages


class _Choice:
    """The row ops of a function that are folded, and the predicted time of that choice."""

    def __init__(self, function: FuncOp, candidates: dict[Operation, RowOp], target: Target) -> None:
        self._candidates = candidates
        self._prices = _Prices(target)
        self._constants = constant_values(function)
        self._roots = {op: _roots(op) for op in candidates}
        self.folded = dict.fromkeys(candidates)
        """Ops whose leading dimensions are folded, in order."""

    def improve(self) -> None:
        """Chooses the ops to fold: all connected ones, without those that are faster as they are, or none."""
        for group in self._groups():
            single = [op for op in group if all(len([*root.uses]) <= _MOST_USES for root in self._roots[op])]
            for _ in range(_MOST_ROUNDS):
                if not sum(map(self._flip_if_faster, single)):
                    break
            chosen = [op for op in group if op in self.folded]
            time = self._time(group)
            for op in chosen:
                del self.folded[op]
            if time < self._time(group) - _WORTH_IT_US:
                self.folded.update(dict.fromkeys(chosen))

    def _groups(self) -> list[list[Operation]]:
        """Returns the candidates that are connected by common operands and results."""
        group_of: dict[SSAValue, list[Operation]] = {}
        for op, roots in self._roots.items():
            groups = {id(group): group for root in roots if (group := group_of.get(root)) is not None}.values()
            joined = max(groups, key=len, default=[])
            for group in groups:
                if group is not joined:
                    joined += group
                    group_of.update((root, joined) for member in group for root in self._roots[member])
            joined.append(op)
            group_of.update((root, joined) for root in roots)
        return list({id(group): group for group in group_of.values()}.values())

    def _flip_if_faster(self, op: Operation) -> bool:
        """Changes the choice for one op if that is faster, and returns whether it is."""
        before = self._time([op])
        self._flip(op)
        if self._time([op]) < before:
            return True
        self._flip(op)
        return False

    def _flip(self, op: Operation) -> None:
        if op in self.folded:
            del self.folded[op]
        else:
            self.folded[op] = None

    def _time(self, ops: Sequence[Operation]) -> float:
        """Returns the predicted time of ops, and of the reshapes of their operands and results, in us."""
        roots = dict.fromkeys(root for op in ops for root in self._roots[op])
        return sum(map(self._op_time, ops)) + sum(map(self._moves_time, roots))

    def _op_time(self, op: Operation) -> float:
        """Returns the predicted time of an op, and of repeating its operands, in us."""
        row_op, is_folded = self._candidates[op], op in self.folded
        time = self._prices.of_op(row_op, is_folded=is_folded)
        for index, use in enumerate(row_op.uses):
            if is_folded and use is RowUse.SPREAD and op.operands[index] not in self._constants:
                time += self._prices.of_spread(row_op, index)
        return time

    def _moves_time(self, root: SSAValue) -> float:
        """Returns the predicted time of all reshapes of a value in us. Const-eval reshapes constants."""
        if root in self._constants:
            return 0.0
        source = folded(shape(root)) if root.owner in self.folded else shape(root)
        return sum(self._prices.of_move(root, source, sizes) for sizes in set(self._wanted(root)))

    def _wanted(self, value: SSAValue) -> Iterator[Shape]:
        """Yields the shapes in which ops read a value, also behind reshapes."""
        for use in value.uses:
            op = use.operation
            if isinstance(op, ReshapeOp):
                yield from self._wanted(op.result)
            elif op in self.folded and self._candidates[op].uses[use.index] is not RowUse.SPREAD:
                yield self._candidates[op].operand_shape(use.index, is_folded=True)
            else:
                yield shape(value)


class _Prices:
    """Predicted times in us, of tensors in tiles in DRAM."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._gap = rates_of(target).gap_traced
        self._ops: dict[tuple[Operation, bool], float] = {}
        self._moves: dict[tuple[Attribute, Shape, Shape], float] = {}
        """Times of reshapes, by element type and shapes; a choice asks for the same ones for each op that it flips."""

    def of_op(self, row_op: RowOp, *, is_folded: bool) -> float:
        """Returns the time of a row op."""
        op = row_op.op
        time = self._ops.get((op, is_folded))
        if time is None:
            sizes = [row_op.operand_shape(index, is_folded=is_folded) for index in range(len(op.operands))]
            values = [_spec(value, each) for value, each in zip(op.operands, sizes, strict=True)]
            values.append(_spec(op.results[0], row_op.result_shape(is_folded=is_folded)))
            time = self._ops[op, is_folded] = self._cost(plain_instruction(op), values)
        return time

    def of_move(self, value: SSAValue, before: Shape, after: Shape) -> float:
        """Returns the time of a reshape of a value from one shape to another."""
        if before == after:
            return 0.0
        key = (tensor_type(value).element_type, before, after)
        time = self._moves.get(key)
        if time is None:
            cost = self._cost(_RESHAPE, [_spec(value, before), _spec(value, after)])
            time = self._moves[key] = cost + self._gap if cost else 0.0
        return time

    def of_spread(self, row_op: RowOp, index: int) -> float:
        """Returns the time of repeating an operand for all rows of the result."""
        value, sizes = row_op.op.operands[index], row_op.spread_shape(index)
        repeat = self._cost(_REPEAT, [_spec(value, shape(value)), _spec(value, sizes)])
        return repeat + self._gap + self.of_move(value, sizes, folded(sizes))

    def _cost(self, instruction: Instruction, values: Sequence[TensorSpec]) -> float:
        return instruction_cost(instruction, values, self._target).total_us


_RESHAPE = Instruction("ttnn.reshape", {"input": 0}, (1,), {})
_REPEAT = Instruction("ttnn.repeat", {"input": 0}, (1,), {})


def _spec(value: SSAValue, sizes: Shape) -> TensorSpec:
    """Returns a tensor of a value's element type in tiles in DRAM."""
    return TensorSpec(sizes, TensorLayout.of(sizes, DATA_TYPES[tensor_type(value).element_type]))


def _roots(op: Operation) -> list[SSAValue]:
    """Returns an op's result and operands, each behind reshapes."""
    return [op.results[0], *(look_through(value, ReshapeOp) for value in op.operands)]


def _fold(row_op: RowOp) -> None:
    """Replaces a row op by one with folded leading dimensions, between reshapes."""
    op = row_op.op
    operands = [_folded_operand(row_op, index) for index in range(len(op.operands))]
    type_ = tensor_type(op.results[0])
    rows = type(op).create(
        operands=operands,
        result_types=[tensor(row_op.result_shape(is_folded=True), type_.element_type)],
        properties=row_op.folded_properties(),
        location=op.location,
    )
    reshape = ReshapeOp.make([rows.results[0]], [type_], op.location, shape=type_.get_shape())
    Rewriter.replace_op(op, [rows, reshape])


def _folded_operand(row_op: RowOp, index: int) -> SSAValue:
    """Returns an operand as the folded op reads it."""
    op, value = row_op.op, row_op.op.operands[index]
    if row_op.uses[index] is RowUse.SPREAD:
        spread = row_op.spread_shape(index)
        sizes = (*[1] * (len(spread) - len(shape(value))), *shape(value))
        factors = tuple(size // own for size, own in zip(spread, sizes, strict=True))
        value = _reshaped(op, value, sizes)
        broadcast = BroadcastOp.make(
            [value], [tensor(spread, tensor_type(value).element_type)], op.location, broadcast_dimensions=factors
        )
        Rewriter.insert_op(broadcast, InsertPoint.before(op))
        value = broadcast.results[0]
    return _reshaped(op, value, row_op.operand_shape(index, is_folded=True))


def _reshaped(op: TTOp, value: SSAValue, sizes: Shape) -> SSAValue:
    """Returns a value in another shape, by a reshape before ``op`` if it has to change."""
    if shape(value) == sizes:
        return value
    type_ = tensor(sizes, tensor_type(value).element_type)
    reshape = ReshapeOp.make([value], [type_], op.location, shape=sizes)
    Rewriter.insert_op(reshape, InsertPoint.before(op))
    return reshape.results[0]
