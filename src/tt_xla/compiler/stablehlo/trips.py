"""How often a ``stablehlo.while`` runs its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxlib.mlir.dialects import stablehlo
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.scalars import evaluate, is_integer_scalar
from tt_xla.compiler.stablehlo.structure import scalar_constant

MOST_SIMULATED = 1024
"""Loops whose counter does not grow by one and the same number are run through, scalars alone, up to so many rounds."""

_FLIPPED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}


class Counter(NamedTuple):
    """The rounds of a loop: one for each number from ``initial`` to before ``limit`` by ``step``.

    ``initial`` and ``limit`` are numbers, or StableHLO values of integers that are known when the loop begins.
    """

    initial: Any
    limit: Any
    step: int

    @property
    def trips(self) -> int | None:
        """How many rounds; None when only the running program knows."""
        if not isinstance(self.initial, int) or not isinstance(self.limit, int):
            return None
        return len(range(self.initial, self.limit, self.step))


def counter_of(op: Any, values: Mapping[Any, SSAValue]) -> Counter | None:
    """The counter of a loop; None when its end depends on what it computes.

    Args:
        values: TTIR values by StableHLO value, of what is known before the loop.
    """
    found = _linear(op, values)
    if found is not None and found.trips is not None:
        return found
    trips = _simulated(op, values)
    return found if trips is None else Counter(0, trips, 1)


def known(value: Any, values: Mapping[Any, SSAValue]) -> int | None:
    """An integer scalar made before the loop as a number."""
    made = values.get(value) if is_integer_scalar(value.type) else None
    found = None if made is None else scalar_constant(made)
    return None if found is None else int(found)


def _linear(op: Any, values: Mapping[Any, SSAValue]) -> Counter | None:
    """A state that grows by a constant each round is compared with something that stays the same."""
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
    return Counter(initial if number is None else number, limit, step)


def _position(value: Any, block: Any) -> int | None:
    """Which argument of a block a value is."""
    for index, argument in enumerate(block.arguments):
        if value == argument:
            return index
    return None


def _step(op: Any, body: Any, counter: int, values: Mapping[Any, SSAValue]) -> int | None:
    result = list(body.operations)[-1].operands[counter]
    made = getattr(result.owner, "operation", None)
    if made is None or made.name not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    lhs, rhs = made.operands
    if made.name == "stablehlo.add" and _position(lhs, body) != counter:
        lhs, rhs = rhs, lhs
    if _position(lhs, body) != counter:
        return None
    step = _fixed(op, rhs, body, values)
    if not isinstance(step, int):
        return None
    return step if made.name == "stablehlo.add" else -step


def _fixed(op: Any, value: Any, block: Any, values: Mapping[Any, SSAValue]) -> Any:
    """An integer that is the same in every round: a number, or the StableHLO value that brings it; None for others."""
    place = _position(value, block)
    if place is not None:
        if not is_invariant(op, place):
            return None
        value = op.operands[place]
    elif value not in values or _defined_in(value, block):
        return evaluate(value, {}, {})
    number = known(value, values)
    return value if number is None else number


def _defined_in(value: Any, block: Any) -> bool:
    owner = getattr(value.owner, "operation", None)
    return owner is not None and owner.block == block


def is_invariant(op: Any, place: int) -> bool:
    """Whether the body returns a state as it is."""
    (body,) = op.regions[1].blocks
    return list(body.operations)[-1].operands[place] == body.arguments[place]


def _simulated(op: Any, values: Mapping[Any, SSAValue]) -> int | None:
    """The number of rounds, found by running the integer scalars of condition and body alone."""
    (condition,), (body,) = (region.blocks for region in op.regions)
    state = [known(value, values) for value in op.operands]
    outcome, results = (list(block.operations)[-1].operands for block in (condition, body))
    for trips in range(MOST_SIMULATED + 1):
        go_on = evaluate(outcome[0], _present(condition.arguments, state), {})
        if go_on is None:
            return None
        if not go_on:
            return trips
        present, memo = _present(body.arguments, state), {}
        state = [evaluate(result, present, memo) for result in results]
    return None


def _present(arguments: Any, state: list[int | None]) -> dict[Any, int]:
    return {argument: value for argument, value in zip(arguments, state, strict=True) if value is not None}
