"""Ops that change nothing disappear, chains of moves become one, and constants are moved at compile time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16, f32
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tt_xla.compiler.rewriting import both_ways, producer, replace_with, run_patterns
from tt_xla.compiler.stablehlo.types import elements
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor_type
from tt_xla.ir.ttir.creation import ConstantOp, splat
from tt_xla.ir.ttir.structure import BroadcastOp, ClampScalarOp, ClampTensorOp, PermuteOp, ReshapeOp, TypecastOp

_MOVES = (ReshapeOp, BroadcastOp, PermuteOp, TypecastOp)


class DropIdentity(RewritePattern):
    """reshape, broadcast, permute and typecast to the same type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: ReshapeOp | BroadcastOp | PermuteOp | TypecastOp, rewriter: PatternRewriter
    ) -> None:
        if op.result.type != op.input.type:
            return
        if isinstance(op, PermuteOp) and op.value("permutation") != tuple(range(len(shape(op.input)))):
            return
        rewriter.replace(op, [], [op.input])


class MoveConstant(RewritePattern):
    """A constant of one value everywhere has that value in every shape and type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: ReshapeOp | BroadcastOp | PermuteOp | TypecastOp, rewriter: PatternRewriter
    ) -> None:
        value = splat(op.input)
        if value is None:
            return
        type_ = tensor_type(op.result)
        if type_.element_type not in (bf16, f32):
            if not -(2**31) <= value < 2**31:
                return
            value = int(value)
        replace_with(rewriter, op, ConstantOp, [], value=elements(np.asarray(value), type_))


class JoinReshapes(RewritePattern):
    """reshape(reshape(x)) is reshape(x)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        inner = producer(op.input, ReshapeOp)
        if inner is not None:
            replace_with(rewriter, op, ReshapeOp, [inner.input], shape=op.value("shape"))


class JoinPermutes(RewritePattern):
    """permute(permute(x)) is one permute."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PermuteOp, rewriter: PatternRewriter) -> None:
        inner = producer(op.input, PermuteOp)
        if inner is None:
            return
        first, second = inner.value("permutation"), op.value("permutation")
        replace_with(rewriter, op, PermuteOp, [inner.input], permutation=tuple(first[dim] for dim in second))


class PermuteAsReshape(RewritePattern):
    """A permutation that only moves dimensions of size 1 leaves the elements in order."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PermuteOp, rewriter: PatternRewriter) -> None:
        sizes = shape(op.input)
        moved = [dim for dim in op.value("permutation") if sizes[dim] != 1]
        if moved == sorted(moved):
            replace_with(rewriter, op, ReshapeOp, [op.input], shape=shape(op.result))


class DropNeutral(RewritePattern):
    """x + 0, x - 0, x * 1, x / 1, max(x, -inf), min(x, inf), where the other operand has the result's type."""

    NEUTRAL: ClassVar = {
        "ttir.add": 0.0,
        "ttir.subtract": 0.0,
        "ttir.multiply": 1.0,
        "ttir.div": 1.0,
        "ttir.maximum": float("-inf"),
        "ttir.minimum": float("inf"),
    }

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        name = getattr(op, "name", "")
        if name not in self.NEUTRAL or not isinstance(op, ttir.shared.ElementwiseBinary):
            return
        one_way = name in ("ttir.subtract", "ttir.div")
        for value, other in [(op.lhs, op.rhs)] if one_way else both_ways(op):
            if splat(other) == self.NEUTRAL[name] and value.type == op.result.type:
                rewriter.replace(op, [], [value])
                return


class ClampByConstants(RewritePattern):
    """clamp_tensor with constant bounds is clamp_scalar."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ClampTensorOp, rewriter: PatternRewriter) -> None:
        low, high = splat(op.min), splat(op.max)
        if low is not None and high is not None and shape(op.input) == shape(op.result):
            replace_with(rewriter, op, ClampScalarOp, [op.input], min=low, max=high)


def run(module: ModuleOp) -> None:
    run_patterns(
        module,
        DropIdentity(),
        MoveConstant(),
        JoinReshapes(),
        JoinPermutes(),
        PermuteAsReshape(),
        DropNeutral(),
        ClampByConstants(),
    )
