"""Converter of ``stablehlo.dot_general``."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.analysis.ranges import EXACT, bounds
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.ir import ttir
from tt_xla.ir.base import Tensor, shape, tensor, tensor_type
from tt_xla.ir.properties import si32, ui8, ui16
from tt_xla.ir.ttir.contraction import DotGeneralOp
from tt_xla.ir.ttir.structure import TypecastOp

_SOURCE_BITS = 10
"""Significant bits of a float32 weight that the matrix unit multiplies; of an activation it takes one more."""

_KEEPING = frozenset(
    f"stablehlo.{name}" for name in ("broadcast_in_dim", "convert", "reshape", "reverse", "slice", "transpose")
)
"""Ops of one operand whose integers are those of the operand."""


@converts("stablehlo.dot_general")
def dot_general(context: ImportContext, op: Any) -> SSAValue:
    """Converts to one product, or to the sum of those of the parts of integers that the matrix unit would cut."""
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    dims = {
        "batch_dims_lhs": tuple(numbers.lhs_batching_dimensions),
        "contract_dims_lhs": tuple(numbers.lhs_contracting_dimensions),
        "batch_dims_rhs": tuple(numbers.rhs_batching_dimensions),
        "contract_dims_rhs": tuple(numbers.rhs_contracting_dimensions),
    }
    operands, type_ = context.operands(op), context.result_type(op)
    counts = [_number_of_parts(value, source) for value, source in zip(operands, op.operands, strict=True)]
    if context.module.approximate and max(counts) > 1:
        parts = [_parts(context, value, count) for value, count in zip(operands, counts, strict=True)]
        total = _sum_of_products(context, parts[0], parts[1], tensor(type_.get_shape(), f32), dims)
        if type_.element_type in (ui8, ui16):  # a conversion of floats to them saturates, and integers wrap
            total = context.emit(TypecastOp, [total], tensor(type_.get_shape(), si32))
        return context.emit(TypecastOp, [total], type_)
    product = context.emit(DotGeneralOp, operands, type_, **dims)
    if str(op.results[0].type.element_type) == "i1":  # a sum of booleans says whether one of them is true
        return context.emit(ttir.BINARY_OPS["ne"], [product, full(context, 0, type_)], type_)
    return product


def _sum_of_products(
    context: ImportContext, lhs: Sequence[SSAValue], rhs: Sequence[SSAValue], type_: Tensor, dims: dict[str, Any]
) -> SSAValue:
    """Emits the products of each part of one operand with each part of the other, and their sum."""
    pairs = [(x, y) for (i, x), (j, y) in itertools.product(enumerate(lhs), enumerate(rhs)) if i + j < 4]
    products = [context.emit(DotGeneralOp, [x, y], type_, **dims) for x, y in pairs]  # 4: beyond 32 bits
    return functools.reduce(lambda x, y: context.emit(ttir.BINARY_OPS["add"], [x, y], type_), products)


def _number_of_parts(value: SSAValue, source: Any) -> int:
    """Returns the number of parts of integers whose bits the matrix unit takes; integers beyond 2^24 are rounded."""
    if not isinstance(tensor_type(value).element_type, IntegerType):
        return 1
    limits = bounds(value)
    largest = min(max(-limits.low, limits.high), 2.0 ** _width(source), EXACT[f32])
    return max(1, math.ceil(math.log2(max(largest, 1)) / _SOURCE_BITS))


def _width(source: Any) -> int:
    """Returns the bits of the narrowest integers from which an operand's integers are moved or converted."""
    width = ir.IntegerType(source.type.element_type).width
    owner = source.owner
    if isinstance(owner, ir.Block) or owner.name not in _KEEPING:
        return width
    (origin,) = owner.operands
    return min(width, _width(origin)) if isinstance(origin.type.element_type, ir.IntegerType) else width


def _parts(context: ImportContext, value: SSAValue, count: int) -> list[SSAValue]:
    """Returns float32 tensors whose sum is a tensor of integers, with at most ten significant bits each, lowest first.

    Each part has the sign of the whole, so that none is larger than it.
    """
    type_ = tensor(shape(value), f32)
    rest = context.emit(TypecastOp, [value], type_)
    parts: list[SSAValue] = []
    for position in range(count - 1, 0, -1):
        unit = 2.0 ** (_SOURCE_BITS * position)
        scaled = context.emit(ttir.BINARY_OPS["multiply"], [rest, full(context, 1 / unit, type_)], type_)
        whole = context.emit(ttir.UNARY_OPS["trunc"], [scaled], type_)
        parts.append(context.emit(ttir.BINARY_OPS["multiply"], [whole, full(context, unit, type_)], type_))
        rest = context.emit(ttir.BINARY_OPS["subtract"], [rest, parts[-1]], type_)
    return [rest, *reversed(parts)]
