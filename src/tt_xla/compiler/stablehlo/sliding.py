"""Sliding windows of any type and any of the common reducers, as combinations of shifted slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext
from tt_xla.compiler.stablehlo.elementwise import wrapped
from tt_xla.compiler.stablehlo.structure import crop, extend, spread_with
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.structure import SliceStaticOp

COMBINERS = {
    "stablehlo.add": "add",
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.multiply": "multiply",
}
ON_BOOLEANS = {
    "stablehlo.add": "logical_or",
    "stablehlo.and": "logical_and",
    "stablehlo.maximum": "logical_or",
    "stablehlo.minimum": "logical_and",
    "stablehlo.multiply": "logical_and",
    "stablehlo.or": "logical_or",
}
"""The elementwise op that joins two elements; booleans are 0 and 1 in bfloat16 here."""

Combine = Callable[[SSAValue, SSAValue], SSAValue]


def slide(context: ImportContext, op: Any, reducer: str, window: Any) -> SSAValue:
    """``stablehlo.reduce_window`` dimension by dimension, each in twice as many steps as its size has bits.

    The initial value is the identity, which padding and the gaps of a dilated input therefore hold.

    Raises:
        UnsupportedOpError: no elementwise op joins two elements as the body does.
    """
    type_ = context.result_type(op)
    boolean = str(op.results[0].type.element_type) == "i1"
    name = (ON_BOOLEANS if boolean else COMBINERS).get(reducer)
    if name is None:
        raise context.reject(op, "its body is not one add, multiply, maximum, minimum, or boolean and or or")
    kind = ttir.BINARY_OPS[name]

    def combine(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return context.emit(kind, [lhs, rhs], tensor(shape(lhs), bf16 if boolean else type_.element_type))

    value, initial = context.operands(op)
    for dim, size in enumerate(window.sizes):
        value = spread_with(context, value, dim, window.base_dilations[dim], initial)
        low, high = window.padding[dim]
        value = crop(context, value, dim, max(0, -low), shape(value)[dim] - max(0, -high))
        value = extend(context, value, dim, (max(0, low), max(0, high)), initial)
        value = _along(context, value, dim, (size, window.dilations[dim]), combine)
        value = every(context, value, dim, window.strides[dim])
    return wrapped(context, value, op)


def _along(context: ImportContext, value: SSAValue, dim: int, window: tuple[int, int], combine: Combine) -> SSAValue:
    """Each window of (elements, distance between them) along a dimension, joined.

    Windows of 2, 4, 8 elements are two of half the size; those of the size's binary digits follow one another.
    """
    size, step = window
    length = shape(value)[dim] - (size - 1) * step
    found: SSAValue | None = None
    done, reach = 0, 1
    while True:
        if size & reach:
            piece = crop(context, value, dim, done * step, done * step + length)
            found = piece if found is None else combine(found, piece)
            done += reach
        if done == size:
            assert found is not None
            return found
        whole = shape(value)[dim]
        first = crop(context, value, dim, 0, whole - reach * step)
        value = combine(first, crop(context, value, dim, reach * step, whole))
        reach *= 2


def every(context: ImportContext, value: SSAValue, dim: int, stride: int) -> SSAValue:
    """Every so manyth position of a dimension."""
    sizes = shape(value)
    if stride == 1:
        return value
    steps = tuple(stride if d == dim else 1 for d in range(len(sizes)))
    whole = (*sizes[:dim], -(-sizes[dim] // stride), *sizes[dim + 1 :])
    type_ = tensor(whole, tensor_type(value).element_type)
    return context.emit(SliceStaticOp, [value], type_, begins=(0,) * len(sizes), ends=sizes, step=steps)
