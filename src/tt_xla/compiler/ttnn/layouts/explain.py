"""Why each op has the layout it has: what was chosen, what came next, and what ruled other layouts out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.compiler.locations import describe
from tt_xla.compiler.ttnn.layouts.forms import Form
from tt_xla.compiler.ttnn.layouts.search import Infeasible, Search, State, Step
from tt_xla.ir.layout import MemoryLayout, TensorLayout

HORIZON = 12
"""Ops that follow one before two of its forms are compared, so that a layout is judged by what it saves later."""


@dataclass(frozen=True)
class Choice:
    """One op's layout and what else there was. Times are predicted microseconds."""

    op: str
    location: str
    shape: tuple[int, ...]
    chosen: str
    time_us: float
    moves: tuple[str, ...]
    moves_us: float
    runner_up: str
    """The next best layout; empty when there is no other."""
    costs_us: float
    """How much longer the op and the ones after it take with the runner-up."""
    why: str
    ruled_out: tuple[str, ...]
    """Layouts that cannot be had here, with the reason."""


def explained(search: Search, steps: Sequence[Step], locations: Sequence[Any]) -> list[Choice]:
    """A choice for each op of the line that ``steps`` lay out."""
    found: list[Choice] = []
    state = State(0.0, {}, ())
    for index, (step, location) in enumerate(zip(steps, locations, strict=True)):
        node = search.nodes[index]
        site = search.sites[node.kind]
        after, others, ruled_out = _follow(search, state, index, step)
        runner, extra = _runner_up(search, after, others, index, steps)
        found.append(
            Choice(
                op=site.instruction.op,
                location=describe(location),
                shape=site.result.shape if site.result else (),
                chosen=name(step.result),
                time_us=step.time_us,
                moves=_moves(step),
                moves_us=step.moves_us,
                runner_up=_step_name(runner.step) if runner is not None and runner.step else "",
                costs_us=extra,
                why=_reason(after, runner, extra, site.fixed, ruled_out),
                ruled_out=tuple(ruled_out),
            )
        )
        state = after
    return found


def _follow(search: Search, state: State, index: int, step: Step) -> tuple[State, list[State], list[str]]:
    """The state after the chosen step, the ones after other forms, and what cannot follow."""
    chosen: State | None = None
    others: list[State] = []
    ruled_out: list[str] = []
    for number, form in enumerate(search.forms[search.nodes[index].kind]):
        found = search.extend(state, index, form, number)
        if isinstance(found, Infeasible):
            ruled_out.append(f"{_form_name(form)}: {found.reason}")
        elif form is step.form and found.step == step:
            chosen = found
        else:
            others.append(found)
    if chosen is None:
        chosen = search.forced(state, index)
    return chosen, others, ruled_out


def _runner_up(
    search: Search, chosen: State, others: list[State], index: int, steps: Sequence[Step]
) -> tuple[State | None, float]:
    """The other form with the least time some ops later, and how much longer it takes than the chosen one."""
    if not others:
        return None, 0.0
    stop = min(index + 1 + HORIZON, len(steps))
    rest = search.ahead(chosen, index + 1, stop)
    ends = [(search.ahead(other, index + 1, stop), other) for other in others]
    least, runner = min(ends, key=lambda end: end[0])
    return runner, least - rest


def _reason(after: State, runner: State | None, extra: float, fixed: bool, ruled_out: list[str]) -> str:
    if runner is None or after.step is None or runner.step is None:
        if fixed:
            return "must be in DRAM: it is returned, or kept between runs"
        return "the others have no room" if ruled_out else "TT-NN runs it in no other form"
    here = runner.step.time_us + runner.step.moves_us - after.step.time_us - after.step.moves_us
    later = extra - here
    if extra < 0.005:
        return "as fast"
    if here >= later:
        return f"saves {here:.2f} us here" + (f" and {later:.2f} us later" if later > 0.005 else "")
    return f"saves {later:.2f} us later" + (f", costs {-here:.2f} us here" if here < -0.005 else "")


def _moves(step: Step) -> tuple[str, ...]:
    return tuple(f"{move.reason} to {name(move.layout)}" for move in step.moves)


def _step_name(step: Step) -> str:
    return ", ".join((name(step.result), *_moves(step)))


def _form_name(form: Form) -> str:
    return name(form.result) if form.result is not None else "as its operand"


def name(layout: TensorLayout | None) -> str:
    """A layout in words: ``L1 block sharded 7x8``."""
    if layout is None:
        return "none"
    if not layout.on_device:
        return "host"
    memory = layout.buffer.value.upper()
    if layout.memory in (None, MemoryLayout.INTERLEAVED):
        return memory if memory == "DRAM" else f"{memory} interleaved"
    return f"{memory} {str(layout.memory).replace('_', ' ')} {layout.grid[0]}x{layout.grid[1]}"
