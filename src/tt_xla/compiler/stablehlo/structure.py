"""StableHLO ops that move elements."""

from __future__ import annotations

import math
from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, bf16, f32
from xdsl.ir import OpResult, SSAValue

from tt_xla.compiler.stablehlo.importer import Importer, converts
from tt_xla.ir import shapes
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.creation import ConstantOp
from tt_xla.ir.ttir.structure import (
    BroadcastOp,
    ClampScalarOp,
    ConcatOp,
    EmbeddingOp,
    PadOp,
    PermuteOp,
    ReshapeOp,
    ReverseOp,
    SliceStaticOp,
    TypecastOp,
)


def reshape(importer: Importer, value: SSAValue, new: tuple[int, ...]) -> SSAValue:
    if shape(value) == new:
        return value
    return importer.emit(ReshapeOp, [value], tensor(new, tensor_type(value).element_type), shape=new)


def permute(importer: Importer, value: SSAValue, permutation: tuple[int, ...]) -> SSAValue:
    if permutation == tuple(range(len(permutation))):
        return value
    type_ = tensor(shapes.permute(shape(value), permutation), tensor_type(value).element_type)
    return importer.emit(PermuteOp, [value], type_, permutation=permutation)


def scalar_constant(value: SSAValue) -> float | int | None:
    """The value of a constant whose elements are all the same, also converted or spread; None for any other value."""
    if isinstance(value, OpResult) and isinstance(value.op, ReshapeOp | BroadcastOp):
        return scalar_constant(value.op.input)
    if isinstance(value, OpResult) and isinstance(value.op, TypecastOp):
        found = scalar_constant(value.op.input)
        to_float = tensor_type(value).element_type in (bf16, f32)
        return None if found is None or not math.isfinite(found) else float(found) if to_float else int(found)
    if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp):
        return None
    data = value.op.properties["value"]
    if not isinstance(data, DenseIntOrFPElementsAttr) or not data.is_splat():
        return None
    return data.get_values()[0]  # pyright: ignore[reportReturnType]


@converts("stablehlo.reshape")
def convert_reshape(importer: Importer, op: Any) -> SSAValue:
    return reshape(importer, importer[op.operands[0]], importer.result_type(op).get_shape())


@converts("stablehlo.transpose")
def transpose(importer: Importer, op: Any) -> SSAValue:
    return permute(importer, importer[op.operands[0]], tuple(op.attributes["permutation"]))


