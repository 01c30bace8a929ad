"""What passes share: matching values, building replacements, running patterns to a fixed point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import InsertPoint

from tt_xla.ir.base import Tensor, TTOp, tensor_type
from tt_xla.ir.ttir.creation import splat

OpKind = TypeVar("OpKind", bound=Operation)


def run_patterns(module: ModuleOp, *patterns: RewritePattern) -> None:
    """Applies patterns until none matches; ops whose results nothing uses disappear."""
    PatternRewriteWalker(GreedyRewritePatternApplier(list(patterns), dce_enabled=True)).rewrite_module(module)


def producer(value: SSAValue, kind: type[OpKind]) -> OpKind | None:
    """The op that made a value, if it is of a kind."""
    return value.op if isinstance(value, OpResult) and isinstance(value.op, kind) else None


def look_through(value: SSAValue, *kinds: type[Operation]) -> SSAValue:
    """The value behind ops of the given kinds, each taken from its first operand."""
    while isinstance(value, OpResult) and isinstance(value.op, kinds):
        value = value.op.operands[0]
    return value


def is_splat(value: SSAValue, expected: float) -> bool:
    return splat(value) == expected


def both_ways(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The two operands of a commutative op in both orders."""
    lhs, rhs = op.operands
    yield lhs, rhs
    yield rhs, lhs


def replace_with(
    rewriter: PatternRewriter,
    op: Operation,
    kind: type[TTOp],
    operands: Sequence[Any],
    result: Tensor | None = None,
    **values: Any,
) -> None:
    """Replaces an op of one result by an op of ``kind`` that keeps its location, and its type unless one is given."""
    made = kind.make(operands, [result or tensor_type(op.results[0])], op.location, **values)
    rewriter.replace(op, made)


def insert_before(
    rewriter: PatternRewriter, op: Operation, kind: type[TTOp], operands: Sequence[Any], result: Tensor, **values: Any
) -> SSAValue:
    """A new op before ``op``, at its location; its result."""
    made = kind.make(operands, [result], op.location, **values)
    rewriter.insert(made, InsertPoint.before(op))
    return made.results[0]


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module, in order; adding some while iterating is safe."""
    for op in list(module.body.block.ops):
        if isinstance(op, FuncOp):
            yield op


def body(function: FuncOp) -> Block:
    return function.body.block
