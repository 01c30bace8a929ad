"""Converters of control flow. Loops and branches become functions that the program calls.

Small ones are inlined, because straight-line code never waits for a value from the device: loops are unrolled if that
gives no more ops, and branches of a few ops are all computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext, converts, on_host
from tt_xla.compiler.stablehlo.conversion import convert_block
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.elementwise import choose
from tt_xla.compiler.stablehlo.fallback import DRAW, is_callback, new_token
from tt_xla.compiler.stablehlo.outline import walk
from tt_xla.compiler.stablehlo.rank_collectives import is_rank_collective
from tt_xla.compiler.stablehlo.scalars import is_integer_scalar
from tt_xla.compiler.stablehlo.subprograms import Captures, subprogram, used_from_outside
from tt_xla.compiler.stablehlo.trips import Counter, counter_of, is_invariant, known
from tt_xla.compiler.stablehlo.types import chip_type, is_empty
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.control import CaseOp, WhileLoopOp
from tt_xla.ir.ttir.host import HostCallbackOp, HostCallOp

OPS_OF_A_COMPUTED_POSITION = 6
"""Rough number of TTIR ops that read or write at a computed position; at a known position it is one op."""

MOST_BRANCH_OPS = 16
"""Largest total number of ops in branches that are all computed, with all results but one discarded."""

MOST_HOST_OPS = 64
"""Most ops of a function with host calls that the host runs as a whole. The device runs longer functions."""

_POSITIONED = ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice")
_FREE = ("stablehlo.constant", "stablehlo.return", "func.return", "func.call")


@converts("stablehlo.while")
def while_(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    counter = counter_of(op, context.values.by_source)
    trip_count = None if counter is None else counter.trips
    if trip_count is not None and _is_worth_unrolling(context, op, trip_count):
        return _unroll(context, op, trip_count)
    return _loop(context, op, counter)


def _is_worth_unrolling(context: ImportContext, op: Any, trip_count: int) -> bool:
    """Whether unrolling a loop gives no more ops: its counter folds away, and computed positions become known."""
    if trip_count <= 1:
        return True
    rolled = unrolled = 0
    for inner in _all_ops(context, op.regions[1].blocks[0].operations):
        if inner.name in _FREE:
            continue
        if inner.name in _POSITIONED:
            rolled += OPS_OF_A_COMPUTED_POSITION
            unrolled += 1
        elif len(inner.results) == 1 and is_integer_scalar(inner.results[0].type):
            rolled += 1
        else:
            rolled += 1
            unrolled += 1
    return trip_count * unrolled <= rolled


def _all_ops(context: ImportContext, ops: Iterable[Any]) -> list[Any]:
    """Returns some ops, the ops in their regions, and the ops of the functions that they call."""
    collected: list[Any] = []
    for top in ops:
        for inner in walk(top):
            collected.append(inner)
            if inner.name == "func.call":
                callee = context.module.functions[inner.attributes["callee"].value]
                collected += _all_ops(context, callee.regions[0].blocks[0].operations)
    return collected


def _unroll(context: ImportContext, op: Any, trip_count: int) -> Sequence[SSAValue]:
    (body,) = op.regions[1].blocks
    values = context.operands(op)
    context = context.replace(folds_scalars=True)
    for _ in range(trip_count):
        for argument, value in zip(body.arguments, values, strict=True):
            context.bind(argument, value)
        values = convert_block(context, body)
    return values


def _loop(context: ImportContext, op: Any, counter: Counter | None) -> Sequence[SSAValue]:
    """Emits a loop op.

    Its states are the operands of the StableHLO loop that change and that a result depends on. All others are captured,
    like the values that the regions use from outside.
    """
    (condition,), (body,) = (region.blocks for region in op.regions)
    before = context.operands(op)
    effects = _has_effects(context, op)
    states = _needed_states(op, counted=counter is not None, all_results=effects)
    if not states and not effects:
        return before
    others = [index for index in range(len(before)) if index not in states]
    captures = _captures(context, op, [op.operands[index] for index in others])
    inputs = [before[index] for index in states] + captures.passed
    bounds: dict[str, Any] = {}
    if counter is not None:
        bounds = {"initial": _bound(context, counter.initial, inputs), "limit": _bound(context, counter.limit, inputs)}
        bounds["step"] = (counter.step, None)

    def convert_region(kind: str, block: Any, returned: Sequence[int] | None) -> str:
        captured = {block.arguments[index]: op.operands[index] for index in others}
        state_arguments = [block.arguments[index] for index in states]
        return subprogram(
            context, f"{context.function}_{kind}", block, state_arguments, captured, inputs, captures, returned
        )

    functions = [convert_region("while_body" if counter is None else "counted_loop", body, states)]
    if counter is None:
        functions.append(convert_region("while_condition", condition, None))
    _check_worth_the_device(context, op, functions)
    if list(context.module.subprogram(functions[0]).function_type.outputs) != [before[index].type for index in states]:
        raise context.reject(op, "its body computes 64-bit values on the host")
    loop_op = WhileLoopOp.make(
        [inputs],
        [before[index].type for index in states],
        context.location,
        body_program=functions[0],
        condition_program=functions[1] if counter is None else None,
        output_indices=tuple(range(len(states))),
        state_count=len(states),
        effects=effects or None,
        **bounds,
    )
    context.block.add_op(loop_op)
    after = dict(zip(states, loop_op.results, strict=True))
    return [after.get(index, value) for index, value in enumerate(before)]


def _bound(context: ImportContext, bound: Any, inputs: list[SSAValue]) -> tuple[int, int | None]:
    """Returns a loop bound as (number, None), or as (0, position of the operand that has it).

    Args:
        bound: an integer or a StableHLO value.
        inputs: operands of the loop op. A value that is not among them is appended.
    """
    if isinstance(bound, int):
        return bound, None
    value = context[bound]
    if value not in inputs:
        inputs.append(value)
    return 0, inputs.index(value)


def _has_effects(context: ImportContext, op: Any) -> bool:
    """Whether the regions of an op call Python functions, exchange tensors with ranks or draw random numbers."""
    blocks = [block for region in op.regions for block in region.blocks]
    return any(
        is_callback(inner) or is_rank_collective(inner) or inner.name == DRAW
        for block in blocks
        for inner in _all_ops(context, block.operations)
    )


def _needed_states(op: Any, *, counted: bool, all_results: bool) -> list[int]:
    """Returns the positions of states that change and that a used result, or the condition, depends on.

    Args:
        op: a ``stablehlo.while``.
        counted: whether the loop has a counter, so that its condition is not computed.
        all_results: whether results matter that nothing uses.
    """
    (condition,), (body,) = (region.blocks for region in op.regions)
    results = list(body.operations)[-1].operands
    pending = [index for index, result in enumerate(op.results) if all_results or len(list(result.uses))]
    if not counted:
        pending += _reached(list(condition.operations)[-1].operands[0], condition)
    needed: set[int] = set()
    while pending:
        index = pending.pop()
        if index not in needed and not is_invariant(op, index):
            needed.add(index)
            pending += _reached(results[index], body)
    return sorted(needed)


def _reached(value: Any, block: Any) -> set[int]:
    """Returns the positions of a block's arguments that a value depends on."""
    positions = {argument: index for index, argument in enumerate(block.arguments)}
    reached: set[int] = set()
    pending, seen = [value], set[Any]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in positions:
            reached.add(positions[value])
        owner = getattr(value.owner, "operation", None)
        if owner is not None:
            pending += owner.operands
            pending += used_from_outside(value.owner) if len(owner.regions) else []
    return reached


