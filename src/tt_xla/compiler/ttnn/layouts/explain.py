"""Reasons for each op's layout: the chosen one, the runner-up, and what ruled other layouts out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.compiler.locations import describe
from tt_xla.compiler.ttnn.layouts.forms import Form
from tt_xla.compiler.ttnn.layouts.search import Infeasible, Search, State, Step
from tt_xla.ir.layout import MemoryLayout, TensorLayout

HORIZON = 12
"""Number of later ops after which two forms of an op are compared, so that later savings count."""


@dataclass(frozen=True)
class Choice:
    """One op's layout and its alternatives. Times are predicted, in us."""

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
    """Additional time of the op and the ones after it with the runner-up."""
    why: str
    ruled_out: tuple[str, ...]
    """Layouts that are impossible here, with the reason."""


def explained(search: Search, steps: Sequence[Step], locations: Sequence[Any]) -> list[Choice]:
    """Returns the choice for each op that ``steps`` lay out."""
    choices: list[Choice] = []
    state = State(0.0, {}, ())
    for index, (step, location) in enumerate(zip(steps, locations, strict=True)):
        node = search.nodes[index]
        site = search.sites[node.kind]
        after, others, ruled_out = _follow(search, state, index, step)
        runner, extra = _runner_up(search, after, others, index, steps)
        choices.append(
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
    return choices


def _follow(search: Search, state: State, index: int, step: Step) -> tuple[State, list[State], list[str]]:
    """Returns the state after the chosen step, the states after other forms, and reasons why forms cannot follow."""
    chosen: State | None = None
    others: list[State] = []
    ruled_out: list[str] = []
    for number, form in enumerate(search.forms[search.nodes[index].kind]):
        after = search.extend(state, index, form, number)
        if isinstance(after, Infeasible):
            ruled_out.append(f"{_form_name(form)}: {after.reason}")
        elif form is step.form and after.step == step:
            chosen = after
        else:
            others.append(after)
    if chosen is None:
        chosen = search.forced(state, index)
    return chosen, others, ruled_out


def _runner_up(
    search: Search, chosen: State, others: list[State], index: int, steps: Sequence[Step]
) -> tuple[State | None, float]:
    """Returns the state of the other form that is fastest some ops later, and its additional time in us."""
    if not others:
        return None, 0.0
    stop = min(index + 1 + HORIZON, len(steps))
    rest = search.ahead(chosen, index + 1, stop)
    ends = [(search.ahead(other, index + 1, stop), other) for other in others]
    least, runner = min(ends, key=lambda end: end[0])
    return runner, least - rest


def _reason(after: State, runner: State | None, extra: float, fixed: bool, ruled_out: list[str]) -> str:
    """Returns a text that says why the chosen form was chosen."""
    if runner is None or after.step is None or runner.step is None:
        if fixed:
            return "must be in DRAM: the result is returned, or kept between runs"
        return "the other forms have no room" if ruled_out else "TT-NN runs the op in no other form"
    here = runner.step.time_us + runner.step.moves_us - after.step.time_us - after.step.moves_us
    later = extra - here
    if extra < 0.005:
        return "as fast"
    if here >= later:
        return f"saves {here:.2f} us here" + (f" and {later:.2f} us later" if later > 0.005 else "")
    return f"saves {later:.2f} us later" + (f", costs {-here:.2f} us here" if here < -0.005 else "")


def _moves(step: Step) -> tuple[str, ...]:
    """Returns the moves of a step in words."""
    return tuple(f"{move.reason} to {name(move.layout)}" for move in step.moves)


def _step_name(step: Step) -> str:
    """Returns a step's layout and moves in words."""
    return ", ".join((name(step.result), *_moves(step)))


def _form_name(form: Form) -> str:
    """Returns a form's layout in words."""
    return name(form.result) if form.result is not None else "as its operand"


def name(layout: TensorLayout | None) -> str:
    """Returns a layout in words, such as ``L1 block sharded 7x8``."""
    if layout is None:
        return "none"
    if not layout.on_device:
        return "host"
    memory = layout.buffer.value.upper()
    if layout.memory in (None, MemoryLayout.INTERLEAVED):
        return memory if memory == "DRAM" else f"{memory} interleaved"
    return f"{memory} {str(layout.memory).replace('_', ' ')} {layout.grid[0]}x{layout.grid[1]}"
