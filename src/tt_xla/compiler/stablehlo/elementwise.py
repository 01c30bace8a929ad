"""Converters of elementwise StableHLO ops."""

from __future__ import annotations

import math
from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.annotations import INDEXES
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.structure import scalar_constant
from tt_xla.compiler.stablehlo.widths import SIGN_BITS
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.properties import si32, ui32
from tt_xla.ir.ttir.structure import ClampScalarOp, ClampTensorOp, TypecastOp, WhereOp

_ONE_TO_ONE = {
    "stablehlo.abs": "abs",
    "stablehlo.add": "add",
    "stablehlo.atan2": "atan2",
    "stablehlo.cbrt": "cbrt",
    "stablehlo.ceil": "ceil",
    "stablehlo.cosine": "cos",
    "stablehlo.divide": "div",
    "stablehlo.exponential": "exp",
    "stablehlo.exponential_minus_one": "expm1",
    "stablehlo.floor": "floor",
    "stablehlo.is_finite": "isfinite",
    "stablehlo.log": "log",
    "stablehlo.log_plus_one": "log1p",
    "stablehlo.logistic": "sigmoid",
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.multiply": "multiply",
    "stablehlo.negate": "neg",
    "stablehlo.power": "pow",
    "stablehlo.remainder": "remainder",
    "stablehlo.round_nearest_even": "round",
    "stablehlo.rsqrt": "rsqrt",
    "stablehlo.sine": "sin",
    "stablehlo.sqrt": "sqrt",
    "stablehlo.subtract": "subtract",
    "stablehlo.tan": "tan",
    "stablehlo.tanh": "tanh",
    "chlo.acos": "acos",
    "chlo.asin": "asin",
    "chlo.asinh": "asinh",
    "chlo.atan": "atan",
    "chlo.erf": "erf",
    "chlo.erfc": "erfc",
}

_BITWISE = {"stablehlo.and": "and", "stablehlo.not": "not", "stablehlo.or": "or", "stablehlo.xor": "xor"}


_ON_BOOLEANS = {"stablehlo.add": "logical_or", "stablehlo.multiply": "logical_and"}


@converts(*_ONE_TO_ONE)
def one_to_one(context: ImportContext, op: Any) -> SSAValue:
    """Converts ops that TTIR has under another name. A sum of booleans is their or, a product their and."""
    name = op.operation.name
    mnemonic = _ON_BOOLEANS.get(name, "") if _is_bool(op.operands[0]) else ""
    kind = ttir.ELEMENTWISE_OPS[mnemonic or _ONE_TO_ONE[name]]
    type_ = context.result_type(op)
    if name == "stablehlo.power" and type_.element_type not in (bf16, f32):
        raise context.reject(op, "the chip raises only floats to a power")
    if type_.element_type is ui32 and name in ("stablehlo.divide", "stablehlo.remainder"):
        quotient, remainder = _unsigned_quotient(context, *context.operands(op))
        return quotient if name == "stablehlo.divide" else remainder
    return context.emit(kind, context.operands(op), type_)


@converts("stablehlo.sign")
def sign(context: ImportContext, op: Any) -> SSAValue:
    """Converts the sign. That of a zero is the zero itself, and the chip's is +0."""
    type_, (value,) = context.result_type(op), context.operands(op)
    sign = context.emit(ttir.UNARY_OPS["sign"], [value], type_)
    if context.module.approximate or type_.element_type not in (bf16, f32):
        return sign
    is_zero = context.emit(ttir.BINARY_OPS["eq"], [value, full(context, 0, type_)], tensor(type_.get_shape(), bf16))
    return choose(context, is_zero, value, sign)