def _captures(context: ImportContext, op: Any, more: Sequence[Any]) -> Captures:
    """Returns the captures of an op's regions: the values that they use from outside, and ``more`` values.

    Raises:
        UnsupportedOpError: the chip cannot hold one of these values, or an operand or result of the op.
    """
    outside = [*used_from_outside(op), *more]
    if not all(value in context.values.by_source for value in outside):
        raise context.reject(op, "it uses a value that is not a tensor")
    used_values = [context[value] for value in (*outside, *op.operands)]
    if any(on_host(value) for value in used_values) or any(is_empty(chip_type(result.type)) for result in op.results):
        raise context.reject(op, "it works on a tensor that the chip cannot hold")
    return Captures(context, outside)


def _check_worth_the_device(context: ImportContext, op: Any, names: Sequence[str]) -> None:
    """Checks that functions made from an op's regions do more than call the host.

    Otherwise the host runs the op as a whole, because tensors would cross to the host and back in every iteration.

    Raises:
        UnsupportedOpError: the functions are short and call the host.
    """
    ops = [inner for name in names for inner in context.module.subprogram(name).body.block.ops]
    if any(isinstance(inner, HostCallbackOp) for inner in ops):
        return  # XLA on the host cannot call Python functions of this process
    if len(ops) <= MOST_HOST_OPS and any(isinstance(inner, HostCallOp) for inner in ops):
        raise context.reject(op, "it contains ops for the host and few others")


