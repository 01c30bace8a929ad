"""Lowerings of reductions, softmax and normalisation."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir import shapes
from tt_xla.ir.base import TTOp, shape
from tt_xla.ir.layout import DataType
from tt_xla.ir.ttir import reduction as source
from tt_xla.ir.ttnn import reduction as target

_KINDS: dict[type[TTOp], type[TTOp]] = {
    source.SumOp: target.SumOp,
    source.MeanOp: target.MeanOp,
    source.MaxOp: target.MaxOp,
    source.MinOp: target.MinOp,
}


@lowers(*_KINDS)
def reduce(lowering: Lowering, op: source.SumOp) -> SSAValue:
    """Lowers a reduction. Integers are reduced in float32, as tt-mlir does; under exact numerics, as integers."""
    sizes, dtype = lowering.result(op)
    computed = dtype if dtype.is_float or lowering.exact else DataType.F32
    operand = lowering.tiled(op.input, computed)
    kind = _KINDS[type(op)]
    reduced = lowering.emit(kind, [operand], sizes, computed, dim_arg=op.dim_arg, keep_dim=op.keep_dim)
    return lowering.wrapped(reduced, dtype)


@lowers(source.ProdOp)
def prod(lowering: Lowering, op: source.ProdOp) -> SSAValue:
    """Lowers a product over dimensions to one op per dimension, the last first, as TT-NN requires; integers become
    float32."""
    sizes, dtype = lowering.result(op)
    computed = dtype if dtype.is_float or lowering.exact else DataType.F32
    value, rank = lowering.tiled(op.input, computed), len(shape(op.input))
    dims = shapes.normalise_dims(op.dim_arg, rank)
    for dim in reversed(dims):
        reduced = shapes.reduce(shape(value), (dim,), True)
        value = lowering.emit(target.ProdOp, [value], reduced, computed, dim_arg=dim, keep_dim=True)
    return lowering.wrapped(lowering.reshaped(value, sizes), dtype)


@lowers(source.ArgmaxOp)
def argmax(lowering: Lowering, op: source.ArgmaxOp) -> SSAValue:
    """Lowers argmax, on a row-major operand with u32 positions."""
    sizes, dtype = lowering.result(op)
    dims = op.dim_arg
    operand = lowering.row_major(op.input)
    positions = lowering.emit(
        target.ArgmaxOp,
        [operand],
        sizes,
        DataType.U32,
        tiled=False,
        dim=dims[0] if dims else None,
        keep_dim=op.keep_dim,
    )
    return lowering.convert(positions, tiled=True, dtype=dtype)


@lowers(source.CumsumOp)
def cumsum(lowering: Lowering, op: source.CumsumOp) -> SSAValue:
    """Lowers a cumulative sum."""
    return lowering.emit(target.CumsumOp, [lowering.tiled(op.input)], *lowering.result(op), dim=op.dim)


@lowers(source.SoftmaxOp)
def softmax(lowering: Lowering, op: source.SoftmaxOp) -> SSAValue:
    """Lowers softmax."""
    operand = lowering.tiled(op.input)
    return lowering.emit(
        target.SoftmaxOp, [operand], *lowering.result(op), dimension=op.dimension, numericStable=op.numericStable
    )


@lowers(source.LayerNormOp, source.RmsNormOp)
def normalise(lowering: Lowering, op: source.LayerNormOp | source.RmsNormOp) -> SSAValue:
    """Lowers a normalisation. TT-NN normalises over the last dimension, so several are joined into one."""
    sizes, dtype = lowering.result(op)
    kind = target.LayerNormOp if isinstance(op, source.LayerNormOp) else target.RmsNormOp
    count = len(op.normalized_shape)
    flat = (*sizes[: len(sizes) - count], math.prod(sizes[len(sizes) - count :]))
    operands: list[SSAValue | None] = [lowering.reshaped(lowering.tiled(op.input), flat)]
    for operand in (op.weight, op.bias):
        operands.append(None if operand is None else lowering.reshaped(lowering.tiled(operand), flat[-1:]))
    normalised = lowering.emit(kind, operands, flat, dtype, epsilon=op.epsilon)
    return lowering.reshaped(normalised, sizes)
