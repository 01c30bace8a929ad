"""What ops give whose operands have no elements: an initial value, zeros, or the operand that was to be changed.

So tensors of no elements end here: what the chip computes never reads one.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.fallback import on_host
from tt_xla.compiler.stablehlo.importer import Importer, folds_empty
from tt_xla.compiler.stablehlo.structure import scalar_constant, spread_scalar
from tt_xla.compiler.stablehlo.types import is_empty
from tt_xla.ir.base import tensor_type


def _filled(importer: Importer, op: Any, values: list[SSAValue]) -> list[SSAValue]:
    """Each result is its scalar everywhere."""
    _check(importer, op, values)
    found: list[SSAValue] = []
    for position, value in enumerate(values):
        type_ = importer.result_type(op, position)
        known = scalar_constant(value)
        found.append(spread_scalar(importer, value, type_) if known is None else full(importer, known, type_))
    return found


@folds_empty("stablehlo.reduce", "stablehlo.reduce_window")
def reduce(importer: Importer, op: Any) -> list[SSAValue]:
    """Nothing is joined to the initial values."""
    return _filled(importer, op, importer.operands(op)[len(op.results) :])


@folds_empty("stablehlo.pad")
def pad(importer: Importer, op: Any) -> list[SSAValue]:
    return _filled(importer, op, importer.operands(op)[1:])


@folds_empty("stablehlo.select_and_scatter")
def select_and_scatter(importer: Importer, op: Any) -> list[SSAValue]:
    return _filled(importer, op, importer.operands(op)[2:])


@folds_empty("stablehlo.convolution", "stablehlo.dot_general")
def contract(importer: Importer, op: Any) -> list[SSAValue]:
    """Sums of nothing."""
    return [full(importer, 0, importer.result_type(op))]


@folds_empty("stablehlo.dynamic_update_slice")
def update_slice(importer: Importer, op: Any) -> list[SSAValue]:
    return _unchanged(importer, op, 1)


@folds_empty("stablehlo.scatter")
def scatter(importer: Importer, op: Any) -> list[SSAValue]:
    """One update of a whole tensor has an index of no numbers, and is no update of nothing."""
    if not is_empty(tensor_type(importer.operands(op)[-1])):
        raise importer.reject(op, "its index is a tensor that the chip cannot hold")
    return _unchanged(importer, op, len(op.results))


def _unchanged(importer: Importer, op: Any, count: int) -> list[SSAValue]:
    """The operands that an update of no elements was for."""
    operands = importer.operands(op)[:count]
    _check(importer, op, operands)
    return operands


def _check(importer: Importer, op: Any, values: list[SSAValue]) -> None:
    if any(on_host(value) for value in values):
        raise importer.reject(op, "it works on a tensor that the chip cannot hold")
