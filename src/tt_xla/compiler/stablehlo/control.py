"""Control flow. The chip runs straight lines: loops of a known number of steps are written out, both sides of small
branches are computed, and what else there is goes to the host whole."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.elementwise import choose
from tt_xla.compiler.stablehlo.importer import Importer, converts
from tt_xla.compiler.stablehlo.outline import walk
from tt_xla.compiler.stablehlo.scalars import evaluate, is_integer_scalar
from tt_xla.compiler.stablehlo.structure import scalar_constant
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type

MOST_STEPS = 1024
"""Loops of more steps are not written out."""

MOST_LOOP_OPS = 4096
"""Nor are loops of more ops, all steps together."""

MOST_BRANCH_OPS = 64
"""Branches of more ops are not computed only to be thrown away."""


@converts("stablehlo.while")
def while_(importer: Importer, op: Any) -> Sequence[SSAValue]:
    steps = _steps(importer, op)
    if steps is None:
        raise importer.reject(op, "its number of steps is not known, or too great to write it out")
    (body,) = op.regions[1].blocks
    values = importer.operands(op)
    with _folding(importer):
        for _ in range(steps):
            for argument, value in zip(body.arguments, values, strict=True):
                importer.bind(argument, value)
            values = importer.convert_block(body)
    return values


def _steps(importer: Importer, op: Any) -> int | None:
    """How often the body runs, found by running the scalars of condition and body alone."""
    (condition,), (body,) = (region.blocks for region in op.regions)
    size = len(walk(op.operation))
    state = [_known(value, importer[value]) for value in op.operands]
    outcome, results = (list(block.operations)[-1].operands for block in (condition, body))
    for steps in range(MOST_STEPS + 1):
        if steps * size > MOST_LOOP_OPS:
            return None
        go_on = evaluate(outcome[0], _present(condition.arguments, state), {})
        if go_on is None:
            return None
        if not go_on:
            return steps
        known, memo = _present(body.arguments, state), {}
        state = [evaluate(result, known, memo) for result in results]
    return None


def _known(value: Any, made: SSAValue) -> int | None:
    found = scalar_constant(made) if is_integer_scalar(value.type) else None
    return None if found is None else int(found)


def _present(arguments: Any, state: list[int | None]) -> dict[Any, int]:
    return {argument: value for argument, value in zip(arguments, state, strict=True) if value is not None}


@contextmanager
def _folding(importer: Importer) -> Generator[None]:
    before, importer.folds_scalars = importer.folds_scalars, True
    try:
        yield
    finally:
        importer.folds_scalars = before


@converts("stablehlo.if", "stablehlo.case")
def branch(importer: Importer, op: Any) -> Sequence[SSAValue]:
    """The one branch that is taken when that is known; else all of them, and a choice among their results."""
    blocks = [region.blocks[0] for region in op.regions]
    if op.operation.name == "stablehlo.if":
        blocks.reverse()
    index = importer[op.operands[0]]
    known = _known(op.operands[0], index)
    if known is not None:
        return importer.convert_block(blocks[known if 0 <= known < len(blocks) else -1])
    if sum(len(walk(inner.operation)) for block in blocks for inner in block.operations) > MOST_BRANCH_OPS:
        raise importer.reject(op, f"its branches have more than {MOST_BRANCH_OPS} ops")
    before, importer.host_fallback = importer.host_fallback, False
    try:
        results = [importer.convert_block(block) for block in blocks]
    finally:
        importer.host_fallback = before
    found = results[-1]
    for number, candidate in reversed(list(enumerate(results[:-1]))):
        taken = _equals(importer, index, number)
        found = [choose(importer, taken, one, other) for one, other in zip(candidate, found, strict=True)]
    return found


def _equals(importer: Importer, index: SSAValue, number: int) -> SSAValue:
    type_ = tensor_type(index)
    truth = tensor(shape(index), bf16)
    return importer.emit(ttir.BINARY_OPS["eq"], [index, full(importer, number, type_)], truth)


@converts("stablehlo.optimization_barrier")
def optimization_barrier(importer: Importer, op: Any) -> Sequence[SSAValue]:
    return importer.operands(op)


@converts("stablehlo.tuple", "stablehlo.after_all", "stablehlo.create_token")
def nothing(importer: Importer, op: Any) -> None:
    """What has no value of its own; ``get_tuple_element`` looks at the op that made the tuple."""


@converts("stablehlo.get_tuple_element")
def get_tuple_element(importer: Importer, op: Any) -> SSAValue | None:
    member = _member(importer, op)
    return None if "tuple" in str(member.type) else importer[member]


def _member(importer: Importer, op: Any) -> Any:
    """The StableHLO value that an op takes out of a tuple, which may lie in another one."""
    made = op.operands[0].owner
    if hasattr(made, "operation") and made.operation.name == "stablehlo.get_tuple_element":
        made = _member(importer, made).owner
    if not hasattr(made, "operation") or made.operation.name != "stablehlo.tuple":
        raise importer.reject(op, "its tuple comes from elsewhere")
    return made.operands[int(op.attributes["index"].value)]
