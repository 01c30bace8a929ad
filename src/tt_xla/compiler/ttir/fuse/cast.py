"""Removal of casts to float32 and back around one op: TT-NN computes in float32 and rounds the result once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.rewriting import insert_before, pattern, producer
from tt_xla.compiler.ttir.match import BINARY, UNARY
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttir.creation import ConstantOp, splat
from tt_xla.ir.ttir.normalization import DistributedRmsNormOp
from tt_xla.ir.ttir.reduction import LayerNormOp, MaxOp, MeanOp, MinOp, RmsNormOp, SoftmaxOp, SumOp
from tt_xla.ir.ttir.structure import BroadcastOp, ConcatOp, PermuteOp, ReshapeOp, SliceStaticOp, TypecastOp

_ARITHMETIC = tuple(BINARY[name] for name in ("add", "subtract", "multiply", "div", "maximum", "minimum"))
_MOVES = (ReshapeOp, PermuteOp, BroadcastOp, SliceStaticOp, ConcatOp)
_NORMS = (LayerNormOp, RmsNormOp, DistributedRmsNormOp)
_NARROWS = (*UNARY.values(), *_ARITHMETIC, *_MOVES, *_NORMS, SumOp, MeanOp, MaxOp, MinOp, SoftmaxOp, MatmulOp, LinearOp)
"""Ops that may compute on bf16 operands instead of float32 ones."""


@pattern(TypecastOp, approximate=True)
def narrow(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """Rewrites bf16(f(f32(x), f32(y))) to f(x, y) in bf16; weights of norms keep their type."""
    if tensor_type(op.result).element_type != bf16 or tensor_type(op.input).element_type != f32:
        return
    inner = op.input.op if isinstance(op.input, OpResult) else None
    if not isinstance(inner, _NARROWS) or only_user(op.input) is not op:
        return
    narrowable = inner.operands[:1] if isinstance(inner, _NORMS) else inner.operands
    if not all(_is_narrow(value) for value in narrowable) or all(splat(value) is not None for value in narrowable):
        return
    operands = [*(_narrowed(rewriter, op, value) for value in narrowable), *inner.operands[len(narrowable) :]]
    new = type(inner).create(
        operands=operands, result_types=[op.result.type], properties=inner.properties, location=inner.location
    )
    rewriter.replace(op, new)


def _is_narrow(value: SSAValue) -> bool:
    """Returns whether bf16 represents a value: it is bf16, a cast of bf16, or a constant of few digits."""
    cast, number = producer(value, TypecastOp), splat(value)
    sources = (value, cast.input) if cast is not None else (value,)
    if any(tensor_type(source).element_type == bf16 for source in sources):
        return True
    return number is not None and float(np.float32(number).astype(ml_dtypes.bfloat16)) == number


def _narrowed(rewriter: PatternRewriter, op: Operation, value: SSAValue) -> SSAValue:
    """Returns a value in bf16: as it is, before its cast, or as a new constant."""
    number, cast, type_ = splat(value), producer(value, TypecastOp), tensor(shape(value), bf16)
    if value.type == type_:
        return value
    if cast is not None:
        return cast.input
    assert number is not None
    return insert_before(rewriter, op, ConstantOp, [], type_, value=elements(np.asarray(number), type_))


PATTERNS = (narrow,)
