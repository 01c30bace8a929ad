"""Control flow: loops and branches become functions of their own that the program calls. What is small is written out,
as straight lines need no look at the device: loops that then have fewer ops, and branches of a few ops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext, converts, on_host
from tt_xla.compiler.stablehlo.conversion import convert_block
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.elementwise import choose
from tt_xla.compiler.stablehlo.fallback import is_callback, new_token
from tt_xla.compiler.stablehlo.outline import walk
from tt_xla.compiler.stablehlo.scalars import is_integer_scalar
from tt_xla.compiler.stablehlo.subprograms import Captures, subprogram, used_from_outside
from tt_xla.compiler.stablehlo.trips import Counter, counter_of, is_invariant, known
from tt_xla.compiler.stablehlo.types import chip_type, is_empty
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.control import CaseOp, WhileLoopOp
from tt_xla.ir.ttir.host import HostCallbackOp, HostCallOp

OPS_OF_A_PLACE = 6
"""About what it takes to read or write at a place that is computed; at a known place it is one op."""

MOST_BRANCH_OPS = 16
"""Branches of more ops are not computed only to be thrown away."""

MOST_HOST_OPS = 64
"""Functions of more ops go to the device although the host has to run some of them."""

_PLACED = ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice")
_FREE = ("stablehlo.constant", "stablehlo.return", "func.return", "func.call")


@converts("stablehlo.while")
def while_(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    counter = counter_of(op, context.values.by_source)
    trips = None if counter is None else counter.trips
    if trips is not None and _pays_written_out(context, op, trips):
        return _written_out(context, op, trips)
    return _loop(context, op, counter)


def _pays_written_out(context: ImportContext, op: Any, trips: int) -> bool:
    """Whether a loop has no more ops without than with its counter: counters fold away, and places become known."""
    if trips <= 1:
        return True
    kept = alone = 0
    for inner in _all_ops(context, op.regions[1].blocks[0].operations):
        if inner.name in _FREE:
            continue
        if inner.name in _PLACED:
            kept += OPS_OF_A_PLACE
            alone += 1
        elif len(inner.results) == 1 and is_integer_scalar(inner.results[0].type):
            kept += 1
        else:
            kept += 1
            alone += 1
    return trips * alone <= kept


def _all_ops(context: ImportContext, ops: Iterable[Any]) -> list[Any]:
    """Ops with what is in their regions and in the functions that they call."""
    found: list[Any] = []
    for top in ops:
        for inner in walk(top):
            found.append(inner)
            if inner.name == "func.call":
                callee = context.module.functions[inner.attributes["callee"].value]
                found += _all_ops(context, callee.regions[0].blocks[0].operations)
    return found


def _written_out(context: ImportContext, op: Any, trips: int) -> Sequence[SSAValue]:
    (body,) = op.regions[1].blocks
    values = context.operands(op)
    context = context.replace(folds_scalars=True)
    for _ in range(trips):
        for argument, value in zip(body.arguments, values, strict=True):
            context.bind(argument, value)
        values = convert_block(context, body)
    return values


def _loop(context: ImportContext, op: Any, counter: Counter | None) -> Sequence[SSAValue]:
    """A loop op. Its states are those that change and matter; the others are captured, with what comes from outside."""
    (condition,), (body,) = (region.blocks for region in op.regions)
    before = context.operands(op)
    effects = _has_effects(context, op)
    states = _needed(op, counted=counter is not None, whole=effects)
    if not states and not effects:
        return before
    others = [index for index in range(len(before)) if index not in states]
    captures = _captures(context, op, [op.operands[index] for index in others])
    given = [before[index] for index in states] + captures.passed
    bounds: dict[str, Any] = {}
    if counter is not None:
        bounds = {"initial": _bound(context, counter.initial, given), "limit": _bound(context, counter.limit, given)}
        bounds["step"] = (counter.step, None)

    def program(kind: str, block: Any, returned: Sequence[int] | None) -> str:
        captured = {block.arguments[index]: op.operands[index] for index in others}
        taken = [block.arguments[index] for index in states]
        return subprogram(context, f"{context.function}_{kind}", block, taken, captured, given, captures, returned)

    programs = [program("while_body" if counter is None else "counted_loop", body, states)]
    if counter is None:
        programs.append(program("while_condition", condition, None))
    _check_worth(context, op, programs)
    if list(context.module.subprogram(programs[0]).function_type.outputs) != [before[index].type for index in states]:
        raise context.reject(op, "its body makes 64-bit values on the host")
    made = WhileLoopOp.make(
        [given],
        [before[index].type for index in states],
        context.location,
        body_program=programs[0],
        condition_program=programs[1] if counter is None else None,
        output_indices=tuple(range(len(states))),
        state_count=len(states),
        effects=effects or None,
        **bounds,
    )
    context.block.add_op(made)
    after = dict(zip(states, made.results, strict=True))
    return [after.get(index, value) for index, value in enumerate(before)]


def _bound(context: ImportContext, bound: Any, given: list[SSAValue]) -> tuple[int, int | None]:
    """A bound as a number, or as the operand that has it, which joins ``given`` when it is not there."""
    if isinstance(bound, int):
        return bound, None
    value = context[bound]
    if value not in given:
        given.append(value)
    return 0, given.index(value)


def _has_effects(context: ImportContext, op: Any) -> bool:
    """Whether the regions of an op call back."""
    blocks = [block for region in op.regions for block in region.blocks]
    return any(is_callback(inner) for block in blocks for inner in _all_ops(context, block.operations))


def _needed(op: Any, *, counted: bool, whole: bool) -> list[int]:
    """The states that a result of the loop, or its condition, depends on, but for those that never change.

    Args:
        whole: what has no result that is used matters too.
    """
    (condition,), (body,) = (region.blocks for region in op.regions)
    results = list(body.operations)[-1].operands
    waiting = [index for index, result in enumerate(op.results) if whole or len(list(result.uses))]
    if not counted:
        waiting += _reached(list(condition.operations)[-1].operands[0], condition)
    found: set[int] = set()
    while waiting:
        index = waiting.pop()
        if index not in found and not is_invariant(op, index):
            found.add(index)
            waiting += _reached(results[index], body)
    return sorted(found)


def _reached(value: Any, block: Any) -> set[int]:
    """The arguments of a block that a value depends on."""
    places = {argument: index for index, argument in enumerate(block.arguments)}
    found: set[int] = set()
    waiting, seen = [value], set[Any]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in places:
            found.add(places[value])
        owner = getattr(value.owner, "operation", None)
        if owner is not None:
            waiting += owner.operands
            waiting += used_from_outside(value.owner) if len(owner.regions) else []
    return found


def _captures(context: ImportContext, op: Any, more: Sequence[Any]) -> Captures:
    """What the regions of an op use from outside, and ``more`` values.

    Raises:
        UnsupportedOpError: the chip cannot hold one of them, or an operand or result of the op.
    """
    outside = [*used_from_outside(op), *more]
    if not all(value in context.values.by_source for value in outside):
        raise context.reject(op, "it uses something that is no tensor")
    taken = [context[value] for value in (*outside, *op.operands)]
    if any(on_host(value) for value in taken) or any(is_empty(chip_type(result.type)) for result in op.results):
        raise context.reject(op, "it works on a tensor that the chip cannot hold")
    return Captures(context, outside)


def _check_worth(context: ImportContext, op: Any, names: Sequence[str]) -> None:
    """Functions of little else than work for the host are its own: tensors would come and go in every round.

    Raises:
        UnsupportedOpError: these are such.
    """
    ops = [inner for name in names for inner in context.module.subprogram(name).body.block.ops]
    if any(isinstance(inner, HostCallbackOp) for inner in ops):
        return  # which the host's compiler knows nothing of
    if len(ops) <= MOST_HOST_OPS and any(isinstance(inner, HostCallOp) for inner in ops):
        raise context.reject(op, "there is work for the host in it, and little else")


@converts("stablehlo.if", "stablehlo.case")
def branch(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    """The one branch that is taken when that is known; else all of them and a choice among their results where they are
    small, or a case that runs one."""
    blocks = [region.blocks[0] for region in op.regions]
    if op.operation.name == "stablehlo.if":
        blocks.reverse()
    taken = known(op.operands[0], context.values.by_source)
    if taken is not None:
        return convert_block(context, blocks[taken if 0 <= taken < len(blocks) else -1])
    count = sum(inner.name not in _FREE for block in blocks for inner in _all_ops(context, block.operations))
    effects = _has_effects(context, op)
    return _case(context, op, blocks, effects) if effects or count > MOST_BRANCH_OPS else _chosen(context, op, blocks)


def _case(context: ImportContext, op: Any, blocks: Sequence[Any], effects: bool) -> Sequence[SSAValue]:
    captures = _captures(context, op, ())
    names = [
        subprogram(context, f"{context.function}_case_branch_{number}", block, (), {}, captures.passed, captures)
        for number, block in enumerate(blocks)
    ]
    _check_worth(context, op, names)
    types = [chip_type(result.type) for result in op.results]
    index = context[op.operands[0]]
    made = CaseOp.make(
        [index, captures.passed],
        types,
        context.location,
        branch_programs=tuple(names),
        effects=effects or None,
    )
    context.block.add_op(made)
    return made.results


def _chosen(context: ImportContext, op: Any, blocks: Sequence[Any]) -> Sequence[SSAValue]:
    """All branches, and a choice among their results. With work for the host in one of them, the host has the whole."""
    index = context[op.operands[0]]
    on_chip = context.replace(host_fallback=False)
    results = [convert_block(on_chip, block) for block in blocks]
    found = results[-1]
    for number, candidate in reversed(list(enumerate(results[:-1]))):
        taken = _equals(context, index, number)
        found = [choose(context, taken, one, other) for one, other in zip(candidate, found, strict=True)]
    return found


def _equals(context: ImportContext, index: SSAValue, number: int) -> SSAValue:
    type_ = tensor_type(index)
    truth = tensor(shape(index), bf16)
    return context.emit(ttir.BINARY_OPS["eq"], [index, full(context, number, type_)], truth)


@converts("stablehlo.optimization_barrier")
def optimization_barrier(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    return context.operands(op)


@converts("stablehlo.after_all", "stablehlo.create_token")
def token(context: ImportContext, op: Any) -> SSAValue:
    return new_token(context)


@converts("stablehlo.tuple")
def nothing(context: ImportContext, op: Any) -> None:
    """What has no value of its own; ``get_tuple_element`` looks at the op that made the tuple."""


@converts("stablehlo.get_tuple_element")
def get_tuple_element(context: ImportContext, op: Any) -> SSAValue | None:
    member = _member(context, op)
    return None if "tuple" in str(member.type) else context[member]


def _member(context: ImportContext, op: Any) -> Any:
    """The StableHLO value that an op takes out of a tuple, which may lie in another one."""
    made = op.operands[0].owner
    if hasattr(made, "operation") and made.operation.name == "stablehlo.get_tuple_element":
        made = _member(context, made).owner
    if not hasattr(made, "operation") or made.operation.name != "stablehlo.tuple":
        raise context.reject(op, "its tuple comes from elsewhere")
    return made.operands[int(op.attributes["index"].value)]
