"""State of a Program's traces: which run warms a trace up, which captures it and which replays it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from tt_xla.cost.residency import called
from tt_xla.ir.program import DEALLOCATE, TRACE, Program
from tt_xla.runtime.binding import Step


class TraceCall(NamedTuple):
    """A trace as the entry calls it."""

    operands: tuple[int, ...]
    """Values of the entry that are passed to the trace."""
    function: str
    """Name of the traced function."""


class Phase(Enum):
    """The action of a run on a trace."""

    WARM_UP = auto()
    """Runs the traced function op by op."""
    CAPTURE = auto()
    """Runs the traced function and records it in the trace region."""
    REPLAY = auto()


@dataclass(slots=True)
class _State:
    warm: bool = False
    captured: bool = False
    addresses: int = 0
    """Value of :attr:`Traces._addresses` at the time of capture."""


class Traces:
    """The traces of one Program.

    Args:
        program: the Program.
        calls: the traces as the entry calls them.
    """

    def __init__(self, program: Program, calls: Iterable[TraceCall]) -> None:
        self._bytes = program.memory.trace_bytes
        self._states = {call.function: _State() for call in calls}
        self._addresses = 0
        """Grows when a parameter or const-eval result moves: a captured trace holds its old address."""

    def __bool__(self) -> bool:
        return bool(self._states)

    @property
    def all_captured(self) -> bool:
        """Whether there are traces and later runs replay all of them."""
        return bool(self._states) and all(state.captured for state in self._states.values())

    @property
    def device_bytes(self) -> int:
        """Bytes of the trace region that captured traces take."""
        return self._bytes if any(state.captured for state in [*self._states.values()]) else 0

    def addresses_changed(self) -> None:
        """Makes each captured trace stale: its next run captures it again."""
        self._addresses += 1

    def begin(self, function: str) -> Phase:
        """Returns the mode of the run of a traced function that begins now.

        The first run warms up, the second captures, later ones replay. A stale trace is captured again.
        """
        state = self._states[function]
        if state.addresses != self._addresses:
            state.captured = False
        if state.captured:
            return Phase.REPLAY
        return Phase.CAPTURE if state.warm else Phase.WARM_UP

    def end(self, function: str, phase: Phase) -> None:
        """Records that the run of a traced function succeeded."""
        state = self._states[function]
        state.warm = True
        if phase is Phase.CAPTURE:
            state.captured, state.addresses = True, self._addresses

    def reset(self) -> None:
        """Forgets all captured traces; the next run warms up again."""
        self._states = {name: _State() for name in self._states}


def staged_arguments(program: Program) -> set[int]:
    """Returns the positions of the arguments that traces read out of slots, and that nothing else reads."""
    entry = program.functions[0]
    staged: set[int] = set()
    others = set(entry.results)
    for instruction in entry.body:
        values = instruction.operand_values()
        if instruction.op == TRACE:
            slots = program.staged_operands(instruction)
            staged.update(slots)
            values = values[: len(values) - len(slots)]
        if instruction.op != DEALLOCATE:  # which is left out for arguments when a program is written as source
            others.update(values)
    return {position for position, value in enumerate(entry.arguments) if value in staged - others}


def trace_calls(program: Program, steps: Iterable[Step]) -> list[TraceCall]:
    """Returns the traces among the steps of a Program's entry."""
    functions = {function.name: function for function in program.functions}
    traces = (step for step in steps if step.instruction.op == TRACE)
    return [TraceCall(step.inputs, called(step.instruction, functions)[0].name) for step in traces]
