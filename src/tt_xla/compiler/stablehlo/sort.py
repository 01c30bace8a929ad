"""Converters of sorting and top-k."""

from __future__ import annotations

import math
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import OpResult, SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.elementwise import is_total_order
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.creation import ArangeOp
from tt_xla.ir.ttir.indexing import SortOp, TopKOp
from tt_xla.ir.ttir.structure import GatherOp, PermuteOp, ReshapeOp, SliceStaticOp, TypecastOp

_EXACT_IN_FLOAT32 = ("i1", "i8", "ui8", "i16", "ui16")
"""Integer types whose values float32 holds exactly. TT-NN sorts floats, and has no sort of 32-bit integers."""


_MOST_EXACT_INTEGER = 1 << 24
"""Integers up to this one are exact in float32."""


@converts("stablehlo.sort")
def sort(context: ImportContext, op: Any) -> list[SSAValue]:
    """Sorts one operand. An operand that counts along the dimension becomes the sort's positions; any other operand is
    gathered by them."""
    context.result_type(op)
    key_and_order = _key_and_order(op)
    if key_and_order is None:
        raise context.reject(op, "its comparator is not one comparison of one operand's elements")
    number, descending = key_and_order
    operands = context.operands(op)
    dim = int(op.attributes["dimension"].value) if "dimension" in op.attributes else len(shape(operands[0])) - 1
    key = _sortable(context, op, number)
    types = [tensor_type(key), tensor(shape(key), si32)]
    sort_op = SortOp.make([key], types, context.location, dim=dim, descending=descending, stable=True)
    context.block.add_op(sort_op)
    values, positions = sort_op.results
    results: list[SSAValue] = []
    for index, operand in enumerate(operands):
        if index == number:
            results.append(_retyped(context, values, tensor_type(operand).element_type))
        elif _counts_along(operand, dim):
            results.append(_retyped(context, positions, tensor_type(operand).element_type))
        else:
            results.append(context.emit(GatherOp, [operand, positions], tensor_type(operand), dim=dim))
    return results


@converts("chlo.top_k")
def top_k(context: ImportContext, op: Any) -> list[SSAValue]:
    """Converts to TT-NN's top-k along the last dimension. Of equal elements the first one comes first."""
    key = _sortable(context, op, 0)
    result_types = [context.result_type(op, index) for index in range(2)]
    types = [
        tensor(result_types[0].get_shape(), tensor_type(key).element_type),
        tensor(result_types[1].get_shape(), si32),
    ]
    count = int(op.attributes["k"].value)
    topk_op = TopKOp.make([key], types, context.location, k=count, dim=-1, largest=True, sorted=True)
    context.block.add_op(topk_op)
    pairs = zip(topk_op.results, result_types, strict=True)
    return [_retyped(context, value, type_.element_type) for value, type_ in pairs]


def _sortable(context: ImportContext, op: Any, number: int) -> SSAValue:
    """Returns an operand in a type that TT-NN sorts without loss.

    Raises:
        UnsupportedOpError: there is no such type.
    """
    value = context[op.operands[number]]
    if tensor_type(value).element_type in (bf16, f32):
        return value
    if str(op.operands[number].type.element_type) not in _EXACT_IN_FLOAT32 and not _are_positions(value):
        raise context.reject(op, "TT-NN sorts floats only, which do not hold all integers of this type")
    return _retyped(context, value, f32)


def _are_positions(value: SSAValue) -> bool:
    """Whether integers are positions along a dimension, such as experts chosen by top-k, that are exact in float32."""
    owner = value.op if isinstance(value, OpResult) else None
    if isinstance(owner, ReshapeOp | PermuteOp | SliceStaticOp | TypecastOp):
        return _are_positions(owner.operands[0])
    if isinstance(owner, TopKOp | SortOp):
        return value is owner.results[1] and max(shape(owner.operands[0])) <= _MOST_EXACT_INTEGER
    return False


def _retyped(context: ImportContext, value: SSAValue, element: Any) -> SSAValue:
    if tensor_type(value).element_type == element:
        return value
    return context.emit(TypecastOp, [value], tensor(shape(value), element))


def _counts_along(value: SSAValue, dim: int) -> bool:
    """Whether each element equals its position along a dimension."""
    owner = value.op if isinstance(value, OpResult) else None
    return isinstance(owner, ArangeOp) and owner.arange_dimension == dim


def _key_and_order(op: Any) -> tuple[int, bool] | None:
    """Returns the number of the operand that a comparator compares, and whether greater elements come first.

    Returns None for a comparator that is not one comparison of elements of one operand.
    """
    block = op.regions[0].blocks[0]
    last = list(block.operations)[-1].operands[0]
    compare = None if isinstance(last.owner, ir.Block) else last.owner
    if compare is None or compare.name != "stablehlo.compare":
        return None
    arguments = list(block.arguments)
    left, right = (_argument(value, arguments) for value in compare.operands)
    if left is None or right is None:
        return None
    direction = stablehlo.ComparisonDirectionAttr(compare.attributes["comparison_direction"]).value
    if left // 2 != right // 2 or left == right or direction not in ("LT", "LE", "GT", "GE"):
        return None
    if is_total_order(compare) and any(value in arguments for value in compare.operands):
        return None  # the signs of zeros and NaN count
    return left // 2, (direction in ("GT", "GE")) == (left < right)


def _argument(value: Any, arguments: list[Any]) -> int | None:
    """Returns the number of the argument that a value is, or None.

    JAX's selections, which make all zeros and all NaN equal before the comparison, are looked through.
    """
    if isinstance(value.owner, ir.Block):
        return arguments.index(value) if value in arguments else None
    if value.owner.name != "stablehlo.select":
        return None
    predicate, chosen, other = value.owner.operands
    number, test, constant = _argument(other, arguments), predicate.owner, _constant(chosen)
    if number is None or isinstance(test, ir.Block) or test.name != "stablehlo.compare" or constant is None:
        return None
    direction = stablehlo.ComparisonDirectionAttr(test.attributes["comparison_direction"]).value
    sides = list(test.operands)
    of_argument = [side for side in sides if _argument(side, arguments) == number]
    if direction == "EQ" and constant == 0:
        return number if len(of_argument) == 1 and any(_constant(side) == 0 for side in sides) else None
    if direction == "NE" and math.isnan(constant):
        return number if len(of_argument) == len(sides) else None
    return None


def _constant(value: Any) -> float | None:
    """Returns the number of a scalar constant, or None."""
    if isinstance(value.owner, ir.Block) or value.owner.name != "stablehlo.constant":
        return None
    return float(value.owner.attributes["value"].get_splat_value().value)
