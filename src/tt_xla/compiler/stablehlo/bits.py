"""Ops that look at the bits of their operand."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.elementwise import choose
from tt_xla.compiler.stablehlo.importer import Importer, converts
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.structure import TypecastOp


@converts("stablehlo.popcnt")
def popcnt(importer: Importer, op: Any) -> SSAValue:
    value, _ = _bits(importer, op)
    return _cast(importer, _count(importer, value), importer.result_type(op))


_WHOLE_WIDTH = ("f32", "i32", "ui32")
"""Element types that the chip holds in the bits that they declare, 32 of them."""


@converts("stablehlo.bitcast_convert")
def bitcast_convert(importer: Importer, op: Any) -> SSAValue:
    types = [str(value.type.element_type) for value in (op.operands[0], op.results[0])]
    if any(element not in _WHOLE_WIDTH for element in types):
        raise importer.reject(op, "the chip holds other bits than those of its types")
    (value,) = importer.operands(op)
    return importer.emit(ttir.UNARY_OPS["bitcast_convert"], [value], importer.result_type(op))


@converts("stablehlo.count_leading_zeros")
def count_leading_zeros(importer: Importer, op: Any) -> SSAValue:
    """The bits that are not set once every bit below a set one is."""
    value, bits = _bits(importer, op)
    for reach in (1, 2, 4, 8, 16):
        if reach < bits:
            value = _binary(importer, "bitwise_or", value, _right(importer, value, reach))
    count = _count(importer, value)
    zeros = _binary(importer, "subtract", full(importer, bits, tensor_type(count)), count)
    return _cast(importer, zeros, importer.result_type(op))


def _bits(importer: Importer, op: Any) -> tuple[SSAValue, int]:
    """The operand in 32 bits, those above its declared type 0, and how many the type has.

    Raises:
        UnsupportedOpError: it has 64 bits.
    """
    bits = int(str(op.operands[0].type.element_type).lstrip("ui"))
    if bits > 32:
        raise importer.reject(op, "the chip holds 32 bits of it")
    (value,) = importer.operands(op)
    value = _cast(importer, value, tensor(shape(value), si32))
    return (value if bits == 32 else _mask(importer, value, 2**bits - 1)), bits


def _count(importer: Importer, value: SSAValue) -> SSAValue:
    """How many bits are set: sums of neighbours in fields of 2, 4, 8, 16 and 32 bits."""
    value = _binary(importer, "subtract", value, _mask(importer, _right(importer, value, 1), 0x55555555))
    high = _mask(importer, _right(importer, value, 2), 0x33333333)
    value = _binary(importer, "add", _mask(importer, value, 0x33333333), high)
    value = _mask(importer, _binary(importer, "add", value, _right(importer, value, 4)), 0x0F0F0F0F)
    for reach in (8, 16):
        value = _binary(importer, "add", value, _right(importer, value, reach))
    return _mask(importer, value, 0x3F)


@converts("stablehlo.reduce_precision")
def reduce_precision(importer: Importer, op: Any) -> SSAValue:
    """Rounded to fewer bits of mantissa, ties to even, and what a smaller exponent does not reach to infinity or 0."""
    declared = ir.FloatType(op.operands[0].type.element_type)
    exponent, mantissa = (int(op.attributes[name].value) for name in ("exponent_bits", "mantissa_bits"))
    whole_exponent, whole_mantissa = _FORMATS.get(str(declared), (0, 0))
    (operand,) = importer.operands(op)
    result = importer.result_type(op)
    if not whole_mantissa or exponent < 2:
        raise importer.reject(op, "the chip has no such rounding")
    value = operand
    if mantissa < whole_mantissa:
        value = _to_mantissa(importer, _cast(importer, operand, tensor(shape(operand), f32)), mantissa)
    if exponent < whole_exponent:
        value = _to_exponent(importer, value, exponent)
    return _cast(importer, value, result)


_FORMATS = {"bf16": (8, 7), "f16": (5, 10), "f32": (8, 23), "f64": (8, 23)}
"""Bits of exponent and mantissa of what the chip can hold; of f64, those of float32."""


def _to_mantissa(importer: Importer, value: SSAValue, mantissa: int) -> SSAValue:
    """Half of the last kept bit's worth is added, less one where that bit is 0, and what is below it dropped.

    NaN stays; without a mantissa it is infinity, as XLA has it.
    """
    type_ = tensor_type(value)
    if mantissa == 7:
        return _cast(importer, _cast(importer, value, tensor(shape(value), bf16)), type_)
    dropped = 23 - mantissa
    bits = importer.emit(ttir.UNARY_OPS["bitcast_convert"], [value], tensor(shape(value), si32))
    odd = _mask(importer, _right(importer, bits, dropped), 1)
    half = full(importer, 2 ** (dropped - 1) - 1, tensor_type(bits))
    rounded = _binary(importer, "add", bits, _binary(importer, "add", odd, half))
    rounded = _mask(importer, rounded, -(2**dropped))
    back = importer.emit(ttir.UNARY_OPS["bitcast_convert"], [rounded], type_)
    nan = importer.emit(ttir.BINARY_OPS["ne"], [value, value], tensor(shape(value), bf16))
    return choose(importer, nan, value if mantissa else full(importer, float("inf"), type_), back)


def _to_exponent(importer: Importer, value: SSAValue, exponent: int) -> SSAValue:
    """Values keep their sign where they become infinity or 0; there are no subnormal ones."""
    type_, truth = tensor_type(value), tensor(shape(value), bf16)
    bias = 2 ** (exponent - 1) - 1
    magnitude = importer.emit(ttir.UNARY_OPS["abs"], [value], type_)
    for comparison, bound, factor in (("ge", 2.0 ** (bias + 1), float("inf")), ("lt", 2.0 ** (1 - bias), 0.0)):
        beyond = importer.emit(ttir.BINARY_OPS[comparison], [magnitude, full(importer, bound, type_)], truth)
        value = choose(importer, beyond, _binary(importer, "multiply", value, full(importer, factor, type_)), value)
    return value


def _binary(importer: Importer, name: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    return importer.emit(ttir.BINARY_OPS[name], [lhs, rhs], tensor_type(lhs))


def _mask(importer: Importer, value: SSAValue, mask: int) -> SSAValue:
    return _binary(importer, "bitwise_and", value, full(importer, mask, tensor_type(value)))


def _right(importer: Importer, value: SSAValue, by: int) -> SSAValue:
    return _binary(importer, "logical_right_shift", value, full(importer, by, tensor_type(value)))


def _cast(importer: Importer, value: SSAValue, type_: Any) -> SSAValue:
    return value if tensor_type(value) == type_ else importer.emit(TypecastOp, [value], type_)
