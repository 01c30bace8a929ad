"""Converters of StableHLO ops that move elements, and the helpers that other converters move elements with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.ir import OpResult, SSAValue

from tt_xla.compiler.analysis.constants import converted, elements
from tt_xla.compiler.stablehlo.context import ImportContext, converts, on_host
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.ir import shapes
from tt_xla.ir.base import Tensor, shape, tensor, tensor_type
from tt_xla.ir.ttir.creation import ConstantOp, splat
from tt_xla.ir.ttir.structure import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    PermuteOp,
    ReshapeOp,
    ReverseOp,
    SliceStaticOp,
    TypecastOp,
)


def reshape(context: ImportContext, value: SSAValue, new: tuple[int, ...]) -> SSAValue:
    if shape(value) == new:
        return value
    return context.emit(ReshapeOp, [value], tensor(new, tensor_type(value).element_type), shape=new)


def permute(context: ImportContext, value: SSAValue, permutation: tuple[int, ...]) -> SSAValue:
    if permutation == tuple(range(len(permutation))):
        return value
    type_ = tensor(shapes.permute(shape(value), permutation), tensor_type(value).element_type)
    return context.emit(PermuteOp, [value], type_, permutation=permutation)


def scalar_constant(value: SSAValue) -> float | int | None:
    """Returns the element of a constant whose elements are all equal, or None.

    Looks through reshapes, broadcasts and conversions of the constant.
    """
    if isinstance(value, OpResult) and isinstance(value.op, ReshapeOp | BroadcastOp):
        return scalar_constant(value.op.input)
    if isinstance(value, OpResult) and isinstance(value.op, TypecastOp):
        number, target = scalar_constant(value.op.input), tensor_type(value).element_type
        return None if number is None else converted(number, tensor_type(value.op.input).element_type, target)
    return splat(value)


def spread_scalar(context: ImportContext, value: SSAValue, type_: Tensor) -> SSAValue:
    """Broadcasts a computed scalar to a tensor type."""
    sizes = type_.get_shape()
    unit_shaped = reshape(context, value, (1,) * len(sizes))
    return context.emit(BroadcastOp, [unit_shaped], type_, broadcast_dimensions=sizes) if sizes else unit_shaped


def take(context: ImportContext, value: SSAValue, dim: int, index: int) -> SSAValue:
    """Slices one position of a dimension, which stays with size 1."""
    return crop(context, value, dim, index, index + 1)


def crop(context: ImportContext, value: SSAValue, dim: int, begin: int, end: int) -> SSAValue:
    """Slices a dimension from ``begin`` to before ``end``."""
    sizes = shape(value)
    if (begin, end) == (0, sizes[dim]):
        return value
    begins = tuple(begin if position == dim else 0 for position in range(len(sizes)))
    ends = tuple(end if position == dim else size for position, size in enumerate(sizes))
    step = (1,) * len(sizes)
    type_ = tensor(shapes.slice_static(sizes, begins, ends, step), tensor_type(value).element_type)
    return context.emit(SliceStaticOp, [value], type_, begins=begins, ends=ends, step=step)


def spread(context: ImportContext, value: SSAValue, dim: int, factor: int, fill: float = 0.0) -> SSAValue:
    """Moves the elements of a dimension ``factor`` positions apart, with ``fill`` between them.

    The fill elements are padded to the end of the row that belongs to a position. In a dimension of their own, of size
    1, they would make tiles in which one row of 32 is used.
    """
    sizes = shape(value)
    if factor == 1 or sizes[dim] < 2:
        return value
    before, count, after = math.prod(sizes[:dim]), sizes[dim], math.prod(sizes[dim + 1 :])
    value = reshape(context, value, (before, count, after))
    type_ = tensor((before, count, after * factor), tensor_type(value).element_type)
    value = context.emit(PadOp, [value], type_, padding=(0, 0, 0, 0, 0, after * (factor - 1)), value=fill)
    value = reshape(context, value, (*sizes[:dim], count * factor, *sizes[dim + 1 :]))
    return crop(context, value, dim, 0, (count - 1) * factor + 1)


def extend(context: ImportContext, value: SSAValue, dim: int, edges: tuple[int, int], fill: SSAValue) -> SSAValue:
    """Pads a dimension with copies of a computed scalar.

    Args:
        edges: number of positions before and after the value.
        fill: scalar of the value's element type.
    """
    sizes = shape(value)
    pieces = [value]
    for index, count in ((0, edges[0]), (2, edges[1])):
        if count:
            piece_shape = (*sizes[:dim], count, *sizes[dim + 1 :])
            pieces.insert(index, spread_scalar(context, fill, tensor(piece_shape, tensor_type(value).element_type)))
    if len(pieces) == 1:
        return value
    piece_shape = (*sizes[:dim], sizes[dim] + sum(edges), *sizes[dim + 1 :])
    concat_op = ConcatOp.make(
        [pieces], [tensor(piece_shape, tensor_type(value).element_type)], context.location, dim=dim
    )
    context.block.add_op(concat_op)
    return concat_op.results[0]


def spread_with(context: ImportContext, value: SSAValue, dim: int, factor: int, fill: SSAValue) -> SSAValue:
    """Does the same as :func:`spread`, with a scalar that is computed or that float32 does not hold."""
    sizes = shape(value)
    if factor == 1 or sizes[dim] < 2:
        return value
    before, count, after = math.prod(sizes[:dim]), sizes[dim], math.prod(sizes[dim + 1 :])
    value = extend(context, reshape(context, value, (before, count, after)), 2, (0, after * (factor - 1)), fill)
    value = reshape(context, value, (*sizes[:dim], count * factor, *sizes[dim + 1 :]))
    return crop(context, value, dim, 0, (count - 1) * factor + 1)


@converts("stablehlo.reshape")
def convert_reshape(context: ImportContext, op: Any) -> SSAValue:
    return reshape(context, context[op.operands[0]], context.result_type(op).get_shape())


@converts("stablehlo.transpose")
def transpose(context: ImportContext, op: Any) -> SSAValue:
    return permute(context, context[op.operands[0]], tuple(op.attributes["permutation"]))


@converts("stablehlo.broadcast_in_dim")
def broadcast_in_dim(context: ImportContext, op: Any) -> SSAValue:
    """Sorts the operand's dimensions, inserts dimensions of size 1 where it has none, and repeats those.

    A constant whose elements are all equal becomes a larger constant at once, as ``fold.move_constant`` would make it.
    """
    operand = context[op.operands[0]]
    type_ = context.result_type(op)
    number = splat(operand)
    if number is not None:
        return context.emit(ConstantOp, [], type_, value=elements(number, type_))
    dims = tuple(op.attributes["broadcast_dimensions"])
    order = tuple(sorted(range(len(dims)), key=lambda position: dims[position]))
    operand = permute(context, operand, order)
    sizes = dict(zip(sorted(dims), shape(operand), strict=True))
    new = tuple(sizes.get(dim, 1) for dim in range(len(type_.get_shape())))
    operand = reshape(context, operand, new)
    if new == type_.get_shape():
        return operand
    factors = tuple(size // old for size, old in zip(type_.get_shape(), new, strict=True))
    return context.emit(BroadcastOp, [operand], type_, broadcast_dimensions=factors)


@converts("stablehlo.concatenate")
def concatenate(context: ImportContext, op: Any) -> SSAValue:
    type_ = context.result_type(op)
    inputs = [value for value in context.operands(op) if math.prod(shape(value))]
    if any(on_host(value) for value in inputs):
        raise context.reject(op, "it works on a tensor that the chip cannot hold")
    if len(inputs) == 1:
        return inputs[0]
    concat_op = ConcatOp.make([inputs], [type_], context.location, dim=int(op.attributes["dimension"].value))
    context.block.add_op(concat_op)
    return concat_op.results[0]


@converts("stablehlo.slice")
def slice_(context: ImportContext, op: Any) -> SSAValue:
    begins, ends = tuple(op.attributes["start_indices"]), tuple(op.attributes["limit_indices"])
    return context.emit(
        SliceStaticOp,
        context.operands(op),
        context.result_type(op),
        begins=begins,
        ends=ends,
        step=tuple(op.attributes["strides"]),
    )


@converts("stablehlo.pad")
def pad(context: ImportContext, op: Any) -> SSAValue:
    """Converts to ``ttir.pad`` if the padding value is known and exact in float32, else concatenates copies of it."""
    operand, value = context.operands(op)
    known = scalar_constant(value)
    is_exact = known is not None and (isinstance(known, float) or float(np.float32(known)) == known)
    low, high = tuple(op.attributes["edge_padding_low"]), tuple(op.attributes["edge_padding_high"])
    for dim, between in enumerate(op.attributes["interior_padding"]):
        if known is not None and is_exact:
            operand = spread(context, operand, dim, between + 1, float(known))
        else:
            operand = spread_with(context, operand, dim, between + 1, value)
    type_ = context.result_type(op)
    if any(max(0, -first) + max(0, -last) >= size for first, last, size in zip(low, high, shape(operand), strict=True)):
        # Negative padding removes all of the operand.
        return spread_scalar(context, value, type_) if known is None else full(context, known, type_)
    for dim, (first, last) in enumerate(zip(low, high, strict=True)):
        operand = crop(context, operand, dim, max(0, -first), shape(operand)[dim] - max(0, -last))
    low, high = (tuple(max(0, edge) for edge in edges) for edges in (low, high))
    padding = tuple(edge for pair in zip(low, high, strict=True) for edge in pair)
    if not any(padding):
        return operand
    if known is not None and is_exact:
        return context.emit(PadOp, [operand], type_, padding=padding, value=float(known))
    for dim, edges in enumerate(zip(low, high, strict=True)):
        operand = extend(context, operand, dim, edges, value)
    return operand


@converts("stablehlo.reverse")
def reverse(context: ImportContext, op: Any) -> SSAValue:
    dims = tuple(op.attributes["dimensions"])
    return context.emit(ReverseOp, context.operands(op), context.result_type(op), dimensions=dims)
