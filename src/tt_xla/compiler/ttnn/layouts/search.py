"""Search for the form of each op that minimises the predicted time of a straight line of ops.

The objective is the sum of predicted device times of all ops and of the moves between their layouts, plus the gap after
each. The constraint is room: when an op runs, tensors in L1, which TT-NN's allocator places from the top down, must
leave its circular buffers their room at the bottom.

The search is a beam over program order. A state holds the layout and L1 address of each live tensor that is not where
level 1 has it, and the time so far. An op extends each state by each of its forms. Operands that a form cannot read are
moved first. When L1 is too full, tensors move to DRAM, starting with the one whose next use is farthest ahead.

States are ranked by their time plus the known later costs of their layouts: for each later use, the additional time of
that op, with the move it may need, compared with its preferred layout. Of states with equal layouts the best one stays.
Of the others the first few stay, and the first of each layout of the newest result, so that layouts which pay off later
are not lost. Work per op is bounded, so the search is linear in their number.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tt_xla.compiler.ttnn.layouts.blocks import Blocks, freed, placed, renamed, shared
from tt_xla.compiler.ttnn.layouts.evaluation import Evaluation, evaluate
from tt_xla.compiler.ttnn.layouts.forms import Form, Site, forms
from tt_xla.compiler.ttnn.layouts.refusals import refused
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.cost.model import instruction_cost
from tt_xla.cost.sharding import in_dram, interleaved_in_l1, shardings
from tt_xla.ir.layout import BufferType, TensorLayout, round_up
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.target import Target

WIDTH = 3
"""Number of states that stay after each op, besides the fastest of each layout of the newest result."""

TRAFFIC_WEIGHT = 1e-3
"""Weight of data movement that is hidden behind computation; among equals, less movement wins."""


_INTERNAL = -3
"""Number of the tensor that an op allocates before its result and frees at its end."""


class Node(NamedTuple):
    """An op of the line: its kind, whose ops share a site, and its operands and result as value numbers."""

    kind: int
    operands: tuple[int, ...]
    result: int
    """Number of the result; -1 when there is none to place."""
    dying: tuple[int, ...]
    """Values whose last use this op is."""


class Move(NamedTuple):
    """A copy of a value to another layout before an op."""

    value: int
    layout: TensorLayout
    reason: str
    """``operand`` when the op reads the copy, ``spill`` when it makes room, ``weight`` for constants that are laid out
    once."""


class Step(NamedTuple):
    """The choice for one op."""

    form: Form
    moves: tuple[Move, ...]
    result: TensorLayout | None
    time_us: float
    """Time of the op in us, without its moves and the gap."""
    moves_us: float


class State:
    """Layouts and times after the choices for the first ops of the line."""

    __slots__ = ("blocks", "cost", "due", "last", "parent", "places", "step", "victims")

    def __init__(
        self,
        cost: float,
        places: dict[int, TensorLayout],
        blocks: Blocks,
        parent: State | None = None,
        step: Step | None = None,
        last: int = -1,
    ) -> None:
        self.cost = cost
        self.places = places
        """Layouts of values that are not where level 1 has them."""
        self.blocks = blocks
        self.parent = parent
        self.step = step
        self.last = last
        """Number of the form that led here."""
        self.due = 0.0
        """Known later cost of the layouts of live tensors, up to a constant."""
        self.victims: list[int] | None = None
        """Sole owners of L1 blocks, farthest next use first; computed when the next op needs them."""

    @property
    def rank(self) -> float:
        """Time so far plus known later costs, in us."""
        return self.cost + self.due


class Infeasible(NamedTuple):
    """The reason why a form cannot follow a state."""

    reason: str


class Search:
    """The search over one function.

    Args:
        nodes: Ops in program order.
        sites: The site of each kind of op.
        values: Shape and level-1 layout of each value.
        uses: For each value, the indices of the ops that use it, in order.
        target: Chip that the function is compiled for.
        gap_us: Time between two ops, in us.
        capacity: Range [base, end) of a core's L1 that tensors and circular buffers may take.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        sites: Sequence[Site],
        values: Sequence[TensorSpec],
        uses: Sequence[Sequence[int]],
        target: Target,
        gap_us: float,
        capacity: tuple[int, int],
    ) -> None:
        self.nodes = nodes
        self.sites = sites
        self.values = values
        self.uses = uses
        self.target = target
        self.gap_us = gap_us
        self.capacity = self.base, self.end = capacity
        self.forms: list[tuple[Form, ...]] = [forms(site) for site in sites]
        self.overridden: dict[int, tuple[str, str]] = {}
        """Name and source line of an op of each kind whose forms an override chose."""
        self._costs: dict[tuple[Any, ...], Evaluation] = {}
        self._known_costs: dict[tuple[int, ...], Evaluation] = {}
        """The same costs by the identities of the layouts, which hash faster."""
        self._moves: dict[tuple[Any, ...], float] = {}
        self._sizes: dict[tuple[tuple[int, ...], TensorLayout], int] = {}
        self._near: dict[tuple[int, int, int], TensorLayout] = {}
        self._dues: dict[tuple[int, int], list[tuple[int, float]]] = {}
        self._laters: dict[tuple[int, int, int], float] = {}
        self._regrets: dict[tuple[int, int, TensorLayout], float] = {}
        self._leasts: dict[tuple[int, int], float] = {}
        self._bests: dict[tuple[int, int, TensorLayout], float] = {}
        self._views: dict[tuple[TensorLayout, int], TensorLayout] = {}
        self._kept: list[TensorLayout] = []
        """Layouts whose identity is a key; they are kept alive so that no other object gets that identity."""
        self._drams: dict[tuple[int, int], TensorLayout] = {}
        self._alternatives: dict[tuple[tuple[int, ...], TensorLayout], tuple[TensorLayout, TensorLayout]] = {}

    def run(self) -> list[Step]:
        """Returns the chosen step of each op."""
        states = [State(0.0, {}, ())]
        for index in range(len(self.nodes)):
            states = self._advance(states, index)
        best = min(states, key=lambda state: state.cost)
        return _steps(best)

    def baseline(self) -> list[Step]:
        """Returns the steps in which every op has its form of level 1."""
        state = State(0.0, {}, ())
        for index, node in enumerate(self.nodes):
            after = self.extend(state, index, self.forms[node.kind][0], 0)
            state = after if isinstance(after, State) else self.forced(state, index)
        return _steps(state)

    def ahead(self, state: State, start: int, stop: int) -> float:
        """Returns the least time after the ops from ``start`` to before ``stop`` follow ``state``."""
        states = [state]
        for index in range(start, stop):
            states = self._advance(states, index)
        return min(after.rank for after in states)

    def extend(self, state: State, index: int, form: Form, number: int) -> State | Infeasible:
        """Returns the state after op ``index`` runs in ``form``, or why it cannot."""
        node = self.nodes[index]
        places, blocks, moves, moves_us = state.places, state.blocks, (), 0.0
        layouts: list[TensorLayout] = []
        for position, value in enumerate(node.operands):
            layout = places.get(value) or self.values[value].layout
            if position < len(form.accepts) and not form.accepts[position](layout):
                moved = self._move_operand(places, blocks, value, layout, form.moves[position])
                if moved is None:
                    return Infeasible("no room in L1 for an operand in the layout it needs")
                places, blocks, layout, cost = moved
                once = self.sites[node.kind].is_weight(position)
                moves_us += 0.0 if once else cost
                moves = (*moves, Move(value, layout, "weight" if once else "operand"))
            layouts.append(layout)
        result = form.result
        view = result is None and node.result >= 0
        if view:
            result = self._view(layouts[0], node.result)
        evaluation = self._cost(node.kind, form, tuple(layouts), result)
        time_us = evaluation.time_us
        room = self._make_room(state, node, places, blocks, result if not view else None, evaluation, index)
        if isinstance(room, Infeasible):
            return room
        places, blocks, spills, spills_us = room
        dying = [value for value in node.dying if value != node.result]
        blocks = freed(blocks, dying)
        if node.result >= 0 and result is not None:
            if view:
                blocks = shared(room[1], node.operands[0], node.result)
                blocks = freed(blocks, dying)
            if result != self.values[node.result].layout and node.result not in node.dying:
                places = places | {node.result: result}
            if node.result in node.dying:
                blocks = freed(blocks, (node.result,))
        if node.dying:
            places = places.copy()
            for value in node.dying:
                places.pop(value, None)
        total = time_us + (self.gap_us if time_us else 0.0) + moves_us + spills_us
        step = Step(form, (*moves, *spills), result, time_us, moves_us + spills_us)
        after = State(state.cost + total, places, blocks, state, step, number)
        after.due = state.due + self._due_change(node, index, state.places, layouts, spills, result)
        after.due += TRAFFIC_WEIGHT * evaluation.traffic_us
        return after

    # Later costs of a layout

    def _due_change(
        self,
        node: Node,
        index: int,
        before: dict[int, TensorLayout],
        layouts: list[TensorLayout],
        spills: tuple[Move, ...],
        result: TensorLayout | None,
    ) -> float:
        """Returns how op ``index`` changes the known later costs of the layouts of live tensors."""
        change = 0.0
        if node.result >= 0 and result is not None:
            change += self._later(node.result, result, index)
        for value, layout in zip(node.operands, layouts, strict=True):
            old = before.get(value) or self.values[value].layout
            change += self._later(value, layout, index) - self._later(value, old, index - 1)
        for spill in spills:
            change += self._later(spill.value, spill.layout, index) - self._later(
                spill.value, before.get(spill.value) or self.values[spill.value].layout, index
            )
        return change

    def _later(self, value: int, layout: TensorLayout, index: int) -> float:
        """Returns the later cost of having ``value`` in ``layout``.

        This is the additional time of the ops after ``index`` that use the value, compared with their preferred layout.
        """
        total = self._laters.get((value, id(layout), index))
        if total is not None:
            return total
        key = (value, id(layout))
        regrets = self._dues.get(key)
        if regrets is None:
            regrets = self._dues[key] = [(use, self._regret(use, value, layout)) for use in self.uses[value]]
            self._kept.append(layout)
        total = 0.0
        for use, regret in regrets:
            if use > index:
                total += regret
        self._laters[value, id(layout), index] = total
        return total

    def _regret(self, use: int, value: int, layout: TensorLayout) -> float:
        """Returns the additional time of one use of a value in a layout, compared with the preferred layout."""
        node = self.nodes[use]
        form = self.forms[node.kind][0]
        if form.result is None and node.result >= 0:
            return self._later(node.result, self._view(layout, node.result), use)
        position = node.operands.index(value)
        key = (node.kind, position, layout)
        regret = self._regrets.get(key)
        if regret is None:
            best = self._best(node.kind, position, layout)
            regret = self._regrets[key] = best - min(best, self._least(node.kind, position))
        return regret

    def _least(self, kind: int, position: int) -> float:
        """Returns the least time of an op of a kind with one operand in any layout."""
        least = self._leasts.get((kind, position))
        if least is None:
            base = self.sites[kind].inputs[position]
            pages = (in_dram(base.layout, base.shape), interleaved_in_l1(base.layout, base.shape, self.target))
            menu = shardings(base.shape, base.layout.dtype, self.target) if base.layout.tiled else ()
            least = min(self._best(kind, position, layout) for layout in (*pages, *menu))
            self._leasts[kind, position] = least
        return least

    def _best(self, kind: int, position: int, layout: TensorLayout) -> float:
        """Returns the least time of an op of a kind with one operand in ``layout``, moved if need be."""
        key = (kind, position, layout)
        best = self._bests.get(key)
        if best is None:
            best = self._bests[key] = min(self._at_best(kind, form, position, layout) for form in self.forms[kind])
        return best

    def _at_best(self, kind: int, form: Form, position: int, layout: TensorLayout) -> float:
        """Returns the time of an op in a form, with other operands in layouts that suit the form."""
        site = self.sites[kind]
        layouts: list[TensorLayout] = []
        moved = 0.0
        for number, (spec, accepts) in enumerate(zip(site.inputs, form.accepts, strict=True)):
            operand_layout = layout if number == position else spec.layout
            if number != position and form.result is not None and form.result.tiled and spec.layout.tiled:
                near = self._near.get((kind, id(form), number))
                if near is None:
                    near = form.result.with_(spec.shape, dtype=spec.layout.dtype, core_ranges=form.result.core_ranges)
                    self._near[kind, id(form), number] = near
                operand_layout = near if spec.shape == site.result_shape and accepts(near) else operand_layout
            goal = form.moves[number]
            if site.is_weight(number) and goal is not None:
                operand_layout = goal
            elif number == position and not accepts(operand_layout) and operand_layout.on_device:
                goal = goal or interleaved_in_l1(operand_layout, spec.shape, self.target)
                moved += self._copy_us(spec.shape, operand_layout, goal)
                operand_layout = goal
            layouts.append(operand_layout)
        return self._cost(kind, form, tuple(layouts), form.result)[0] + moved

    def _view(self, layout: TensorLayout, result: int) -> TensorLayout:
        """Returns the layout of a view of an operand in ``layout``."""
        key = (layout, result)
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = _as_operand(layout, self.values[result])
        return view

    def _advance(self, states: list[State], index: int) -> list[State]:
        """Returns the states that stay after op ``index``."""
        by_layouts: dict[frozenset[tuple[int, int]], State] = {}
        for state in states:
            for number, form in enumerate(self.forms[self.nodes[index].kind]):
                after = self.extend(state, index, form, number)
                if isinstance(after, State):
                    key = frozenset(zip(after.places, map(id, after.places.values()), strict=True))
                    known = by_layouts.get(key)
                    if known is None or after.rank < known.rank:
                        by_layouts[key] = after
        if not by_layouts:
            best = min(states, key=lambda state: state.cost)
            return [self.forced(best, index)]
        ordered = sorted(by_layouts.values(), key=lambda state: state.rank)
        survivors, rest = ordered[:WIDTH], ordered[WIDTH:]
        seen = {state.last for state in survivors}
        for state in rest:
            if state.last not in seen:
                seen.add(state.last)
                survivors.append(state)
        return survivors

    def forced(self, state: State, index: int) -> State:
        """Returns the state after everything in L1 moves to DRAM, for an op that fits in no other way.

        Raises:
            OptionError: an override asks for forms of the op that have no room.
        """
        node = self.nodes[index]
        if node.kind in self.overridden:
            raise refused(*self.overridden[node.kind], "; ".join(self._obstacles(state, index)))
        moves: list[Move] = []
        cost = 0.0
        for _, _, owners in state.blocks:
            for value in owners:
                layout = state.places[value]
                goal = self._in_dram(value, layout)
                cost += self._move_us(value, layout, goal)
                moves.append(Move(value, goal, "spill"))
        places = {value: layout for value, layout in state.places.items() if layout.buffer is not BufferType.L1}
        emptied = State(state.cost, places, ())
        form = self.forms[node.kind][0]
        layouts = tuple(self.values[value].layout for value in node.operands)
        result = form.result
        if result is None and node.result >= 0:
            result = self.values[node.result].layout
        time_us = self._cost(node.kind, form, layouts, result).time_us
        step = Step(form, tuple(moves), result, time_us, cost)
        total = time_us + (self.gap_us if time_us else 0.0) + cost
        return State(emptied.cost + total, places, (), state, step, 0)

    def _obstacles(self, state: State, index: int) -> list[str]:
        """Returns the reasons why no form of an op can follow a state, each once."""
        tried = [self.extend(state, index, form, 0) for form in self.forms[self.nodes[index].kind]]
        return list(dict.fromkeys(after.reason for after in tried if isinstance(after, Infeasible)))

    # Room in L1

    def _make_room(
        self,
        state: State,
        node: Node,
        places: dict[int, TensorLayout],
        blocks: Blocks,
        result: TensorLayout | None,
        evaluation: Evaluation,
        index: int,
    ) -> tuple[dict[int, TensorLayout], Blocks, tuple[Move, ...], float] | Infeasible:
        """Allocates the result; first moves other tensors to DRAM where result and circular buffers would not fit."""
        buffers, internal = min(evaluation.buffers, self.end - self.base), evaluation.internal
        spills: tuple[Move, ...] = ()
        cost = 0.0
        victims: Iterator[int] | None = None
        size = self._size(node.result, result) if node.result >= 0 and result is not None else 0
        while True:
            after = placed(blocks, _INTERNAL, internal, self.capacity) if internal else blocks
            if after is not None and size:
                after = placed(after, node.result, size, self.capacity)
            if after is not None and (after[0][0] if after else self.end) - self.base >= buffers:
                return places, freed(after, (_INTERNAL,)) if internal else after, spills, cost
            victims = victims or iter(self._victims(state, index))
            victim = next((value for value in victims if value not in node.operands), None)
            if victim is None:
                what = "its circular buffers" if after is not None else "its result"
                return Infeasible(f"no room in L1 for {what}")
            layout = places[victim]
            goal = self._in_dram(victim, layout)
            cost += self._move_us(victim, layout, goal)
            places = places if spills else places.copy()
            spills = (*spills, Move(victim, goal, "spill"))
            blocks = freed(blocks, (victim,))
            del places[victim]
            if goal != self.values[victim].layout:
                places[victim] = goal

    def _in_dram(self, value: int, layout: TensorLayout) -> TensorLayout:
        """Returns a value's layout in DRAM."""
        dram = self._drams.get((value, id(layout)))
        if dram is None:
            dram = self._drams[value, id(layout)] = in_dram(layout, self.values[value].shape)
            self._kept.append(layout)
        return dram

    def _victims(self, state: State, index: int) -> list[int]:
        """Returns tensors in L1 in the order in which they make room: farthest next use first."""
        if state.victims is None:
            alone = [next(iter(owners)) for _, _, owners in state.blocks if len(owners) == 1]
            state.victims = sorted(alone, key=lambda value: self._next_use(value, index), reverse=True)
        return state.victims

    def _next_use(self, value: int, index: int) -> int:
        """Returns the index of the first op after ``index`` that uses a value."""
        uses = self.uses[value]
        position = bisect.bisect_right(uses, index)
        return uses[position] if position < len(uses) else len(self.nodes)

    def _size(self, value: int, layout: TensorLayout) -> int:
        """Returns the bytes that a value takes of each core's L1."""
        if layout.buffer is not BufferType.L1:
            return 0
        key = (self.values[value].shape, layout)
        size = self._sizes.get(key)
        if size is None:
            size = self._sizes[key] = round_up(bytes_per_bank(layout, self.target), self.target.noc_l1_align)
        return size

    # Moves

    def _move_operand(
        self,
        places: dict[int, TensorLayout],
        blocks: Blocks,
        value: int,
        layout: TensorLayout,
        goal: TensorLayout | None,
    ) -> tuple[dict[int, TensorLayout], Blocks, TensorLayout, float] | None:
        """Moves an operand to ``goal``, where later ops read it too, and frees its former memory.

        Returns:
            Layouts, blocks, the new layout and the time of the move in us; None where L1 has no room.
        """
        if not layout.on_device:
            return None
        shape = self.values[value].shape
        if goal is None:
            key = (shape, layout)
            choices = self._alternatives.get(key)
            if choices is None:
                choices = (interleaved_in_l1(layout, shape, self.target), in_dram(layout, shape))
                self._alternatives[key] = choices
        else:
            choices = (goal,)
        for choice in choices:
            size = self._size(value, choice)
            after: Blocks | None = blocks
            if size:
                after = placed(blocks, -2, size, self.capacity)
            if after is None:
                continue
            after = renamed(freed(after, (value,)), -2, value)
            return {**places, value: choice}, after, choice, self._move_us(value, layout, choice)
        return None

    def _move_us(self, value: int, layout: TensorLayout, goal: TensorLayout) -> float:
        """Returns the time of moving a value between two layouts, in us."""
        return self._copy_us(self.values[value].shape, layout, goal)

    def _copy_us(self, shape: tuple[int, ...], layout: TensorLayout, goal: TensorLayout) -> float:
        """Returns the time of a copy with the gap after it, in us."""
        key = (shape, layout, goal)
        cost = self._moves.get(key)
        if cost is None:
            copy = Instruction("ttnn.to_memory_config", {"input": 0}, (1,), {})
            specs = (TensorSpec(shape, layout), TensorSpec(shape, goal))
            cost = self._moves[key] = instruction_cost(copy, specs, self.target).total_us + self.gap_us
        return cost

    def _cost(
        self, kind: int, form: Form, layouts: tuple[TensorLayout, ...], result: TensorLayout | None
    ) -> Evaluation:
        """Returns the cached result of :func:`evaluate` for an op of a kind."""
        identity = (kind, id(form), *map(id, layouts))
        known = self._known_costs.get(identity)
        if known is not None:
            return known
        key = (kind, id(form), layouts)
        cost = self._costs.get(key)
        if cost is None:
            cost = self._costs[key] = evaluate(self.sites[kind], form, layouts, result)
        self._known_costs[identity] = cost
        self._kept += layouts
        return cost


def _as_operand(layout: TensorLayout, result: TensorSpec) -> TensorLayout:
    """Returns the layout of a view: the operand's memory with the result's shape."""
    return layout.with_(
        result.shape,
        buffer=layout.buffer,
        memory=layout.memory,
        grid=layout.grid,
        core_ranges=layout.core_ranges,
    )


def _steps(state: State) -> list[Step]:
    """Returns the steps that led to a state, in order."""
    steps: list[Step] = []
    current: State | None = state
    while current is not None and current.step is not None:
        steps.append(current.step)
        current = current.parent
    return steps[::-1]