@converts("stablehlo.if", "stablehlo.case")
def branch(context: ImportContext, op: Any) -> Sequence[SSAValue]:
    """Converts only the branch that is taken if it is known. Otherwise converts all branches and selects their results
    if they are small and have no loop, which may end in the branch that is taken alone, or emits a case op that runs
    one branch."""
    blocks = [region.blocks[0] for region in op.regions]
    if op.operation.name == "stablehlo.if":
        blocks.reverse()
    known_branch = known(op.operands[0], context.values.by_source)
    if known_branch is not None:
        return convert_block(context, blocks[known_branch if 0 <= known_branch < len(blocks) else -1])
    names = [inner.name for block in blocks for inner in _all_ops(context, block.operations)]
    is_small = sum(name not in _FREE for name in names) <= MOST_BRANCH_OPS
    effects = _has_effects(context, op)
    if is_small and not effects and "stablehlo.while" not in names:
        return _selected(context, op, blocks)
    return _case(context, op, blocks, effects)


def _case(context: ImportContext, op: Any, blocks: Sequence[Any], effects: bool) -> Sequence[SSAValue]:
    captures = _captures(context, op, ())
    names = [
        subprogram(context, f"{context.function}_case_branch_{number}", block, (), {}, captures.passed, captures)
        for number, block in enumerate(blocks)
    ]
    _check_worth_the_device(context, op, names)
    types = [chip_type(result.type) for result in op.results]
    index = context[op.operands[0]]
    case_op = CaseOp.make(
        [index, captures.passed],
        types,
        context.location,
        branch_programs=tuple(names),
        effects=effects or None,
    )
    context.block.add_op(case_op)
    return case_op.results


def _selected(context: ImportContext, op: Any, blocks: Sequence[Any]) -> Sequence[SSAValue]:
    """Converts all branches in place and selects their results.

    Raises:
        UnsupportedOpError: the host must run an op of a branch; then it runs all branches.
    """
    index = context[op.operands[0]]
    on_chip = context.replace(host_fallback=False)
    results = [convert_block(on_chip, block) for block in blocks]
    selected = results[-1]
    for number, candidate in reversed(list(enumerate(results[:-1]))):
        is_taken = _equals(context, index, number)
        selected = [choose(context, is_taken, chosen, other) for chosen, other in zip(candidate, selected, strict=True)]
    return selected


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
def make_tuple(context: ImportContext, op: Any) -> None:
    """Returns no values: ``get_tuple_element`` looks at the op that produced the tuple."""


@converts("stablehlo.get_tuple_element")
def get_tuple_element(context: ImportContext, op: Any) -> SSAValue | None:
    member = _member(context, op)
    return None if "tuple" in str(member.type) else context[member]


def _member(context: ImportContext, op: Any) -> Any:
    """Returns the StableHLO value that an op takes out of a tuple. The tuple may be a member of another tuple.

    Raises:
        UnsupportedOpError: no ``stablehlo.tuple`` produces the tuple.
    """
    tuple_op = op.operands[0].owner
    if hasattr(tuple_op, "operation") and tuple_op.operation.name == "stablehlo.get_tuple_element":
        tuple_op = _member(context, tuple_op).owner
    if not hasattr(tuple_op, "operation") or tuple_op.operation.name != "stablehlo.tuple":
        raise context.reject(op, "its tuple is not the result of a stablehlo.tuple")
    return tuple_op.operands[int(op.attributes["index"].value)]
