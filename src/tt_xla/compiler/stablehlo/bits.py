"""Converters of StableHLO ops that work on the bits of their operand."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.elementwise import choose
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.structure import TypecastOp


@converts("stablehlo.popcnt")
def popcnt(context: ImportContext, op: Any) -> SSAValue:
    value, _ = _bits(context, op)
    return _cast(context, _count(context, value), context.result_type(op))


_SAME_BITS_ON_CHIP = ("f32", "i32", "ui32")
"""Element types whose elements have the same 32 bits on the chip as in StableHLO."""


@converts("stablehlo.bitcast_convert")
def bitcast_convert(context: ImportContext, op: Any) -> SSAValue:
    types = [str(value.type.element_type) for value in (op.operands[0], op.results[0])]
    if any(element not in _SAME_BITS_ON_CHIP for element in types):
        raise context.reject(op, "the chip stores elements of its types in other bits than StableHLO does")
    (value,) = context.operands(op)
    return context.emit(ttir.UNARY_OPS["bitcast_convert"], [value], context.result_type(op))


@converts("stablehlo.count_leading_zeros")
def count_leading_zeros(context: ImportContext, op: Any) -> SSAValue:
    """Sets every bit below the highest set bit, and counts the bits that are still 0."""
    value, bits = _bits(context, op)
    for distance in (1, 2, 4, 8, 16):
        if distance < bits:
            value = _binary(context, "bitwise_or", value, _right(context, value, distance))
    count = _count(context, value)
    zeros = _binary(context, "subtract", full(context, bits, tensor_type(count)), count)
    return _cast(context, zeros, context.result_type(op))


def _bits(context: ImportContext, op: Any) -> tuple[SSAValue, int]:
    """Returns the operand as 32-bit integers whose bits above the declared width are 0, and the declared width in bits.

    Raises:
        UnsupportedOpError: the operand has 64-bit elements.
    """
    bits = int(str(op.operands[0].type.element_type).lstrip("ui"))
    if bits > 32:
        raise context.reject(op, f"the chip holds 32 bits of an integer, and this one has {bits}")
    (value,) = context.operands(op)
    value = _cast(context, value, tensor(shape(value), si32))
    return (value if bits == 32 else _mask(context, value, 2**bits - 1)), bits


def _count(context: ImportContext, value: SSAValue) -> SSAValue:
    """Returns the number of set bits, as sums of neighbouring fields of 1, 2, 4, 8 and 16 bits."""
    value = _binary(context, "subtract", value, _mask(context, _right(context, value, 1), 0x55555555))
    high = _mask(context, _right(context, value, 2), 0x33333333)
    value = _binary(context, "add", _mask(context, value, 0x33333333), high)
    value = _mask(context, _binary(context, "add", value, _right(context, value, 4)), 0x0F0F0F0F)
    for distance in (8, 16):
        value = _binary(context, "add", value, _right(context, value, distance))
    return _mask(context, value, 0x3F)


@converts("stablehlo.reduce_precision")
def reduce_precision(context: ImportContext, op: Any) -> SSAValue:
    """Rounds the mantissa to fewer bits, ties to even, and values beyond the smaller exponent to infinity or 0."""
    declared = ir.FloatType(op.operands[0].type.element_type)
    exponent, mantissa = (int(op.attributes[name].value) for name in ("exponent_bits", "mantissa_bits"))
    full_exponent, full_mantissa = _FORMATS.get(str(declared), (0, 0))
    (operand,) = context.operands(op)
    result = context.result_type(op)
    if not full_mantissa or exponent < 2:
        raise context.reject(op, f"the chip cannot round {declared} to {exponent} bits of exponent")
    value = operand
    if mantissa < full_mantissa:
        value = _to_mantissa(context, _cast(context, operand, tensor(shape(operand), f32)), mantissa)
    if exponent < full_exponent:
        value = _to_exponent(context, value, exponent)
    return _cast(context, value, result)


_FORMATS = {"bf16": (8, 7), "f16": (5, 10), "f32": (8, 23), "f64": (8, 23)}
"""Bits of exponent and mantissa by element type. The chip holds f64 as float32."""


def _to_mantissa(context: ImportContext, value: SSAValue, mantissa: int) -> SSAValue:
    """Rounds float32 values to some bits of mantissa, ties to even.

    Adds half of the last bit that stays, minus one unit if that bit is 0, and clears the bits below it. NaN stays NaN.
    """
    type_ = tensor_type(value)
    if mantissa == 7:
        return _cast(context, _cast(context, value, tensor(shape(value), bf16)), type_)
    dropped = 23 - mantissa
    bits = context.emit(ttir.UNARY_OPS["bitcast_convert"], [value], tensor(shape(value), si32))
    odd = _mask(context, _right(context, bits, dropped), 1)
    half = full(context, 2 ** (dropped - 1) - 1, tensor_type(bits))
    rounded = _binary(context, "add", bits, _binary(context, "add", odd, half))
    rounded = _mask(context, rounded, -(2**dropped))
    back = context.emit(ttir.UNARY_OPS["bitcast_convert"], [rounded], type_)
    nan = context.emit(ttir.BINARY_OPS["ne"], [value, value], tensor(shape(value), bf16))
    return choose(context, nan, value, back)


def _to_exponent(context: ImportContext, value: SSAValue, exponent: int) -> SSAValue:
    """Turns values that an exponent of so many bits cannot express into infinity or 0 of the same sign.

    Subnormal numbers become 0.
    """
    type_, truth = tensor_type(value), tensor(shape(value), bf16)
    bias = 2 ** (exponent - 1) - 1
    magnitude = context.emit(ttir.UNARY_OPS["abs"], [value], type_)
    for comparison, bound, factor in (("ge", 2.0 ** (bias + 1), float("inf")), ("lt", 2.0 ** (1 - bias), 0.0)):
        beyond = context.emit(ttir.BINARY_OPS[comparison], [magnitude, full(context, bound, type_)], truth)
        value = choose(context, beyond, _binary(context, "multiply", value, full(context, factor, type_)), value)
    return value


def _binary(context: ImportContext, name: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    return context.emit(ttir.BINARY_OPS[name], [lhs, rhs], tensor_type(lhs))


def _mask(context: ImportContext, value: SSAValue, mask: int) -> SSAValue:
    return _binary(context, "bitwise_and", value, full(context, mask, tensor_type(value)))


def _right(context: ImportContext, value: SSAValue, by: int) -> SSAValue:
    return _binary(context, "logical_right_shift", value, full(context, by, tensor_type(value)))


def _cast(context: ImportContext, value: SSAValue, type_: Any) -> SSAValue:
    return value if tensor_type(value) == type_ else context.emit(TypecastOp, [value], type_)
