"""Folding of broadcasts into elementwise ops, which broadcast their operands themselves."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.rewriting import pattern, producer, replace_with, run_patterns, set_operand
from tt_xla.compiler.ttir.match import splat_before
from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp

_BROADCASTING: Any = (shared.ElementwiseBinary, shared.Where, shared.ClampTensor)


@pattern(*_BROADCASTING)
def fold_broadcast(op: Any, rewriter: PatternRewriter) -> None:
    """Reads an operand before its broadcast where the operands together still give the result's shape."""
    for index, operand in enumerate(op.operands):
        broadcast = producer(operand, BroadcastOp)
        if broadcast is not None and _still_broadcasts(op, index, shape(broadcast.input)):
            set_operand(rewriter, op, index, broadcast.input)


@pattern(*_BROADCASTING)
def fold_unsqueeze(op: Any, rewriter: PatternRewriter) -> None:
    """Reads an operand before a reshape that only adds leading dimensions of size 1."""
    for index, operand in enumerate(op.operands):
        unsqueeze = producer(operand, ReshapeOp)
        if unsqueeze is None:
            continue
        before, after = shape(unsqueeze.input), shape(operand)
        added = len(after) - len(before)
        others = [value for position, value in enumerate(op.operands) if position != index and splat(value) is None]
        if not any(len(shape(value)) == len(shape(op.result)) for value in others):
            continue  # A constant, which has any shape, would have to give the rank.
        if before and added > 0 and after == (1,) * added + before and _still_broadcasts(op, index, before):
            set_operand(rewriter, op, index, unsqueeze.input)


@pattern(shared.ElementwiseUnary)
def delay_broadcast(op: Any, rewriter: PatternRewriter) -> None:
    """Rewrites f(broadcast(x)) to broadcast(f(x)), which computes fewer elements."""
    broadcast = producer(op.operands[0], BroadcastOp)
    if broadcast is None or only_user(broadcast.result) is not op:
        return
    type_ = tensor(shape(broadcast.input), tensor_type(op.result).element_type)
    inner = type(op).create(
        operands=[broadcast.input], result_types=[type_], properties=op.properties, location=op.location
    )
    rewriter.insert(inner, InsertPoint.before(op))
    factors = broadcast.broadcast_dimensions
    replace_with(rewriter, op, BroadcastOp, [inner.results[0]], broadcast_dimensions=factors)


@pattern(shared.ElementwiseUnary, shared.ElementwiseBinary)
def sink_unsqueeze(op: Any, rewriter: PatternRewriter) -> None:
    """Rewrites f(unsqueeze(x), y) to unsqueeze(f(x, y)), so that the user may broadcast by itself."""
    after = shape(op.result)
    if after[:1] != (1,) or isinstance(op, shared.Typecast):
        return
    sources: list[SSAValue] = []
    for value in op.operands:
        source = _fewer_dimensions(op, value)
        if source is None:
            return
        sources.append(source)
    if sources == list(op.operands):
        return
    before = shapes.broadcast(*(shape(value) if splat(value) is None else (1,) for value in sources))
    if len(before) >= len(after) or after != (1,) * (len(after) - len(before)) + before:
        return
    for index, value in enumerate(sources):
        number = splat(value)
        if number is not None:
            sources[index] = splat_before(rewriter, op, number, tensor((1,), tensor_type(value).element_type))
    type_ = tensor(before, tensor_type(op.result).element_type)
    inner = type(op).create(operands=sources, result_types=[type_], properties=op.properties, location=op.location)
    rewriter.insert(inner, InsertPoint.before(op))
    replace_with(rewriter, op, ReshapeOp, [inner.results[0]], shape=after)


def _fewer_dimensions(op: Any, value: SSAValue) -> SSAValue | None:
    """Returns an operand in a form with fewer dimensions than the result, or None.

    This is the value before an unsqueeze, a value of lower rank, or a splat constant, which has any rank.
    """
    sizes = shape(value)
    unsqueeze = producer(value, ReshapeOp)
    if unsqueeze is not None and only_user(value) is op and not producer(unsqueeze.input, shared.Reduction):
        before = shape(unsqueeze.input)
        if before and len(before) < len(sizes) and sizes == (1,) * (len(sizes) - len(before)) + before:
            return unsqueeze.input
    return value if splat(value) is not None or 0 < len(sizes) < len(shape(op.result)) else None


@pattern(*_BROADCASTING)
def shrink_constant(op: Any, rewriter: PatternRewriter) -> None:
    """Replaces a splat constant by one of a single element."""
    for index, operand in enumerate(op.operands):
        if len(shape(operand)) == 1 == shape(operand)[0]:
            continue
        value = splat(operand)
        if value is not None and _still_broadcasts(op, index, (1,)):
            single = splat_before(rewriter, op, value, tensor((1,), tensor_type(operand).element_type))
            set_operand(rewriter, op, index, single)


def _still_broadcasts(op: Any, index: int, sizes: shapes.Shape) -> bool:
    """Returns whether the operands give the result's shape when operand ``index`` has shape ``sizes``."""
    others = [shape(value) for position, value in enumerate(op.operands) if position != index]
    return shapes.broadcast(sizes, *others) == shape(op.result)


def run(module: ModuleOp) -> None:
    """Folds broadcasts until nothing is left to fold."""
    run_patterns(module, delay_broadcast, fold_broadcast, fold_unsqueeze, sink_unsqueeze, shrink_constant)
