"""What ops give whose operands have no elements: an initial value, zeros, or the operand that was to be changed.

So tensors of no elements end here: what the chip computes never reads one.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext, converts_empty_operands, on_host
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.structure import scalar_constant, spread_scalar
from tt_xla.compiler.stablehlo.types import is_empty
from tt_xla.ir.base import tensor_type


def _filled(context: ImportContext, op: Any, values: list[SSAValue]) -> list[SSAValue]:
    """Each result is its scalar everywhere."""
    _check(context, op, values)
    found: list[SSAValue] = []
    for position, value in enumerate(values):
        type_ = context.result_type(op, position)
        known = scalar_constant(value)
        found.append(spread_scalar(context, value, type_) if known is None else full(context, known, type_))
    return found


@converts_empty_operands("stablehlo.reduce", "stablehlo.reduce_window")
def reduce(context: ImportContext, op: Any) -> list[SSAValue]:
    """Nothing is joined to the initial values."""
    return _filled(context, op, context.operands(op)[len(op.results) :])


@converts_empty_operands("stablehlo.pad")
def pad(context: ImportContext, op: Any) -> list[SSAValue]:
    return _filled(context, op, context.operands(op)[1:])


@converts_empty_operands("stablehlo.select_and_scatter")
def select_and_scatter(context: ImportContext, op: Any) -> list[SSAValue]:
    return _filled(context, op, context.operands(op)[2:])


@converts_empty_operands("stablehlo.convolution", "stablehlo.dot_general")
def contract(context: ImportContext, op: Any) -> list[SSAValue]:
    """Sums of nothing."""
    return [full(context, 0, context.result_type(op))]


@converts_empty_operands("stablehlo.dynamic_update_slice")
def update_slice(context: ImportContext, op: Any) -> list[SSAValue]:
    return _unchanged(context, op, 1)


@converts_empty_operands("stablehlo.scatter")
def scatter(context: ImportContext, op: Any) -> list[SSAValue]:
    """One update of a whole tensor has an index of no numbers, and is no update of nothing."""
    if not is_empty(tensor_type(context.operands(op)[-1])):
        raise context.reject(op, "its index is a tensor that the chip cannot hold")
    return _unchanged(context, op, len(op.results))


def _unchanged(context: ImportContext, op: Any, count: int) -> list[SSAValue]:
    """The operands that an update of no elements was for."""
    operands = context.operands(op)[:count]
    _check(context, op, operands)
    return operands


def _check(context: ImportContext, op: Any, values: list[SSAValue]) -> None:
    if any(on_host(value) for value in values):
        raise context.reject(op, "it works on a tensor that the chip cannot hold")
