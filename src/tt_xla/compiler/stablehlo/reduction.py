"""Converters of StableHLO reductions."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.structure import crop, reshape, scalar_constant
from tt_xla.ir import ttir
from tt_xla.ir.base import TTOp, shape, tensor_type
from tt_xla.ir.ttir.reduction import ArgmaxOp, MaxOp, MinOp, ProdOp, SumOp

_KINDS: dict[str, tuple[type[TTOp], str]] = {
    "stablehlo.add": (SumOp, "add"),
    "stablehlo.maximum": (MaxOp, "maximum"),
    "stablehlo.minimum": (MinOp, "minimum"),
    "stablehlo.multiply": (ProdOp, "multiply"),
    "stablehlo.or": (MaxOp, "maximum"),
    "stablehlo.and": (MinOp, "minimum"),
}
"""TTIR reduction, and the elementwise op that combines its result with an initial value, by reducer. Booleans are 0 and
1."""


def body_op(op: Any, region: int = 0) -> str:
    """Returns the name of the one op in a reducer's body, or an empty string for a body of several ops."""
    names = [inner.operation.name for inner in op.regions[region].blocks[0].operations]
    return names[0] if len(names) == 2 and names[1] == "stablehlo.return" else ""


_RANGES: dict[str, tuple[float, float]] = {
    "i1": (0, 1),
    "i8": (-(2**7), 2**7 - 1),
    "i16": (-(2**15), 2**15 - 1),
    "ui8": (0, 2**8 - 1),
    "ui16": (0, 2**16 - 1),
    "ui32": (0, 2**32 - 1),
}
"""Least and greatest value of integer types other than i32. The chip holds i64 as i32."""


def is_identity(reducer: str, initial: SSAValue, declared: str = "") -> bool:
    """Whether an initial value is the neutral element of a reducer.

    Args:
        reducer: name of the reducer's op.
        initial: the initial value.
        declared: StableHLO element type of the reduced tensor.
    """
    value = scalar_constant(initial)
    if value is None:
        return False
    element = tensor_type(initial).element_type
    least, greatest = (float("-inf"), float("inf")) if element in (bf16, f32) else (-(2**31), 2**31 - 1)
    least, greatest = _RANGES.get(declared, (least, greatest))
    return {
        "stablehlo.add": value == 0,
        "stablehlo.multiply": value == 1,
        "stablehlo.maximum": value == least,
        "stablehlo.minimum": value == greatest,
        "stablehlo.or": value == 0,
        "stablehlo.and": value == 1,
    }[reducer]


@converts("stablehlo.reduce")
def reduce(context: ImportContext, op: Any) -> SSAValue | list[SSAValue]:
    dims = tuple(op.attributes["dimensions"])
    if len(op.results) == 2:
        return _argmax(context, op, dims)
    reducer = body_op(op)
    bitwise = reducer in ("stablehlo.and", "stablehlo.or")
    if len(op.results) != 1 or reducer not in _KINDS or (bitwise and not _is_bool(op)):
        raise context.reject(op, "its body is not one add, multiply, maximum, minimum, or boolean and or or")
    operand, initial = context.operands(op)
    kind, join = _KINDS[reducer]
    result = context.result_type(op)
    if kind is ProdOp and tensor_type(operand).element_type not in (bf16, f32):
        reduced = reshape(context, _product_of_integers(context, operand, dims), result.get_shape())
    else:
        reduced = context.emit(kind, [operand], result, dim_arg=dims, keep_dim=False) if dims else operand
    if not is_identity(reducer, initial):
        reduced = context.emit(ttir.BINARY_OPS[join], [reduced, initial], result)
    return reduced


def _product_of_integers(context: ImportContext, value: SSAValue, dims: tuple[int, ...]) -> SSAValue:
    """Multiplies the elements along dimensions, which stay with size 1, as products of halves.

    TT-NN's ``prod`` computes in floats, which saturate where integers wrap.
    """

    def product(one: SSAValue, other: SSAValue) -> SSAValue:
        return context.emit(ttir.BINARY_OPS["multiply"], [one, other], tensor_type(one))

    for dim in dims:
        odd: list[SSAValue] = []
        while (size := shape(value)[dim]) > 1:
            half = size // 2
            if size % 2:
                odd.append(crop(context, value, dim, size - 1, size))
            halves = (crop(context, value, dim, start, start + half) for start in (0, half))
            value = product(*halves)
        for rest in odd:
            value = product(value, rest)
    return value


def _argmax(context: ImportContext, op: Any, dims: tuple[int, ...]) -> list[SSAValue]:
    """Converts the reduction over (values, iota) that ``jax.lax.argmax``, ``argmin`` and ``max`` with indices make."""
    indices = context[op.operands[1]].owner
    is_range = isinstance(indices, ttir.creation.ArangeOp) and (indices.arange_dimension,) == dims
    greatest = _first_of_extremes(op)
    if not is_range or greatest is None:
        raise context.reject(op, "a reduction of two tensors that is neither argmax nor argmin")
    operand = context[op.operands[0]]
    kind = MaxOp if greatest else MinOp
    values = context.emit(kind, [operand], context.result_type(op), dim_arg=dims, keep_dim=False)
    if not greatest:
        floating = tensor_type(operand).element_type in (bf16, f32)
        # The complement of an integer falls as the integer rises. Unlike the negative, it never overflows.
        operand = context.emit(ttir.UNARY_OPS["neg" if floating else "bitwise_not"], [operand], tensor_type(operand))
    position = context.emit(ArgmaxOp, [operand], context.result_type(op, 1), dim_arg=dims, keep_dim=False)
    return [values, position]


def _first_of_extremes(op: Any) -> bool | None:
    """Returns True if the body keeps the first greatest pair, False for the first least pair, None for other bodies."""
    block = op.regions[0].blocks[0]
    value, index, other_value, other_index = block.arguments
    ops = list(block.operations)
    directions = {
        tuple(inner.operands): stablehlo.ComparisonDirectionAttr(inner.attributes["comparison_direction"]).value
        for inner in ops
        if inner.operation.name == "stablehlo.compare" and "EQ" not in str(inner.attributes["comparison_direction"])
    }
    first = directions.get((index, other_index), "LT") in ("LT", "LE")
    selects = any(inner.operation.name == "stablehlo.select" for inner in ops)
    order = directions.get((value, other_value))
    if not first or not selects or order not in ("GT", "GE", "LT", "LE"):
        return None
    return order in ("GT", "GE")


def _is_bool(op: Any) -> bool:
    return str(op.operands[0].type.element_type) == "i1"
