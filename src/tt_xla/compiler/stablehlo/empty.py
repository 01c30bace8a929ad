"""Converters of ops that have an operand without elements and results with elements.

The result is an initial value, zeros, or the operand that an empty update leaves unchanged. No op on the chip reads a
tensor without elements.
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
    """Returns each result of an op as a tensor filled with a scalar.

    Args:
        values: a scalar for each result.
    """
    _check_on_chip(context, op, values)
    results: list[SSAValue] = []
    for position, value in enumerate(values):
        type_ = context.result_type(op, position)
        known = scalar_constant(value)
        results.append(spread_scalar(context, value, type_) if known is None else full(context, known, type_))
    return results


@converts_empty_operands("stablehlo.reduce", "stablehlo.reduce_window")
def reduce(context: ImportContext, op: Any) -> list[SSAValue]:
    """Returns the initial values: there are no elements to combine with them."""
    return _filled(context, op, context.operands(op)[len(op.results) :])


@converts_empty_operands("stablehlo.pad")
def pad(context: ImportContext, op: Any) -> list[SSAValue]:
    return _filled(context, op, context.operands(op)[1:])


@converts_empty_operands("stablehlo.select_and_scatter")
def select_and_scatter(context: ImportContext, op: Any) -> list[SSAValue]:
    return _filled(context, op, context.operands(op)[2:])


@converts_empty_operands("stablehlo.convolution", "stablehlo.dot_general")
def contract(context: ImportContext, op: Any) -> list[SSAValue]:
    """Returns zeros: every sum of products has no terms."""
    return [full(context, 0, context.result_type(op))]


@converts_empty_operands("stablehlo.dynamic_update_slice")
def update_slice(context: ImportContext, op: Any) -> list[SSAValue]:
    return _unchanged(context, op, 1)


@converts_empty_operands("stablehlo.scatter")
def scatter(context: ImportContext, op: Any) -> list[SSAValue]:
    """Returns the operands if there are no updates.

    An update of a whole tensor has an index vector without components, which is a tensor without elements, too.
    """
    if not is_empty(tensor_type(context.operands(op)[-1])):
        raise context.reject(op, "its index is a tensor that the chip cannot hold")
    return _unchanged(context, op, len(op.results))


def _unchanged(context: ImportContext, op: Any, count: int) -> list[SSAValue]:
    """Returns the first ``count`` operands, which an update without elements leaves unchanged."""
    operands = context.operands(op)[:count]
    _check_on_chip(context, op, operands)
    return operands


def _check_on_chip(context: ImportContext, op: Any, values: list[SSAValue]) -> None:
    """
    Raises:
        UnsupportedOpError: the chip cannot hold one of the values.
    """
    if any(on_host(value) for value in values):
        raise context.reject(op, "it works on a tensor that the chip cannot hold")
