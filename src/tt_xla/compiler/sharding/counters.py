"""Narrowing of 64-bit counters to 32 bits, so that each chip can count its own part of them.

The chip has no 64-bit integers, so the compiler computes constants of them in full. JAX's random numbers start with
one: the row-major positions of all elements, split into their upper and lower 32 bits. Where all values of such a
computation are known to fit 32 bits, it becomes one of 32-bit integers, whose iota counts from where a chip's shard
starts.
"""

from __future__ import annotations

import math
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.walk import walk
from tt_xla.compiler.stablehlo.signature import attribute_names

_LIMIT = 2**32

Range = tuple[int, int]
"""Least and greatest value of a tensor."""


def narrow_counters(function: Any) -> None:
    """Rewrites 64-bit integers of a function that only count, and are used as integers or floats of at most 32 bits."""
    ranges: dict[Any, Range] = {}
    for op in walk(function):
        if len(op.results) == 1 and _is_wide(op.results[0]):
            values = _range(op, ranges)
            if values is not None and 0 <= values[0] <= values[1] < _LIMIT:
                ranges[op.results[0]] = values
    if not ranges:
        return
    _keep_closed(ranges)
    for value, (_, greatest) in ranges.items():
        _narrow(value, zero=greatest == 0)


def _is_wide(value: Any) -> bool:
    """Whether a value is a tensor of 64-bit integers."""
    element = value.type.element_type if isinstance(value.type, ir.RankedTensorType) else None
    return isinstance(element, ir.IntegerType) and element.width == 64


def _range(op: Any, ranges: dict[Any, Range]) -> Range | None:
    """Returns the range of an op's result; None if it is unknown.

    Args:
        op: an op with one result.
        ranges: ranges of values before the op.
    """
    name = op.operation.name.removeprefix("stablehlo.")
    if name == "constant":
        value = op.attributes["value"]
        if not value.is_splat:
            return None
        number = ir.IntegerAttr(value.get_splat_value()).value
        return number, number
    if name == "iota":
        size = op.results[0].type.shape[ir.IntegerAttr(op.attributes["iota_dimension"]).value]
        return 0, max(size - 1, 0)
    operands = [ranges.get(operand) for operand in op.operands]
    known = [each for each in operands if each is not None]
    if len(known) < len(operands) or not known:
        return None
    (low, high), *others = known
    if name in ("broadcast_in_dim", "reshape", "transpose"):
        return low, high
    if name in ("add", "multiply"):
        combine = sum if name == "add" else math.prod
        return combine((low, others[0][0])), combine((high, others[0][1]))
    if name == "shift_right_logical" and others[0][0] == others[0][1] < 64:
        return low >> others[0][0], high >> others[0][0]
    return None


def _keep_closed(ranges: dict[Any, Range]) -> None:
    """Removes values that an op reads which stays as it is, and does not convert them to at most 32 bits."""
    removed = True
    while removed:
        wrong = [
            value
            for value in ranges
            if not all(_reads_narrow(use.owner, ranges) for use in value.uses)
            or any(operand not in ranges for operand in value.owner.operands)
        ]
        for value in wrong:
            del ranges[value]
        removed = bool(wrong)


def _reads_narrow(op: Any, ranges: dict[Any, Range]) -> bool:
    """Whether an op may read narrowed operands: its result is narrowed too, or a conversion to at most 32 bits."""
    if len(op.results) == 1 and op.results[0] in ranges:
        return True
    if op.operation.name != "stablehlo.convert":
        return False
    element = op.results[0].type.element_type
    return getattr(element, "width", 64) <= 32


def _narrow(value: Any, *, zero: bool) -> None:
    """Turns the op of a value into one of 32-bit integers, or into a constant of zeros."""
    op = value.owner
    with op.location:
        element = ir.IntegerType.get_unsigned(32)
        type_ = ir.RankedTensorType.get(value.type.shape, element)
        if not zero and op.operation.name != "stablehlo.constant":
            value.set_type(type_)
            return
        number = 0 if zero else ir.IntegerAttr(op.attributes["value"].get_splat_value()).value
        splat = ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(element, number))
        constant = ir.Operation.create(
            "stablehlo.constant", results=[type_], attributes={"value": splat}, ip=ir.InsertionPoint(op)
        )
    value.replace_all_uses_with(constant.results[0])
    for name in attribute_names(op):
        if name.startswith("sdy."):
            constant.attributes[name] = op.attributes[name]
    op.operation.erase()
