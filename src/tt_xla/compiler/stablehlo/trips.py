"""Trip counts: how often a ``stablehlo.while`` runs its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxlib.mlir.dialects import stablehlo
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.scalars import evaluate, is_integer_scalar, limits
from tt_xla.compiler.stablehlo.structure import scalar_constant

MOST_SIMULATED = 1024
"""Largest trip count that is found by running the integer scalars of a loop, for counters that do not grow linearly."""

_FLIPPED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}


class Counter(NamedTuple):
    """The counter of a loop, which has one iteration for each number from ``initial`` to before ``limit``."""

    initial: Any
    """First number: an int, or the StableHLO value of an integer that is computed before the loop."""
    limit: Any
    """End of the range: an int, or the StableHLO value of an integer that is computed before the loop."""
    step: int
    """Difference between two numbers; negative for a loop that counts down."""

    @property
    def trips(self) -> int | None:
        """Number of iterations, or None if only the running program knows it."""
        if not isinstance(self.initial, int) or not isinstance(self.limit, int):
            return None
        return len(range(self.initial, self.limit, self.step))


def counter_of(op: Any, values: Mapping[Any, SSAValue]) -> Counter | None:
    """Returns the counter of a loop, or None if the loop's end depends on what it computes.

    Args:
        op: a ``stablehlo.while``.
        values: TTIR values by StableHLO value, of values that are converted before the loop.
    """
    linear = _linear_counter(op, values)
    if linear is not None and linear.trips is not None:
        return linear
    trips = _simulated_trips(op, values)
    return linear if trips is None else Counter(0, trips, 1)


def known(value: Any, values: Mapping[Any, SSAValue]) -> int | None:
    """Returns an integer scalar that is constant and converted before the loop, or None."""
    converted = values.get(value) if is_integer_scalar(value.type) else None
    constant = None if converted is None else scalar_constant(converted)
    return None if constant is None else int(constant)


def _linear_counter(op: Any, values: Mapping[Any, SSAValue]) -> Counter | None:
    """Returns the counter of a loop that compares a state, which grows by a constant, with an invariant limit."""
    (condition,), (body,) = (region.blocks for region in op.regions)
    outcome = list(condition.operations)[-1].operands[0]
    compare = getattr(outcome.owner, "operation", None)
    if compare is None or compare.name != "stablehlo.compare":
        return None
    direction = stablehlo.ComparisonDirectionAttr(compare.attributes["comparison_direction"]).value
    lhs, rhs = compare.operands
    if direction not in _FLIPPED or not is_integer_scalar(lhs.type):
        return None
    if _position(lhs, condition) is None:
        lhs, rhs, direction = rhs, lhs, _FLIPPED[direction]
    counter = _position(lhs, condition)
    if counter is None:
        return None
    step = _step(op, body, counter, values)
    limit = _fixed(op, rhs, condition, values)
    if not step or limit is None or (step > 0) != (direction in ("LT", "LE")):
        return None
    initial = op.operands[counter]
    number = known(initial, values)
    if direction in ("LE", "GE"):
        if not isinstance(limit, int):
            return None
        limit += 1 if step > 0 else -1
    found = Counter(initial if number is None else number, limit, step)
    return None if _may_wrap(found, lhs.type) else found


def _may_wrap(counter: Counter, type_: Any) -> bool:
    """Returns whether a counter may leave the range of its type, and go on at the other end, before its limit."""
    lowest, highest = limits(str(type_.element_type))
    if not isinstance(counter.limit, int):
        return abs(counter.step) != 1
    if isinstance(counter.initial, int):
        last = counter.initial + len(range(counter.initial, counter.limit, counter.step)) * counter.step
    else:
        last = counter.limit + counter.step + (-1 if counter.step > 0 else 1)
    return not lowest <= last <= highest


def _position(value: Any, block: Any) -> int | None:
    """Returns the position of a value among the arguments of a block, or None."""
    for index, argument in enumerate(block.arguments):
        if value == argument:
            return index
    return None


def _step(op: Any, body: Any, counter: int, values: Mapping[Any, SSAValue]) -> int | None:
    """Returns the constant that a state grows by in each iteration, or None."""
    result = list(body.operations)[-1].operands[counter]
    adding_op = getattr(result.owner, "operation", None)
    if adding_op is None or adding_op.name not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    lhs, rhs = adding_op.operands
    if adding_op.name == "stablehlo.add" and _position(lhs, body) != counter:
        lhs, rhs = rhs, lhs
    if _position(lhs, body) != counter:
        return None
    step = _fixed(op, rhs, body, values)
    if not isinstance(step, int):
        return None
    return step if adding_op.name == "stablehlo.add" else -step


def _fixed(op: Any, value: Any, block: Any, values: Mapping[Any, SSAValue]) -> Any:
    """Returns an integer that is the same in every iteration: a number, or the StableHLO value from outside that
    has it. Returns None for any other value."""
    position = _position(value, block)
    if position is not None:
        if not is_invariant(op, position):
            return None
        value = op.operands[position]
    elif value not in values or _defined_in(value, block):
        return evaluate(value, {}, {})
    number = known(value, values)
    return value if number is None else number


def _defined_in(value: Any, block: Any) -> bool:
    """Whether an op of a block makes a value."""
    owner = getattr(value.owner, "operation", None)
    return owner is not None and owner.block == block


def is_invariant(op: Any, position: int) -> bool:
    """Whether the body of a loop returns the state at a position unchanged."""
    (body,) = op.regions[1].blocks
    return list(body.operations)[-1].operands[position] == body.arguments[position]


def _simulated_trips(op: Any, values: Mapping[Any, SSAValue]) -> int | None:
    """Returns the trip count that running the integer scalars of condition and body gives, or None if they do not
    determine it or there are more than ``MOST_SIMULATED`` iterations."""
    (condition,), (body,) = (region.blocks for region in op.regions)
    state = [known(value, values) for value in op.operands]
    outcome, results = (list(block.operations)[-1].operands for block in (condition, body))
    for trips in range(MOST_SIMULATED + 1):
        go_on = evaluate(outcome[0], _known_arguments(condition.arguments, state), {})
        if go_on is None:
            return None
        if not go_on:
            return trips
        present, memo = _known_arguments(body.arguments, state), {}
        state = [evaluate(result, present, memo) for result in results]
    return None


def _known_arguments(arguments: Any, state: list[int | None]) -> dict[Any, int]:
    return {argument: value for argument, value in zip(arguments, state, strict=True) if value is not None}
