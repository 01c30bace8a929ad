"""The search for shardings of a module's arguments with the least predicted device time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from jaxlib.mlir import ir

from tt_xla.compiler.auto_sharding import text
from tt_xla.compiler.auto_sharding.estimate import Estimator
from tt_xla.compiler.auto_sharding.graph import Graph, read_graph
from tt_xla.compiler.auto_sharding.modules import mesh_of, read_sharding, with_mesh, with_shardings
from tt_xla.compiler.auto_sharding.units import Axes, Plan, Units, conflicts, find_units, shardings
from tt_xla.compiler.sharding.propagate import prepare
from tt_xla.compiler.sharding.requests import requests
from tt_xla.compiler.sharding.shardings import SHARDING
from tt_xla.compiler.stablehlo.signature import entry_function
from tt_xla.cost import predicted_device_us
from tt_xla.errors import CompileError, ResourceExhaustedError
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import Argument, Program
from tt_xla.target import Target, bound_devices

Compile = Callable[[ir.Module], Program]
"""Compiles a module with shardings."""

Progress = Callable[["Trial | None", int], None]
"""Called with None and the number of coming trials, and with each trial."""

_BEAM = 16
"""Number of plans that each round of the quick search keeps."""
_ROUNDS = 12
_PLANS = 4000
"""Number of plans of the quick search that may be compiled."""
_SIMPLE = 2
"""Number of plans that split one unit alone and are compiled in any case, besides the one that splits nothing."""
_PROMISING = 1.25
"""Factor of the best time up to which a plan is worth a trial, because estimates are not exact."""
_FAILED = 30.0
"""Factor by which the estimate of a plan counts as wrong that does not fit or cannot be compiled."""
_OPS = 12_000
"""Ops that the trials of a search compile altogether, as far as the least number of trials allows."""
_TRIALS = (12, 32)
"""Least and greatest number of trials."""
_PATIENCE = 6
"""Number of trials without a better one after which only plans near the best one are tried."""
_NEAR_PATIENCE = 12
"""Number of those without a better one after which the search ends."""
_OVERFLOW = 100.0
"""Factor of the time of a plan that needs twice the memory of a chip."""


@dataclass(frozen=True)
class Trial:
    """Shardings of all arguments, and what the compiler predicts for them."""

    shardings: tuple[Sharding, ...]
    us: float = math.inf
    """Device time of a call in microseconds; infinite if the program cannot be compiled, or does not fit."""
    link_us: float = 0.0
    """Time of the ops that exchange data between chips."""
    dram_bytes: int = 0
    """Greatest number of bytes of DRAM in use on each chip."""
    error: str = ""
    """Reason why there are no figures; empty if there are."""

    @property
    def rank(self) -> tuple[float, int, int]:
        """Order of choice: the least time, then the least memory, then the fewest split arguments."""
        return self.us, self.dram_bytes, sum(not sharding.is_replicated for sharding in self.shardings)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a search."""

    mesh: Mesh
    arguments: tuple[Argument, ...]
    trials: tuple[Trial, ...]
    """All trials, the chosen one first."""
    module: ir.Module
    """The module with the chosen shardings."""

    @property
    def chosen(self) -> Trial:
        """The best trial."""
        return self.trials[0]

    def summary(self) -> str:
        """Returns the mesh, the predicted figures, and a line with the partition spec of each split argument."""
        pairs = zip(self.arguments, self.chosen.shardings, strict=True)
        specs = [
            f"{argument.name}: {text.partition_spec(sharding, self.mesh)}"
            for argument, sharding in pairs
            if not sharding.is_replicated
        ]
        axes = ", ".join(f"{name}={size}" for name, size in zip(self.mesh.axes, self.mesh.shape, strict=True))
        figures = f"{self.chosen.us:,.1f} us predicted, {self.chosen.dram_bytes:,} bytes of DRAM on each chip"
        return "\n".join([f"mesh ({axes}), {figures}, {len(self.trials)} trials", *specs])


