"""Pass of level 1: data movement on row-major tensors stays row-major where that is predicted to be faster.

Inputs come row-major, and the lowering tilizes them before anything else. Tiles pad the last two dimensions to 32:
3x3 convolution weights become 114 times as large when they are permuted in tiles. For each chain of permutes, reshapes
and slices after a conversion to tiles, the pass chooses the place of the conversion: at the start, between two ops, or
at the end, where it cancels against a conversion back. At the start it is free where the function's caller brings the
input in tiles (``ttnn-choose-argument-layouts``).
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import argument_role
from tt_xla.compiler.instructions import plain_instruction
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.ir.base import TTOp, only_user, shape
from tt_xla.ir.layout import TensorLayout
from tt_xla.ir.program import Instruction, Role, TensorSpec
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.memory import ToLayoutOp
from tt_xla.ir.ttnn.structure import PermuteOp, ReshapeOp, SliceStaticOp
from tt_xla.target import Target

_WORTH_IT_US = 1.0
"""Predicted gain in us below which tiles, the usual form, stay; it is within the prediction's error."""

MOVEMENT = (PermuteOp, ReshapeOp, SliceStaticOp)
"""Ops that TT-NN runs on row-major tensors as well as on tiles."""


def run(module: ModuleOp, target: Target) -> None:
    """Chooses the place of each conversion to tiles that a chain of movement follows."""
    for function in functions(module):
        inputs = _inputs(function) if is_entry(function) else set[SSAValue]()
        for op in list(body(function).ops):
            if isinstance(op, ToLayoutOp) and op.parent is not None and _tilizes(op):
                line = _line(op)
                if line:
                    _place(op, line, target, comes_in_tiles=op.input in inputs)


def _inputs(function: FuncOp) -> set[SSAValue]:
    """Returns arguments that come with each call and have one use, so that their layout may follow that use."""
    arguments = enumerate(body(function).args)
    return {
        argument
        for index, argument in arguments
        if argument_role(function, index) is Role.INPUT and argument.has_one_use()
    }


def _tilizes(op: ToLayoutOp) -> bool:
    """Returns whether an op converts a row-major device tensor to tiles of the same element type."""
    before, after = layout_of(op.input), layout_of(op.results[0])
    return before.on_device and not before.tiled and after.tiled and before.dtype == after.dtype


def _line(start: ToLayoutOp) -> list[TTOp]:
    """Returns the movement ops after ``start``, each the only user of the one before."""
    line: list[TTOp] = []
    user = only_user(start.results[0])
    while isinstance(user, MOVEMENT) and layout_of(user.results[0]).tiled:
        line.append(user)
        user = only_user(user.results[0])
    return line


def _place(start: ToLayoutOp, line: list[TTOp], target: Target, *, comes_in_tiles: bool) -> None:
    """Moves the conversion to tiles behind as many ops of the chain as is fastest.

    Args:
        start: The conversion to tiles.
        line: Movement ops after it.
        target: Chip whose times are predicted.
        comes_in_tiles: Whether the conversion is free at its present place.
    """
    end = only_user(line[-1].results[0])
    back = end if isinstance(end, ToLayoutOp) and not layout_of(end.results[0]).tiled else None
    gap = rates_of(target).gap_traced

    def cost(op: Instruction, before: TensorSpec, after: TensorSpec) -> float:
        """Returns the predicted time of an op in us, with the gap after it."""
        predicted = instruction_cost(op, (before, after), target).total_us
        return predicted + gap if predicted else 0.0

    def convert(source: TensorSpec, tiled: bool) -> float:
        """Returns the predicted time of a conversion in us."""
        op = Instruction("ttnn.to_layout", {"input": 0}, (1,), {})
        return cost(op, source, _as(source, tiled))

    values = [start.input, *(op.results[0] for op in line)]
    specs = [TensorSpec(shape(value), layout_of(value)) for value in values]
    plain = [plain_instruction(op) for op in line]
    moves = [
        {tiled: cost(op, _as(before, tiled), _as(after, tiled)) for tiled in (False, True)}
        for op, before, after in zip(plain, specs, specs[1:], strict=False)
    ]
    last = _as(specs[-1], True)
    best, least = 0, float("inf")
    for position in range(len(line) + 1):
        cancels = position == len(line) and back is not None
        total = sum(move[index >= position] for index, move in enumerate(moves))
        if not cancels:
            total += convert(_as(specs[position], False), True) if position or not comes_in_tiles else 0.0
            total += convert(last, False) if back is not None else 0.0
        if total < least - _WORTH_IT_US:
            best, least = position, total
    if best:
        _move(start, line[:best], back if best == len(line) else None)


def _as(spec: TensorSpec, tiled: bool) -> TensorSpec:
    """Returns a tensor's shape and layout in tiles or row-major."""
    return TensorSpec(spec.shape, spec.layout.with_(spec.shape, tiled=tiled))


def _move(start: ToLayoutOp, line: list[TTOp], back: Operation | None) -> None:
    """Runs ``line`` on row-major tensors and converts after it, unless ``back`` undoes the conversion."""
    start.results[0].replace_all_uses_with(start.input)
    for op in line:
        value = op.results[0]
        Rewriter.replace_value_with_new_type(value, laid_out(shape(value), _row_major(value)))
    result: SSAValue = line[-1].results[0]
    Rewriter.erase_op(start)
    if back is not None:
        back.results[0].replace_all_uses_with(result)
        Rewriter.erase_op(back)
        return
    layout = layout_of(result).with_(shape(result), tiled=True)
    tilize = ToLayoutOp.make([result], [laid_out(shape(result), layout)], line[-1].location)
    Rewriter.insert_op(tilize, InsertPoint.after(line[-1]))
    result.replace_uses_with_if(tilize.results[0], lambda use: use.operation is not tilize)


def _row_major(value: SSAValue) -> TensorLayout:
    """Returns a value's layout, row-major."""
    assert isinstance(value, OpResult)
    return layout_of(value).with_(shape(value), tiled=False)