def _unsigned_quotient(context: ImportContext, value: SSAValue, divisor: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Returns quotient and remainder of unsigned 32-bit integers, using TT-NN's division of signed ones.

    Half of the value is not negative as a signed integer. Twice its quotient is the quotient or one less than that. For
    a divisor with its highest bit set the quotient is 0 or 1; it starts as 0, and the same comparison corrects it.
    """
    type_ = tensor_type(value)
    signed, truth = tensor(type_.get_shape(), si32), tensor(type_.get_shape(), bf16)
    binary = ttir.BINARY_OPS
    one = full(context, 1, type_)
    half = context.emit(binary["logical_right_shift"], [value, one], type_)
    halves = [context.emit(TypecastOp, [side], signed) for side in (half, divisor)]
    estimate = context.emit(TypecastOp, [context.emit(binary["div"], halves, signed)], type_)
    estimate = context.emit(binary["logical_left_shift"], [estimate, one], type_)
    large = context.emit(binary["ge"], [divisor, full(context, 1 << 31, type_)], truth)
    estimate = choose(context, large, full(context, 0, type_), estimate)
    remainder = context.emit(
        binary["subtract"], [value, context.emit(binary["multiply"], [estimate, divisor], type_)], type_
    )
    is_too_small = context.emit(binary["ge"], [remainder, divisor], truth)
    quotient = choose(context, is_too_small, context.emit(binary["add"], [estimate, one], type_), estimate)
    return quotient, choose(
        context, is_too_small, context.emit(binary["subtract"], [remainder, divisor], type_), remainder
    )


@converts("stablehlo.shift_left", "stablehlo.shift_right_logical", "stablehlo.shift_right_arithmetic")
def shift(context: ImportContext, op: Any) -> SSAValue:
    """Shifts the bits of the declared type. A shift by at least its width gives 0, or copies of the sign bit."""
    name, element = op.operation.name.removeprefix("stablehlo."), str(op.results[0].type.element_type)
    if element == "i64":
        raise context.reject(op, "the chip shifts 32 bits")
    if name == "shift_right_arithmetic" and element.startswith("u"):
        raise context.reject(op, "the chip treats the highest bit of an unsigned integer as a digit, not as a sign")
    type_ = context.result_type(op)
    value, distance = context.operands(op)
    binary, bits = ttir.BINARY_OPS, int(element.lstrip("ui"))
    sign = SIGN_BITS.get(element)
    logical = name != "shift_right_arithmetic"
    if logical and sign and name != "shift_left":
        value = context.emit(binary["bitwise_and"], [value, full(context, 2 * sign - 1, type_)], type_)
    if logical:
        kind = binary["logical_left_shift" if name == "shift_left" else "logical_right_shift"]
        shifted = context.emit(kind, [value, distance], type_)
        if bits < 32:
            # The chip's own shifts give 0 for distances of 32 and more.
            is_in_width = context.emit(
                binary["lt"], [distance, full(context, bits, type_)], tensor(type_.get_shape(), bf16)
            )
            shifted = choose(context, is_in_width, shifted, full(context, 0, type_))
        return shifted
    return _shift_right_arithmetic(context, value, distance)


def _shift_right_arithmetic(context: ImportContext, value: SSAValue, distance: SSAValue) -> SSAValue:
    """Shifts in copies of the sign bit: for a negative number, complements, shifts logically, and complements again."""
    type_ = tensor_type(value)
    binary, truth = ttir.BINARY_OPS, tensor(shape(value), bf16)
    zero = full(context, 0, type_)
    negative = context.emit(binary["lt"], [value, zero], truth)
    complement = context.emit(ttir.UNARY_OPS["bitwise_not"], [value], type_)
    magnitude = choose(context, negative, complement, value)
    shifted = context.emit(binary["logical_right_shift"], [magnitude, distance], type_)
    complement_again = context.emit(ttir.UNARY_OPS["bitwise_not"], [shifted], type_)
    return choose(context, negative, complement_again, shifted)


@converts("chlo.square")
def square(context: ImportContext, op: Any) -> SSAValue:
    (operand,) = context.operands(op)
    return context.emit(ttir.BINARY_OPS["multiply"], [operand, operand], context.result_type(op))


@converts("chlo.sinh", "chlo.cosh")
def hyperbolic(context: ImportContext, op: Any) -> SSAValue:
    """Computes cosh as (exp(x) + exp(-x)) / 2, and sinh as (expm1(x) - expm1(-x)) / 2, which is accurate near 0."""
    (operand,) = context.operands(op)
    type_ = context.result_type(op)
    binary, unary = ttir.BINARY_OPS, ttir.UNARY_OPS
    function, join = ("exp", "add") if op.operation.name == "chlo.cosh" else ("expm1", "subtract")
    negative = context.emit(unary["neg"], [operand], type_)
    sides = [context.emit(unary[function], [value], type_) for value in (operand, negative)]
    total = context.emit(binary[join], sides, type_)
    return context.emit(binary["multiply"], [total, full(context, 0.5, type_)], type_)


@converts("chlo.atanh", "chlo.acosh")
def inverse_hyperbolic(context: ImportContext, op: Any) -> SSAValue:
    """Computes atanh as (log1p(x) - log1p(-x)) / 2, and acosh as log(x + sqrt(x - 1) * sqrt(x + 1)).

    Of large numbers acosh is log(x) + log(2), as twice such a number may be infinite.
    """
    (operand,) = context.operands(op)
    type_ = context.result_type(op)
    binary, unary = ttir.BINARY_OPS, ttir.UNARY_OPS
    if op.operation.name == "chlo.atanh":
        negative = context.emit(unary["neg"], [operand], type_)
        logs = [context.emit(unary["log1p"], [value], type_) for value in (operand, negative)]
        difference = context.emit(binary["subtract"], logs, type_)
        return context.emit(binary["multiply"], [difference, full(context, 0.5, type_)], type_)
    one = full(context, 1, type_)
    sides = [context.emit(binary[name], [operand, one], type_) for name in ("subtract", "add")]
    roots = [context.emit(unary["sqrt"], [side], type_) for side in sides]
    root = context.emit(binary["multiply"], roots, type_)
    total = context.emit(binary["add"], [operand, root], type_)
    result = context.emit(unary["log"], [total], type_)
    logarithm = context.emit(unary["log"], [operand], type_)
    of_large = context.emit(binary["add"], [logarithm, full(context, math.log(2), type_)], type_)
    is_large = context.emit(binary["gt"], [operand, full(context, _LARGE, type_)], tensor(shape(operand), bf16))
    return choose(context, is_large, of_large, result)


_LARGE = 2.0**64
"""Number beyond which acosh is log(x) + log(2) to the last digit of float32."""


@converts(*_BITWISE)
def bitwise(context: ImportContext, op: Any) -> SSAValue:
    """Uses logical ops for booleans, which TTIR holds as 0 and 1 in bfloat16."""
    prefix = "logical" if _is_bool(op.operands[0]) else "bitwise"
    kind = ttir.ELEMENTWISE_OPS[f"{prefix}_{_BITWISE[op.operation.name]}"]
    return context.emit(kind, context.operands(op), context.result_type(op))


@converts("stablehlo.compare")
def compare(context: ImportContext, op: Any) -> SSAValue:
    direction = stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value.lower()
    operands = context.operands(op)
    if is_total_order(op):
        operands = [_in_total_order(context, value) for value in operands]
    return context.emit(ttir.BINARY_OPS[direction], operands, context.result_type(op))


def is_total_order(op: Any) -> bool:
    """Whether a comparison orders floats by IEEE 754's total order: -NaN, numbers with -0 before 0, NaN."""
    if "compare_type" not in op.attributes:
        return False
    return stablehlo.ComparisonTypeAttr(op.attributes["compare_type"]).value == "TOTALORDER"


def _in_total_order(context: ImportContext, value: SSAValue) -> SSAValue:
    """Returns integers in the total order of floats: their bits, with those below the sign bit flipped if it is set."""
    float32_type, int32_type = tensor(shape(value), f32), tensor(shape(value), si32)
    if tensor_type(value) != float32_type:
        value = context.emit(TypecastOp, [value], float32_type)
    value = context.emit(ttir.UNARY_OPS["bitcast_convert"], [value], int32_type)
    negative = context.emit(ttir.BINARY_OPS["lt"], [value, full(context, 0, int32_type)], tensor(shape(value), bf16))
    flipped = context.emit(ttir.BINARY_OPS["bitwise_xor"], [value, full(context, 0x7FFFFFFF, int32_type)], int32_type)
    return choose(context, negative, flipped, value)


@converts("stablehlo.select")
def select(context: ImportContext, op: Any) -> SSAValue:
    context.result_type(op)
    return choose(context, *context.operands(op))


def choose(context: ImportContext, predicate: SSAValue, chosen: SSAValue, other: SSAValue) -> SSAValue:
    """Emits a selection: ``chosen`` where the predicate holds, else ``other``.

    Args:
        predicate: 1 or 0 in bfloat16, a scalar or of the shape of ``chosen``.
    """
    if shape(predicate) == () and shape(chosen) != ():
        predicate = context.emit(
            ttir.structure.ReshapeOp,
            [predicate],
            tensor((1,) * len(shape(chosen)), tensor_type(predicate).element_type),
            shape=(1,) * len(shape(chosen)),
        )
    return context.emit(WhereOp, [predicate, chosen, other], tensor_type(chosen))


@converts("stablehlo.clamp")
def clamp(context: ImportContext, op: Any) -> SSAValue:
    low, operand, high = context.operands(op)
    if context.module.checks_indices and INDEXES in op.attributes:
        limits = {"min": scalar_constant(low), "max": scalar_constant(high), "indexes": op.attributes[INDEXES].value}
        return context.emit(ClampScalarOp, [operand], context.result_type(op), **limits)
    return context.emit(ClampTensorOp, [operand, low, high], context.result_type(op))


@converts("stablehlo.convert")
def convert(context: ImportContext, op: Any) -> SSAValue:
    """Converts to booleans by a comparison with 0. Types that the chip holds alike need no op."""
    (operand,) = context.operands(op)
    result = context.result_type(op)
    names = tuple(str(value.type.element_type) for value in (op.operands[0], op.results[0]))
    if names == ("ui32", "i64"):
        raise context.reject(op, "the chip has no signed integer type that holds all values of ui32")
    if _is_bool(op.results[0]) and not _is_bool(op.operands[0]):
        zero = full(context, 0, tensor_type(operand))
        return context.emit(ttir.BINARY_OPS["ne"], [operand, zero], result)
    source = tensor_type(operand).element_type
    if source != result.element_type:
        operand = context.emit(TypecastOp, [operand], result)
    sign = SIGN_BITS.get(names[1])
    if sign is None or source not in (bf16, f32):
        return operand
    return context.emit(ClampScalarOp, [operand], result, min=-sign, max=sign - 1)


@converts("stablehlo.round_nearest_afz")
def round_nearest_afz(context: ImportContext, op: Any) -> SSAValue:
    """Rounds half away from zero: floor of the magnitude, plus 1 from a fraction of one half on, with the old sign.

    What is integral stays as it is, also negative zero, whose sign ``sign`` would lose.
    """
    (operand,) = context.operands(op)
    type_ = tensor_type(operand)
    binary = ttir.BINARY_OPS
    magnitude = context.emit(ttir.UNARY_OPS["abs"], [operand], type_)
    floor = context.emit(ttir.UNARY_OPS["floor"], [magnitude], type_)
    fraction = context.emit(binary["subtract"], [magnitude, floor], type_)
    up = context.emit(binary["ge"], [fraction, full(context, 0.5, type_)], type_)
    floor = context.emit(binary["add"], [floor, up], type_)
    sign = context.emit(ttir.UNARY_OPS["sign"], [operand], type_)
    rounded = context.emit(binary["multiply"], [floor, sign], type_)
    is_integral = context.emit(binary["eq"], [fraction, full(context, 0, type_)], type_)
    return choose(context, is_integral, operand, rounded)


def _is_bool(value: Any) -> bool:
    return str(value.type.element_type) == "i1"