@dataclass
class Search:
    """A search for one module.

    Attributes:
        module: a StableHLO module, which is left unchanged. Shardings that it states stay as they are.
        shape: shape of the mesh; empty for that of the module, or for all chips of the system.
        target: the system.
        compile_candidate: compiles a module with shardings.
        devices: number of the device at each position of the mesh; by default the first ones, in order.
        progress: is told of trials.
        limits: least and greatest number of trials.
    """

    module: ir.Module
    shape: Sequence[int]
    target: Target
    compile_candidate: Compile
    devices: Sequence[int] = ()
    progress: Progress = lambda trial, coming: None
    limits: tuple[int, int] = _TRIALS
    _trials: dict[tuple[Sharding, ...], Trial] = field(default_factory=dict[tuple[Sharding, ...], Trial])

    def run(self) -> Outcome:
        """Searches, and returns what was tried.

        Raises:
            OptionError: the module is for another mesh.
            MeshError: the system cannot form the mesh.
            CompileError: no trial can be compiled.
            ResourceExhaustedError: no trial fits in the memory of the chips.
        """
        with self.module.context, ir.Location.unknown():
            self._read()
            if len(self.stated) == len(self.graph.arguments):
                self._trials[()] = self.trial(tuple(self.stated[number] for number in sorted(self.stated)))
            else:
                self._try_plans()
            trials = sorted(self._trials.values(), key=lambda trial: trial.rank)
            if math.isinf(trials[0].us):
                self._compile(trials[0].shardings)  # raises the error of the trial
            return Outcome(self.mesh, tuple(self.graph.arguments), tuple(trials), self._annotated(trials[0].shardings))

    # ---- The module

    def _read(self) -> None:
        """Reads the module's ops, mesh and stated shardings."""
        copy = with_mesh(self.module, self.shape, self.target, self.devices)
        asked = requests(copy)
        entry_name = entry_function(copy).name.value
        prepared = prepare(copy, entry_name, asked.partitions, self.target.chips)
        self.base: Any = prepared.module.operation.clone()
        self.mesh_name, mesh = mesh_of(prepared.module)
        bound = bound_devices(self.target, mesh.shape, self.devices)
        self.mesh = msgspec.structs.replace(mesh, devices=bound)
        entry = entry_function(prepared.module)
        self.stated = {
            number: read_sharding(entry.attributes["arg_attrs"][number][SHARDING], self.mesh)
            for name, number in sorted(prepared.stated)
            if name == "arg_attrs"
        }
        self.graph: Graph = read_graph(prepared.module)
        self.units: Units = find_units(self.graph, self.stated, self.mesh)
        self.estimator = Estimator(self.graph, self.units, self.mesh, self.target)
        self.splitting = [axis for axis, size in enumerate(self.mesh.shape) if size > 1]
        self.start = Plan(tuple(self.units.fixed.get(number, ()) for number in range(len(self.units.units))))

    def _annotated(self, chosen: Sequence[Sharding]) -> ir.Module:
        own = {number: sharding for number, sharding in enumerate(chosen) if number not in self.stated}
        return with_shardings(self.base, self.mesh_name, self.mesh, own)

    # ---- The quick search

    def quick_plans(self) -> list[Plan]:
        """Returns plans of the quick search, a beam search, the best first."""
        known: dict[Plan, float] = {self.start: self.score(self.start)}
        beam = [self.start]
        for _ in range(_ROUNDS):
            fresh = {plan for kept in beam for plan in self._moves(kept) if plan not in known}
            known.update((plan, self.score(plan)) for plan in fresh)
            ranked = sorted(known, key=lambda plan: (known[plan], _order(plan)))
            if ranked[:_BEAM] == beam:
                break
            beam = ranked[:_BEAM]
        return sorted(known, key=lambda plan: (known[plan], _order(plan)))[:_PLANS]

    def _moves(self, plan: Plan) -> Iterator[Plan]:
        """Yields the plans that differ from a plan in one unit, or in what is split for its storage."""
        for number, unit in enumerate(self.units.units):
            if number in self.units.fixed:
                continue
            for axes in self._choices():
                count = math.prod(self.mesh.shape[axis] for axis in axes)
                changed = plan.with_unit(number, axes)
                if axes != plan.axes[number] and unit.granularity % count == 0 and not self._conflicts(changed):
                    yield changed
        for stored in itertools.chain([()], itertools.combinations(self.splitting, 1), [tuple(self.splitting)]):
            if stored != plan.stored:
                yield Plan(plan.axes, stored)

    def _choices(self) -> list[Axes]:
        """Returns the axes along which a unit may be split."""
        counts = range(len(self.splitting) + 1)
        return [axes for count in counts for axes in itertools.combinations(self.splitting, count)]

    def _conflicts(self, plan: Plan) -> bool:
        return conflicts(plan, self.units, self.graph, self.stated)

    def score(self, plan: Plan) -> float:
        """Returns the estimated time, much longer if the plan does not fit."""
        estimate = self.estimator.estimate(plan)
        available = self.target.dram_banks * self.target.dram_bank_bytes
        return estimate.us * (1.0 + _OVERFLOW * max(estimate.bytes / available - 1.0, 0.0))

    def shardings(self, plan: Plan) -> list[Sharding]:
        """Returns the sharding of each argument under a plan; that of the user where one is stated."""
        return shardings(plan, self.units, self.graph, self.mesh, self.stated)

    # ---- Trials

    def _try_plans(self) -> None:
        """Compiles plans: first the most promising of all, then those that differ from the best one in one choice.

        What the compiler predicted for a plan corrects the estimates of those that differ from it least.
        """
        limit = max(self.limits[0], min(self.limits[1], _OPS // max(len(self.graph.ops), 1)))
        self.progress(None, limit)
        moves = sorted(dict.fromkeys(self._moves(self.start)), key=self.score)
        simple = [self.start, *moves[:_SIMPLE]]
        candidates = _Candidates([*simple, *self.quick_plans()], self.score)
        for number in range(min(len(simple), limit)):
            self._try(candidates, number)
        for patience, near in ((_PATIENCE, False), (_NEAR_PATIENCE, True)):
            since = 0
            while since < patience and len(self._trials) < limit:
                best = candidates.plans[candidates.best]
                neighbours = set(self._moves(best)) if near else None
                candidates.add(self._moves(best))
                number, promise = candidates.next(neighbours)
                if math.isinf(promise) or promise > _PROMISING * candidates.best_us:
                    break
                before, count = candidates.best_us, len(self._trials)
                self._try(candidates, number)
                since = 0 if candidates.best_us < before else since + (len(self._trials) > count)

    def _try(self, candidates: _Candidates, number: int) -> None:
        """Compiles a plan, unless another plan has the same shardings."""
        key = tuple(self.shardings(candidates.plans[number]))
        if key not in self._trials:
            self._trials[key] = self.trial(key)
            self.progress(self._trials[key], 0)
        candidates.tried(number, self._trials[key].us)

    def trial(self, chosen: tuple[Sharding, ...]) -> Trial:
        """Compiles the module with shardings, and returns what the compiler predicts for it."""
        try:
            program = self._compile(chosen)
        except ResourceExhaustedError as error:
            return Trial(chosen, error=error.message)
        except CompileError as error:
            if not self._trials:
                raise  # the program cannot be compiled even if nothing more is split
            return Trial(chosen, error=error.message)
        entry = program.functions[0]
        us = predicted_device_us(entry, self.target, program.functions, program.mesh)
        steps = (step for function in program.functions for step in function.body)
        link_us = sum(step.cost.total_us for step in steps if step.cost.link_us)
        return Trial(chosen, us, link_us, program.memory.dram_peak_bytes)

    def _compile(self, chosen: Sequence[Sharding]) -> Program:
        return self.compile_candidate(self._annotated(chosen))


class _Candidates:
    """Plans to compile, with estimates that trials correct."""

    def __init__(self, plans: Sequence[Plan], score: Callable[[Plan], float]) -> None:
        self.plans: list[Plan] = []
        self._score = score
        self._known: set[Plan] = set()
        self._codes: dict[Axes, int] = {}
        self._table = np.zeros((0, len(plans[0].axes) + 1), np.int64)
        self._scores = np.zeros(0)
        self._open = np.zeros(0, np.bool_)
        self.best = 0
        """Number of the plan with the least predicted time."""
        self.best_us = math.inf
        """Least predicted time in microseconds."""
        self._trials: list[tuple[int, float]] = []
        """Number of each plan tried, and the logarithm of the factor by which its estimate is wrong."""
        self.add(plans)

    def add(self, plans: Iterable[Plan]) -> None:
        """Adds plans."""
        fresh = [plan for plan in dict.fromkeys(plans) if plan not in self._known]
        if fresh:
            self._known.update(fresh)
            self.plans += fresh
            rows = [[self._codes.setdefault(axes, len(self._codes)) for axes in (*p.axes, p.stored)] for p in fresh]
            self._table = np.concatenate([self._table, np.array(rows, np.int64)])
            self._scores = np.concatenate([self._scores, np.array([self._score(plan) for plan in fresh])])
            self._open = np.concatenate([self._open, np.ones(len(fresh), np.bool_)])

    def tried(self, number: int, us: float) -> None:
        """Notes the predicted time of a plan; infinite if it cannot be used."""
        self._open[number] = False
        factor = us / max(self._scores[number], 1e-3) if math.isfinite(us) else _FAILED
        self._trials.append((number, math.log(max(factor, 1e-3))))
        if us < self.best_us:
            self.best, self.best_us = number, us

    def next(self, among: Container[Plan] | None) -> tuple[int, float]:
        """Returns the number of the plan that promises the least time, and that time; infinite if none is left.

        Args:
            among: the plans that count; None for all.
        """
        promises = self._scores * np.exp(self._corrections())
        promises[~self._open] = math.inf
        if among is not None:
            promises[[plan not in among for plan in self.plans]] = math.inf
        number = int(np.argmin(promises))
        return number, float(promises[number])

    def _corrections(self) -> npt.NDArray[np.float64]:
        """Returns for each plan the mean of the corrections of the trials that differ from it in the fewest choices."""
        if not self._trials:
            return np.zeros(len(self.plans))
        tried = self._table[[number for number, _ in self._trials]]
        differing = (self._table[:, None, :] != tried[None, :, :]).sum(axis=2)
        nearest = differing == differing.min(axis=1, keepdims=True)
        logarithms = np.array([logarithm for _, logarithm in self._trials])
        return (nearest * logarithms).sum(axis=1) / nearest.sum(axis=1)


def _order(plan: Plan) -> tuple[object, ...]:
    """Returns a key that makes the order of equally good plans the same in every run: few and late axes first."""
    return sum(map(bool, plan.axes)), len(plan.stored), plan.axes, plan.stored
