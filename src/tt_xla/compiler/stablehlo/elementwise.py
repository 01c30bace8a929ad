"""Elementwise StableHLO ops."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.importer import Importer, converts
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.structure import ClampTensorOp, TypecastOp, WhereOp

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
    "stablehlo.rsqrt": "rsqrt",
    "stablehlo.shift_left": "logical_left_shift",
    "stablehlo.shift_right_logical": "logical_right_shift",
    "stablehlo.sign": "sign",
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
def one_to_one(importer: Importer, op: Any) -> SSAValue:
    """The sum of booleans is their or, the product their and."""
    name = op.operation.name
    mnemonic = _ON_BOOLEANS.get(name, "") if _is_bool(op.operands[0]) else ""
    kind = ttir.ELEMENTWISE_OPS[mnemonic or _ONE_TO_ONE[name]]
    return importer.emit(kind, importer.operands(op), importer.result_type(op))


@converts("chlo.square")
def square(importer: Importer, op: Any) -> SSAValue:
    (operand,) = importer.operands(op)
    return importer.emit(ttir.BINARY_OPS["multiply"], [operand, operand], importer.result_type(op))


@converts("chlo.sinh", "chlo.cosh")
def hyperbolic(importer: Importer, op: Any) -> SSAValue:
    """(e ± 1 / e) / 2 for e = exp(x); sinh by way of expm1, which keeps its digits near 0."""
    (operand,) = importer.operands(op)
    type_ = importer.result_type(op)
    binary, unary = ttir.BINARY_OPS, ttir.UNARY_OPS
    if op.operation.name == "chlo.cosh":
        grown = importer.emit(unary["exp"], [operand], type_)
        shrunk = importer.emit(unary["reciprocal"], [grown], type_)
    else:
        grown = importer.emit(unary["expm1"], [operand], type_)
        whole = importer.emit(binary["add"], [grown, full(importer, 1, type_)], type_)
        shrunk = importer.emit(binary["div"], [grown, whole], type_)
    total = importer.emit(binary["add"], [grown, shrunk], type_)
    return importer.emit(binary["multiply"], [total, full(importer, 0.5, type_)], type_)


@converts("chlo.atanh", "chlo.acosh")
def inverse_hyperbolic(importer: Importer, op: Any) -> SSAValue:
    """atanh(x) = (log1p(x) - log1p(-x)) / 2, acosh(x) = log(x + sqrt(x * x - 1))."""
    (operand,) = importer.operands(op)
    type_ = importer.result_type(op)
    binary, unary = ttir.BINARY_OPS, ttir.UNARY_OPS
    if op.operation.name == "chlo.atanh":
        negative = importer.emit(unary["neg"], [operand], type_)
        logs = [importer.emit(unary["log1p"], [value], type_) for value in (operand, negative)]
        difference = importer.emit(binary["subtract"], logs, type_)
        return importer.emit(binary["multiply"], [difference, full(importer, 0.5, type_)], type_)
    square = importer.emit(binary["multiply"], [operand, operand], type_)
    less = importer.emit(binary["subtract"], [square, full(importer, 1, type_)], type_)
    root = importer.emit(unary["sqrt"], [less], type_)
    total = importer.emit(binary["add"], [operand, root], type_)
    return importer.emit(unary["log"], [total], type_)


@converts(*_BITWISE)
def bitwise(importer: Importer, op: Any) -> SSAValue:
    """Booleans are 0 and 1 in bfloat16 here, so they take the logical form."""
    prefix = "logical" if _is_bool(op.operands[0]) else "bitwise"
    kind = ttir.ELEMENTWISE_OPS[f"{prefix}_{_BITWISE[op.operation.name]}"]
    return importer.emit(kind, importer.operands(op), importer.result_type(op))


@converts("stablehlo.compare")
def compare(importer: Importer, op: Any) -> SSAValue:
    direction = stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value.lower()
    return importer.emit(ttir.BINARY_OPS[direction], importer.operands(op), importer.result_type(op))


@converts("stablehlo.select")
def select(importer: Importer, op: Any) -> SSAValue:
    predicate, *branches = importer.operands(op)
    if shape(predicate) == () and shape(branches[0]) != ():
        predicate = importer.emit(
            ttir.structure.ReshapeOp,
            [predicate],
            tensor((1,) * len(shape(branches[0])), tensor_type(predicate).element_type),
            shape=(1,) * len(shape(branches[0])),
        )
    return importer.emit(WhereOp, [predicate, *branches], importer.result_type(op))


@converts("stablehlo.clamp")
def clamp(importer: Importer, op: Any) -> SSAValue:
    low, operand, high = importer.operands(op)
    return importer.emit(ClampTensorOp, [operand, low, high], importer.result_type(op))


@converts("stablehlo.convert")
def convert(importer: Importer, op: Any) -> SSAValue:
    """To boolean is a comparison with 0; a conversion between types that the chip holds alike is nothing."""
    (operand,) = importer.operands(op)
    result = importer.result_type(op)
    if _is_bool(op.results[0]) and not _is_bool(op.operands[0]):
        zero = full(importer, 0, tensor_type(operand))
        return importer.emit(ttir.BINARY_OPS["ne"], [operand, zero], result)
    if tensor_type(operand) == result:
        return operand
    return importer.emit(TypecastOp, [operand], result)


@converts("stablehlo.round_nearest_afz", "stablehlo.round_nearest_even")
def round_nearest(importer: Importer, op: Any) -> SSAValue:
    """Through floor: x + 0.5 rounds down; half-way cases go to the even neighbour, or away from zero."""
    (operand,) = importer.operands(op)
    if op.operation.name == "stablehlo.round_nearest_afz":
        return _round_away(importer, operand)
    return _round_even(importer, operand)


def _round_away(importer: Importer, operand: SSAValue) -> SSAValue:
    type_ = tensor_type(operand)
    magnitude = importer.emit(ttir.UNARY_OPS["abs"], [operand], type_)
    raised = importer.emit(ttir.BINARY_OPS["add"], [magnitude, full(importer, 0.5, type_)], type_)
    floor = importer.emit(ttir.UNARY_OPS["floor"], [raised], type_)
    sign = importer.emit(ttir.UNARY_OPS["sign"], [operand], type_)
    return importer.emit(ttir.BINARY_OPS["multiply"], [floor, sign], type_)


def _round_even(importer: Importer, operand: SSAValue) -> SSAValue:
    type_ = tensor_type(operand)
    binary, unary = ttir.BINARY_OPS, ttir.UNARY_OPS
    floor = importer.emit(unary["floor"], [operand], type_)
    rest = importer.emit(binary["subtract"], [operand, floor], type_)
    half = importer.emit(binary["multiply"], [floor, full(importer, 0.5, type_)], type_)
    even = importer.emit(unary["floor"], [half], type_)
    odd = importer.emit(binary["ne"], [half, even], type_)
    above = importer.emit(binary["gt"], [rest, full(importer, 0.5, type_)], type_)
    tie = importer.emit(binary["eq"], [rest, full(importer, 0.5, type_)], type_)
    tie_up = importer.emit(binary["multiply"], [tie, odd], type_)
    step = importer.emit(binary["maximum"], [above, tie_up], type_)
    return importer.emit(binary["add"], [floor, step], type_)


def _is_bool(value: Any) -> bool:
    return str(value.type.element_type) == "i1"
