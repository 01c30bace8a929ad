"""Reasons for each op's form: what bounds it, the next best form, and what ruled other forms out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.compiler.locations import describe
from tt_xla.compiler.ttnn.layouts.evaluation import placed_op
from tt_xla.compiler.ttnn.layouts.forms import Form
from tt_xla.compiler.ttnn.layouts.search import Infeasible, Search, State, Step
from tt_xla.cost import instruction_cost
from tt_xla.cost.roofline import Roofline, bound, roofline
from tt_xla.ir.layout import MemoryLayout, TensorLayout
from tt_xla.ir.program import FunctionKind, Instruction, Program, TensorSpec
from tt_xla.target import Target

_EVERY_CALL = (FunctionKind.FORWARD, FunctionKind.SUBPROGRAM, FunctionKind.TRACE)

HORIZON = 12
"""Number of later ops after which two forms of an op are compared, so that later savings count."""


@dataclass(frozen=True)
class Choice:
    """One op's form, its limits and its alternatives. Times are predicted, in us."""

    op: str
    location: str
    shape: tuple[int, ...]
    chosen: str
    """The form: layout of the result, and program config of a product."""
    time_us: float
    bound: str
    """The largest part of the time, as :func:`tt_xla.cost.roofline.bound` names it."""
    roofline_us: float
    """The least time in which the chip could run the op (:mod:`tt_xla.cost.roofline`)."""
    roof: str
    """The longest of the roofline's times: ``compute``, ``DRAM`` or ``links``."""
    moves: tuple[str, ...]
    moves_us: float
    runner_up: str
    """The next best form; empty when there is no other."""
    costs_us: float
    """Additional time of the op and the ones after it with the runner-up."""
    why: str
    ruled_out: tuple[str, ...]
    """Forms that are impossible here, with the reason."""

    @property
    def reached(self) -> float:
        """The fraction of the roofline's speed that the op reaches; 0 for an op that takes no time."""
        return self.roofline_us / self.time_us if self.time_us else 0.0


def explained(search: Search, steps: Sequence[Step], locations: Sequence[Any]) -> list[Choice]:
    """Returns the choice for each op that ``steps`` lay out."""
    choices: list[Choice] = []
    state = State(0.0, {}, ())
    for index, (step, location) in enumerate(zip(steps, locations, strict=True)):
        node = search.nodes[index]
        site = search.sites[node.kind]
        after, others, ruled_out = _follow(search, state, index, step)
        runner, extra = _runner_up(search, after, others, index, steps)
        instruction, specs = placed_op(site, step.form, _operand_layouts(search, state, index, step), step.result)
        cost = instruction_cost(instruction, specs, site.target, site.mesh)
        least = roofline(instruction, specs, site.target, site.mesh) if step.time_us else Roofline()
        choices.append(
            Choice(
                op=site.instruction.op,
                location=describe(location),
                shape=site.result.shape if site.result else (),
                chosen=_form(step),
                time_us=step.time_us,
                bound=bound(cost, search.gap_us),
                roofline_us=least.us,
                roof=least.roof,
                moves=_moves(step),
                moves_us=step.moves_us,
                runner_up=_step_name(runner.step) if runner is not None and runner.step else "",
                costs_us=extra,
                why=reason_of(after, runner, extra, site.fixed, ruled_out),
                ruled_out=tuple(ruled_out),
            )
        )
        state = after
    return choices


def unsearched(program: Program, target: Target) -> list[Choice]:
    """Returns the forms and limits of the ops of a program whose layouts were not searched, in order.

    Ops that take no time are left out, and so are those that only the first calls run.
    """
    choices: list[Choice] = []
    for function in program.functions:
        gap_us = target.gap_us_traced if function.kind is FunctionKind.TRACE else target.gap_us_untraced
        for instruction in function.body if function.kind in _EVERY_CALL else ():
            if instruction.cost.total_us:
                choices.append(_unsearched(instruction, function.values, program, target, gap_us))
    return choices


def _unsearched(
    instruction: Instruction, values: Sequence[TensorSpec], program: Program, target: Target, gap_us: float
) -> Choice:
    result = values[instruction.results[0]] if instruction.results else None
    least = roofline(instruction, values, target, program.mesh)
    return Choice(
        op=instruction.op,
        location=instruction.location,
        shape=result.shape if result else (),
        chosen=name(result.layout if result else None),
        time_us=instruction.cost.total_us,
        bound=bound(instruction.cost, gap_us),
        roofline_us=least.us,
        roof=least.roof,
        moves=(),
        moves_us=0.0,
        runner_up="",
        costs_us=0.0,
        why="",
        ruled_out=(),
    )


def _operand_layouts(search: Search, state: State, index: int, step: Step) -> list[TensorLayout]:
    """Returns where an op's operands lie when it runs: after its moves, from where ``state`` has them."""
    moved = {move.value: move.layout for move in step.moves if move.reason != "spill"}
    return [
        moved.get(value) or state.places.get(value) or search.values[value].layout
        for value in search.nodes[index].operands
    ]


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


def reason_of(after: State, runner: State | None, extra: float, fixed: bool, ruled_out: list[str]) -> str:
    """Returns a text that says why the chosen form was chosen."""
    if runner is None or after.step is None or runner.step is None:
        if fixed:
            return "must be in DRAM: the result is returned, or kept between runs"
        return "the other forms have no room" if ruled_out else "TT-NN runs the op in no other form"
    here = runner.step.time_us + runner.step.moves_us - after.step.time_us - after.step.moves_us
    later = extra - here
    if extra < -0.005:  # the search keeps few states, so it misses some forms that pay off later
        return f"the next best would save {-extra:.2f} us over the next {HORIZON} ops, which the search missed"
    if extra < 0.005:
        return "as fast"
    if here >= later:
        return f"saves {here:.2f} us here" + (f" and {later:.2f} us later" if later > 0.005 else "")
    return f"saves {later:.2f} us later" + (f", costs {-here:.2f} us here" if here < -0.005 else "")


def _moves(step: Step) -> tuple[str, ...]:
    """Returns the moves of a step in words."""
    return tuple(f"{move.reason} to {name(move.layout)}" for move in step.moves)


def _step_name(step: Step) -> str:
    """Returns a step's form and moves in words."""
    return ", ".join((_form(step), *_moves(step)))


def _form(step: Step) -> str:
    """Returns the layout of a step's result in words, with the program config of a product."""
    config = step.form.config or {}
    kind = str(config.get("config", "")).replace("_", " ")
    depth = f" in blocks of {config['in0_block_w']}" if config.get("in0_block_w") else ""
    return ", ".join(filter(None, (name(step.result), kind and kind + depth)))


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
