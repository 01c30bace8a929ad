"""Sorting, and the greatest of each row."""

from __future__ import annotations

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

_SMALL = ("i1", "i8", "ui8", "i16", "ui16")
"""Integers whose values float32 holds, which TT-NN sorts; it has no sort of 32-bit integers."""


_COUNTED = 1 << 24
"""Up to here float32 holds every integer."""


@converts("stablehlo.sort")
def sort(context: ImportContext, op: Any) -> list[SSAValue]:
    """One operand is sorted; positions along the dimension are what sorting gives besides, others are gathered."""
    context.result_type(op)
    found = _key_and_order(op)
    if found is None:
        raise context.reject(op, "its comparator is more than one comparison of one operand's elements")
    number, descending = found
    operands = context.operands(op)
    dim = int(op.attributes["dimension"].value) if "dimension" in op.attributes else len(shape(operands[0])) - 1
    key = _sortable(context, op, number)
    types = [tensor_type(key), tensor(shape(key), si32)]
    made = SortOp.make([key], types, context.location, dim=dim, descending=descending, stable=True)
    context.block.add_op(made)
    values, positions = made.results
    results: list[SSAValue] = []
    for at, operand in enumerate(operands):
        if at == number:
            results.append(_retyped(context, values, tensor_type(operand).element_type))
        elif _counts_along(operand, dim):
            results.append(_retyped(context, positions, tensor_type(operand).element_type))
        else:
            results.append(context.emit(GatherOp, [operand, positions], tensor_type(operand), dim=dim))
    return results


@converts("chlo.top_k")
def top_k(context: ImportContext, op: Any) -> list[SSAValue]:
    """Along the last dimension; of equal elements the first."""
    key = _sortable(context, op, 0)
    wanted = [context.result_type(op, index) for index in range(2)]
    types = [tensor(wanted[0].get_shape(), tensor_type(key).element_type), tensor(wanted[1].get_shape(), si32)]
    count = int(op.attributes["k"].value)
    made = TopKOp.make([key], types, context.location, k=count, dim=-1, largest=True, sorted=True)
    context.block.add_op(made)
    pairs = zip(made.results, wanted, strict=True)
    return [_retyped(context, value, type_.element_type) for value, type_ in pairs]


def _sortable(context: ImportContext, op: Any, number: int) -> SSAValue:
    """An operand in a type that TT-NN sorts without loss."""
    value = context[op.operands[number]]
    if tensor_type(value).element_type in (bf16, f32):
        return value
    if str(op.operands[number].type.element_type) not in _SMALL and not _are_positions(value):
        raise context.reject(op, "TT-NN sorts floats, which do not hold all integers of this type")
    return _retyped(context, value, f32)


def _are_positions(value: SSAValue) -> bool:
    """Whether integers are positions along a dimension that float32 counts, rearranged maybe: experts by top-k, say."""
    made = value.op if isinstance(value, OpResult) else None
    if isinstance(made, ReshapeOp | PermuteOp | SliceStaticOp | TypecastOp):
        return _are_positions(made.operands[0])
    if isinstance(made, TopKOp | SortOp):
        return value is made.results[1] and max(shape(made.operands[0])) <= _COUNTED
    return False


def _retyped(context: ImportContext, value: SSAValue, element: Any) -> SSAValue:
    if tensor_type(value).element_type == element:
        return value
    return context.emit(TypecastOp, [value], tensor(shape(value), element))


def _counts_along(value: SSAValue, dim: int) -> bool:
    """Whether each element is its position along a dimension."""
    made = value.op if isinstance(value, OpResult) else None
    return isinstance(made, ArangeOp) and made.arange_dimension == dim


def _key_and_order(op: Any) -> tuple[int, bool] | None:
    """The operand that a comparator looks at, and whether the greater of its elements comes first."""
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
    """The number of the argument that a value is, zeros and NaN made alike as JAX does; None for any other."""
    if isinstance(value.owner, ir.Block):
        return arguments.index(value) if value in arguments else None
    if value.owner.name != "stablehlo.select":
        return None
    predicate, chosen, other = value.owner.operands
    found, test = _argument(other, arguments), predicate.owner
    if found is None or isinstance(test, ir.Block) or test.name != "stablehlo.compare" or not _is_constant(chosen):
        return None
    about = [side for side in test.operands if not _is_constant(side)]
    return found if all(_argument(side, arguments) == found for side in about) else None


def _is_constant(value: Any) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == "stablehlo.constant"