@converts("stablehlo.broadcast_in_dim")
def broadcast_in_dim(importer: Importer, op: Any) -> SSAValue:
    """Dimensions put in order, 1 inserted where the operand has none, then repeated."""
    operand = importer[op.operands[0]]
    type_ = importer.result_type(op)
    dims = tuple(op.attributes["broadcast_dimensions"])
    order = tuple(sorted(range(len(dims)), key=lambda position: dims[position]))
    operand = permute(importer, operand, order)
    sizes = dict(zip(sorted(dims), shape(operand), strict=True))
    new = tuple(sizes.get(dim, 1) for dim in range(len(type_.get_shape())))
    operand = reshape(importer, operand, new)
    if new == type_.get_shape():
        return operand
    factors = tuple(size // old for size, old in zip(type_.get_shape(), new, strict=True))
    return importer.emit(BroadcastOp, [operand], type_, broadcast_dimensions=factors)


@converts("stablehlo.concatenate")
def concatenate(importer: Importer, op: Any) -> SSAValue:
    inputs = [value for value in importer.operands(op) if math.prod(shape(value))]
    type_ = importer.result_type(op)
    if len(inputs) == 1:
        return inputs[0]
    made = ConcatOp.make([inputs], [type_], importer.location, dim=int(op.attributes["dimension"].value))
    importer.block.add_op(made)
    return made.results[0]


@converts("stablehlo.slice")
def slice_(importer: Importer, op: Any) -> SSAValue:
    begins, ends = tuple(op.attributes["start_indices"]), tuple(op.attributes["limit_indices"])
    return importer.emit(
        SliceStaticOp,
        importer.operands(op),
        importer.result_type(op),
        begins=begins,
        ends=ends,
        step=tuple(op.attributes["strides"]),
    )


@converts("stablehlo.pad")
def pad(importer: Importer, op: Any) -> SSAValue:
    operand, value = importer.operands(op)
    fill = scalar_constant(value)
    low, high = tuple(op.attributes["edge_padding_low"]), tuple(op.attributes["edge_padding_high"])
    if fill is None:
        raise importer.reject(op, "its padding value is not a constant")
    if any(op.attributes["interior_padding"]):
        raise importer.reject(op, "it pads between elements")
    if min((*low, *high), default=0) < 0:
        operand = _crop(importer, operand, low, high)
        low, high = (tuple(max(0, edge) for edge in edges) for edges in (low, high))
    padding = tuple(edge for pair in zip(low, high, strict=True) for edge in pair)
    return importer.emit(PadOp, [operand], importer.result_type(op), padding=padding, value=float(fill))


def _crop(importer: Importer, operand: SSAValue, low: tuple[int, ...], high: tuple[int, ...]) -> SSAValue:
    """Negative padding as a slice."""
    begins = tuple(max(0, -edge) for edge in low)
    ends = tuple(size - max(0, -edge) for size, edge in zip(shape(operand), high, strict=True))
    step = (1,) * len(begins)
    type_ = tensor(shapes.slice_static(shape(operand), begins, ends, step), tensor_type(operand).element_type)
    return importer.emit(SliceStaticOp, [operand], type_, begins=begins, ends=ends, step=step)


@converts("stablehlo.reverse")
def reverse(importer: Importer, op: Any) -> SSAValue:
    dims = tuple(op.attributes["dimensions"])
    return importer.emit(ReverseOp, importer.operands(op), importer.result_type(op), dimensions=dims)


def _within(importer: Importer, indices: SSAValue, size: int) -> SSAValue:
    """Indices brought into [0, size), as StableHLO has it; nothing to do for constants that lie there."""
    if isinstance(indices, OpResult) and isinstance(indices.op, ConstantOp):
        data = indices.op.properties["value"]
        if isinstance(data, DenseIntOrFPElementsAttr) and all(0 <= index < size for index in data.get_values()):
            return indices
    return importer.emit(ClampScalarOp, [indices], tensor_type(indices), min=0, max=size - 1)


@converts("stablehlo.gather")
def gather(importer: Importer, op: Any) -> SSAValue:
    """Whole slices along one dimension by a tensor of indices: an embedding."""
    operand, indices = importer.operands(op)
    numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    start, collapsed = tuple(numbers.start_index_map), tuple(numbers.collapsed_slice_dims)
    offset = tuple(numbers.offset_dims)
    sizes = tuple(op.attributes["slice_sizes"])
    whole = shape(operand)
    if len(start) != 1 or collapsed != start or tuple(numbers.operand_batching_dims):
        raise importer.reject(op, "it gathers along more than one dimension")
    dim = start[0]
    if any(size != whole[d] for d, size in enumerate(sizes) if d != dim):
        raise importer.reject(op, "it gathers parts of slices")
    vector = numbers.index_vector_dim
    index_shape = shape(indices)
    if vector < len(index_shape):
        index_shape = tuple(size for d, size in enumerate(index_shape) if d != vector)
        indices = reshape(importer, indices, index_shape)
    indices = _within(importer, indices, whole[dim])
    rest = tuple(size for d, size in enumerate(whole) if d != dim)
    table = permute(importer, operand, (dim, *(d for d in range(len(whole)) if d != dim)))
    columns = math.prod(rest)
    table = reshape(importer, table, (whole[dim], columns))
    element = tensor_type(operand).element_type
    rows = importer.emit(EmbeddingOp, [indices, table], tensor((*index_shape, columns), element))
    found = reshape(importer, rows, (*index_shape, *rest))
    rank = len(index_shape) + len(rest)
    batch = [d for d in range(rank) if d not in offset]
    order = [0] * rank
    for position, d in enumerate((*batch, *offset)):
        order[d] = position
    return permute(importer, found, tuple(order))
