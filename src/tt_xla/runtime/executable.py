"""A loaded Program: binds its instructions to kernels and runs them.

What an executable keeps between runs lives in collaborators: converted arguments in
:mod:`~tt_xla.runtime.transfer`, const-eval results in :mod:`~tt_xla.runtime.const_evals`, prepared weights in
:mod:`~tt_xla.runtime.weights`, the state of traces in :mod:`~tt_xla.runtime.traces`. The first run is checked by
:mod:`~tt_xla.runtime.first_run`.
"""

from __future__ import annotations

import functools
import itertools
import time
import weakref
from collections.abc import Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from tt_xla import environment
from tt_xla.cost.residency import called
from tt_xla.cost.timeline import Slice, timeline
from tt_xla.ir.program import LOAD_CACHED, Function, FunctionKind, Instruction, Program
from tt_xla.runtime import control, lifetimes, observation
from tt_xla.runtime.binding import Code, Linked, Step
from tt_xla.runtime.const_evals import ConstEvalCache
from tt_xla.runtime.emulator import nans
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Call, Weighted
from tt_xla.runtime.emulator.fused.engine import FusedKernels
from tt_xla.runtime.emulator.fused.plan import may_be_fused
from tt_xla.runtime.first_run import FirstRun
from tt_xla.runtime.ownership import copy_unless_donated, owned_results
from tt_xla.runtime.steps import CONTROL, code_of
from tt_xla.runtime.torch_state import settled
from tt_xla.runtime.traces import Phase, Traces, trace_calls
from tt_xla.runtime.transfer import ArgumentReader, Version, declared
from tt_xla.runtime.traps import Trapping, traps_of
from tt_xla.runtime.weights import ProgramWeights, Spare, WeightedCall
from tt_xla.stage_times import FIRST_RUN, stage
from tt_xla.target import Target, load_target

if TYPE_CHECKING:
    from tt_xla.runtime.device import Device
    from tt_xla.runtime.mesh.expansion import Expansion

_RUN_HERE = (FunctionKind.FORWARD, FunctionKind.SUBPROGRAM, FunctionKind.CONST_EVAL, FunctionKind.TRACE)
"""Kinds of the functions that this runtime executes. The functions that allocate slots for a trace, capture it and
execute it only describe what a card does."""

_NO_CONTEXT = nullcontext()


@dataclass(slots=True)
class Counters:
    """Counts of what an Executable did since it was loaded."""

    runs: int = 0
    kernel_lookups: int = 0
    """Lookups in the device's program cache: one per op, when the first run binds it."""
    const_evals: int = 0
    """Const-eval functions that were evaluated."""
    captures: int = 0
    """Traces that were captured."""
    replays: int = 0
    """Traces that were replayed."""


@dataclass(slots=True)
class _Bound:
    """A function of the Program and its bound kernels."""

    code: Code
    linked: Linked | None = None
    """The function over ``calls``, or over fused kernels. None until the function first runs."""
    calls: list[Call] = field(default_factory=lambda: [])
    """One call for each step of ``code``; empty until the function first runs."""
    weighted: dict[int, WeightedCall] = field(default_factory=lambda: {})
    """Calls that prepare their weights, by the positions of their steps."""


class Executable:
    """A Program on a device. Made by :meth:`tt_xla.runtime.Device.load`.

    Args:
        device: the chip that it runs on, or the first of several.
        program: the Program.
        expansion: the expansion of a Program with a mesh.
        chips: the chips that a Program with a mesh runs on.

    Raises:
        ExecutionError: the Program calls a function it lacks, or an op that has no kernel.
    """

    releases_weights = True
    """Whether const-eval results and parameters lose their bytes once all their readers hold prepared forms of them."""

    uses_fused_kernels = True
    """Whether one fused kernel may compute what several bound calls do."""

    def __init__(
        self, device: Device, program: Program, expansion: Expansion | None = None, chips: Sequence[Device] = ()
    ) -> None:
        self.device = device
        self.source = program
        """The Program as it was loaded; :attr:`program` is its expansion if it has a mesh."""
        self.devices = tuple(chips) or (device,)
        """The chips that the Program runs on."""
        first_chips: Mapping[str, Sequence[int]] = {}
        origins: dict[str, Function] | None = None
        if expansion is not None:
            sources = {function.name: function for function in program.functions}
            origins = {name: sources[origin] for name, origin in expansion.origins.items()}
            program, first_chips = expansion.program, expansion.chips
        self.program = program
        traps = traps_of(program)
        self._trapping = Trapping(traps, program, on_mesh=expansion is not None) if traps else None
        """Adds the checks of option ``trap``; None without it. A program with traps runs without fused kernels."""
        self._declared = [declared(result) for result in program.results]
        self.counters = Counters()
        self.keeps_results = False
        """Whether :meth:`run_keeping` leaves results on a card, which has memory of its own."""
        self.predicted_us = program.predicted_device_us
        self._entry = program.functions[0]
        self._reader = ArgumentReader(program, self._entry)
        self._functions = {function.name: function for function in program.functions}
        self._bound = {
            function.name: _Bound(code_of(program, function, first_chips.get(function.name, ())))
            for function in program.functions
            if function.kind in _RUN_HERE
        }
        steps = self._bound[self._entry.name].code.steps
        traces = trace_calls(program, steps)
        self._traces = Traces(program, traces)
        self._weights = ProgramWeights(program, traces)
        self.const_evals = ConstEvalCache(program, origins)
        self._loads = [step for step in steps if step.instruction.op == LOAD_CACHED]
        """Steps of the entry that load const-eval results."""
        self._reader.distinguishes_contents = bool(self._loads)
        self._kernels: list[Call | Weighted] = []
        """Bound kernels. The device's program cache holds only weak references to them."""
        self._written = [position for position, argument in enumerate(program.arguments) if argument.written]
        """Positions of the arguments that the program writes to."""
        self._reference: weakref.ref[lifetimes.Keeper] = weakref.ref(self)
        self._room = device.target.dram_usable_bytes // 4 - program.memory.dram_peak_bytes
        """Bytes of other tensors on the device up to which a run skips the exact check of free memory."""
        self._first_run: FirstRun | None = None
        """Checks of the first run; None in later runs."""
        self.fused = self._fused_kernels()
        self._fresh_positions: frozenset[int] = frozenset()
        """Positions of results that have their declared types and lie in memory that nobody else has."""

    @functools.cached_property
    def timeline(self) -> list[Slice]:
        """The kernels of a run on each chip, with predicted times."""
        return timeline(self.source, load_target(self.source.target))

    @property
    def traced(self) -> bool:
        """Whether later runs replay a trace."""
        return bool(self._traces)

    @property
    def state(self) -> str:
        """``cold`` before the first run, ``captured`` once later runs replay a trace, else ``warm``."""
        if self._traces.all_captured:
            return "captured"
        return "warm" if self.counters.runs else "cold"

    @property
    def trace_bytes(self) -> int:
        """Bytes of the trace region that the captured trace takes."""
        return self._traces.device_bytes

    @property
    def const_eval_bytes(self) -> int:
        """Bytes of a chip's DRAM that const-eval results take, tile padding included."""
        return self.const_evals.device_bytes

    @property
    def argument_bytes(self) -> int:
        """Bytes of a chip's DRAM that the arguments take, tile padding included."""
        entry = self.source.functions[0]
        layouts = (entry.values[value].layout for value in entry.arguments)
        return sum(layout.bytes for layout in layouts if layout.on_device)

    def _held_bytes(self, versions: Sequence[Version]) -> int:
        """Returns the bytes of the arguments that lie on a chip before a run: those that have versions."""
        entry = self.source.functions[0]
        if len(versions) != len(entry.arguments):  # of an expansion, in which each chip has arguments of its own
            return 0 if all(version is None for version in versions) else self.argument_bytes
        held = (value for value, version in zip(entry.arguments, versions, strict=True) if version is not None)
        layouts = (entry.values[value].layout for value in held)
        return sum(layout.bytes for layout in layouts if layout.on_device)

    def run(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        """Runs the Program once.

        Args:
            tensors: CPU tensors of the declared shapes and dtypes, any strides. Only tensors that are ``donated`` are
                written to.
            versions: one token for each tensor, unique in the process, that changes with the tensor's contents; None
                when the caller does not track the contents. A tensor with a token lies on the device, and is one of
                those that :attr:`Device.resident` counts.
            donated: positions of arguments whose memory the program may overwrite and return as a result. No other
                tensor may share that memory.

        Returns:
            Contiguous CPU tensors of the declared shapes and dtypes that share no memory with anything else.

        Raises:
            ExecutionError: arguments do not match, a value does not fit its on-device type, or an op fails.
            ResourceExhaustedError: by now other programs hold the DRAM or trace region this one needs.
        """
        return self._observed_run(tensors, versions, donated)

    def run_keeping(
        self, tensors: Sequence[Any], versions: Sequence[Version], donated: Container[int] = ()
    ) -> list[Any]:
        """Runs the Program once, like :meth:`run`, and leaves the results in the memory of a card.

        A :class:`~tt_xla.runtime.ttnn.handles.Handle` that :meth:`takes` accepts may stand for a tensor; that of a
        donated argument is lost.

        Returns:
            A handle for each result.
        """
        return self._observed_run(tensors, versions, donated, keeps=True)

    def takes(self, position: int, tensor: object) -> bool:
        """Returns whether a handle can be passed for an argument: it is on the same card and has the same type."""
        return False

    def _observed_run(
        self, tensors: Sequence[Any], versions: Sequence[Version], donated: Container[int], **how: bool
    ) -> list[Any]:
        """Runs the Program once, and tells observers."""
        if observation.RUNS and self.source is self.program:
            for observer in observation.RUNS:
                observer(self.program, tensors)
        began = time.time_ns() if observation.ENDED else 0
        with self.device.lock, self._torch_state(**how):
            for chip in self.devices:
                chip.begin_run()
            try:
                results = self._run_alone(tensors, versions, donated, **how)
            finally:
                for chip in self.devices:
                    chip.reporter.end(self.predicted_us)
        for observer in observation.ENDED:
            observer(self, began)
        return results

    def _torch_state(self, *, keeps: bool = False) -> AbstractContextManager[None]:
        """Returns the context of torch's state in which a run computes."""
        return settled()

    def _run_alone(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int]
    ) -> list[torch.Tensor]:
        for chip in self.devices:
            if not self.counters.runs or chip.resident_at_most() > self._room:
                chip.check_memory(self, self._held_bytes(versions))
        arguments, tokens = self._reader.read(tensors, versions)
        if self._reader.new_versions:
            self._watch_new_versions()
        if self._loads:
            self.const_evals.begin_run(tokens)
        writable = copy_unless_donated(arguments, tensors, self._written, donated) if self._written else []
        call = self._call_entry if self.counters.runs else self._run_first
        start = time.perf_counter()
        results = call(arguments)
        if len(self._fresh_positions) == len(results):
            owned = [*results]
        else:
            owned = owned_results(
                results, self._declared, arguments, self.const_evals.ids, writable, self._fresh_positions
            )
        self.counters.runs += 1
        if self.fused.waits:
            changed = self.fused.ran(time.perf_counter() - start)
            for name, linked in changed.items():
                self._bound[name].linked = linked
            if changed:
                self._fresh_positions = self._fresh_results()
        if self._weights.settled_generation != self.const_evals.generation:
            self._weights.release_results(self.const_evals.generation, self._const_eval_results())
        return owned

    def spare_parameters(self) -> dict[int, Spare]:
        """Returns the parameters that prepared weights stand for from here on, by position.

        A frontend asks after each run. The owner of such a parameter may release its bytes, and pass the stand-in
        tensor for as long as :meth:`accepts_stand_in` says so.
        """
        if self.counters.runs != self._weights.spare_run:
            return {}
        with self.device.lock:
            return self._weights.spare_parameters(self._reader)

    def accepts_stand_in(self, position: int, tensor: torch.Tensor) -> bool:
        """Returns whether this tensor without bytes may be passed for an argument, because nobody reads it."""
        return not observation.RUNS and self._reader.is_stand_in(position, tensor)

    def forget(self, version: int) -> None:
        """Drops everything that was computed from an argument whose contents no longer exist."""
        self._reader.forget(version)
        self.const_evals.forget(version)
        self._weights.forget_ended()

    def reset(self) -> None:
        """Returns to the cold state: forgets bound kernels, const-eval results and the captured trace."""
        self.counters = Counters()
        self.const_evals.clear()
        self._kernels.clear()
        self._weights.clear()
        self._reader.forget_stand_ins()
        self._traces.reset()
        self.fused, self._fresh_positions = self._fused_kernels(), frozenset()
        for bound in self._bound.values():
            bound.linked, bound.calls = None, []

    def _watch_new_versions(self) -> None:
        """Has this executable told when the contents of new parameters no longer exist."""
        self._traces.addresses_changed()
        self._weights.parameters_changed(self.counters.runs)
        for version in self._reader.new_versions:
            lifetimes.keep(version, self._reference)
        self._reader.new_versions.clear()

    def _const_eval_results(self) -> dict[int, torch.Tensor]:
        """Returns cached const-eval results by their values in the entry."""
        results = self.const_evals.results
        cached = ((step.instruction, results.get(str(step.instruction.attributes["callee"]))) for step in self._loads)
        pairs = (zip(load.results, tensors, strict=True) for load, tensors in cached if tensors is not None)
        return dict(itertools.chain.from_iterable(pairs))

    # Fused kernels

    def _fused_kernels(self) -> FusedKernels:
        exact_bits = self.program.options.get("numerics") == "bit_exact"
        return FusedKernels(enabled=self.uses_fused_kernels and self._trapping is None and not exact_bits)

    def _fresh_results(self) -> frozenset[int]:
        """Returns the positions of results that fused kernels make as they are declared, each once."""
        values, fresh = self._entry.results, self.fused.fresh[self._entry.name]
        specs = [self._entry.values[value] for value in values]
        return frozenset(
            position
            for position, (value, spec, kind) in enumerate(zip(values, specs, self._declared, strict=True))
            if value in fresh and values.count(value) == 1 and (CONTAINERS[spec.layout.dtype], spec.shape) == kind
        )

    # Binding

    def _linked(self, function: Function) -> Linked:
        """Returns ``function`` over its bound kernels. The first run checks each of their calls."""
        bound = self._bound[function.name]
        if bound.linked is not None:
            return bound.linked
        steps = bound.code.steps
        calls = bound.calls or self._calls(function, bound.code)
        first_run = self._first_run
        if first_run is None:
            linked = bound.code.link(calls)
        else:
            checked = [self._checked(first_run, function, *pair) for pair in zip(steps, calls, strict=True)]
            repeats = function.kind is not FunctionKind.CONST_EVAL
            recording = self.fused.recording(bound.code, calls, checked, bound.weighted) if repeats else None
            linked = recording or bound.code.link(checked)
        if environment.program_cache_enabled():
            bound.calls, bound.linked = calls, linked
        return linked

    def _calls(self, function: Function, code: Code) -> list[Call]:
        """Returns the calls of a function's steps. What can be seen of a NaN is the same in every run."""
        bound = self._bound[function.name]
        bound.weighted.clear()
        calls = [self._call(function, step) for step in code.steps]
        bound.weighted.update({position: call for position, call in enumerate(calls) if isinstance(call, WeightedCall)})
        if self._trapping is not None:
            pairs = zip(code.steps, calls, strict=True)
            calls = [self._trapping.checked(function, step, call) for step, call in pairs]
        if not self._has_one_nan:
            return calls
        return [
            nans.with_one_nan(call) if seen else call for call, seen in zip(calls, nans.observed(code), strict=True)
        ]

    @functools.cached_property
    def _has_one_nan(self) -> bool:
        """Whether the NaN that a user can see all have the same bits. Fused kernels would change them otherwise."""
        steps = (step for bound in self._bound.values() for step in bound.code.steps)
        return self.program.options.get("numerics") != "bit_exact" and may_be_fused(steps)

    def _call(self, function: Function, step: Step) -> Call:
        """Returns the callable of a step: a kernel, or a method that runs other functions."""
        context, instruction = step.context, step.instruction
        if context is not None:
            self.counters.kernel_lookups += 1
            kernel = self.device.bound(step.key, lambda: bind(context, instruction.attributes, instruction.location))
            if environment.program_cache_enabled():
                self._kernels.append(kernel)
            return self._weighted_call(function, step, kernel) if isinstance(kernel, Weighted) else kernel
        this = weakref.proxy(self)  # calls belong to the executable, so a strong reference would be a cycle
        if instruction.op == LOAD_CACHED:
            current, key = self.const_evals.current, id(step)
            return lambda *tensors: _one_or_all(current.get(key) or this._load_cached(step, tensors))
        if instruction.op in CONTROL:
            return lambda *tensors: _one_or_all(this._run_control(instruction, tensors))
        (traced,) = called(instruction, self._functions)
        return lambda *tensors: _one_or_all(this._run_trace(traced, tensors))

    def _weighted_call(self, function: Function, step: Step, kernel: Weighted) -> Call:
        if not environment.program_cache_enabled():  # it is bound anew in each run, and prepared weights would stay
            return kernel.call
        may_release = self.releases_weights and self._trapping is None  # a check may read the operands of a call
        call = self._weights.bind(function.name, step.inputs[1], kernel, may_release=may_release)
        if call is None:
            return kernel.call
        position = self._weights.input_position(function.name, step.inputs[1])
        if position is None:
            self._reader.distinguishes_contents = True
        else:
            self._reader.watch(position)
        return call

    def _checked(self, first_run: FirstRun, function: Function, step: Step, call: Call) -> Call:
        """Returns ``call`` with the checks of the first run."""
        return first_run.checked(function, step, call)

    # Running

    def _call_entry(self, arguments: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return self._linked(self._entry)(*arguments)

    @stage(FIRST_RUN)
    def _run_first(self, arguments: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Runs the entry with the checks of the first run."""
        self.fused.begin()
        self.const_evals.clear()  # a first run that failed left results; memory accounting expects none
        # A made-up chip has no memory to account for.
        target = self.device.target if isinstance(self.device.target, Target) else None
        expanded = self.source is not self.program
        self._first_run = first_run = FirstRun(self.program, self._functions, None if expanded else target)
        try:
            if expanded and target is not None:
                first_run.check_plan_of(self.source, target)
            results = self._call_entry(arguments)
            first_run.check_plan()
            return results
        finally:
            self._first_run = None
            for bound in self._bound.values():
                bound.linked = None

    def _run_function(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        results = self._linked(function)(*inputs)
        if self._first_run is not None:
            self._first_run.leave(function)
        return results

    def _run_control(self, instruction: Instruction, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Runs a loop or a case."""
        with _NO_CONTEXT if self._first_run is None else self._first_run.accounted_once(instruction):
            return control.run(instruction, inputs, lambda name, values: self._linked(self._functions[name])(*values))

    def _load_cached(self, step: Step, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Returns the results of a const-eval function, from the cache where its inputs are the same."""
        cached = self.const_evals.get(step)
        if cached is not None:
            return cached
        (function,) = called(step.instruction, self._functions)
        results = self.const_evals.put(step, inputs, self._run_function(function, inputs))
        self.counters.const_evals += 1
        self._traces.addresses_changed()
        return results

    def _run_trace(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Runs a traced function: as it is the first time, then captured, then replayed."""
        phase = self._traces.begin(function.name)
        if phase is Phase.CAPTURE:
            for chip in self.devices:
                chip.check_trace_region(self)
        results = self._run_function(function, inputs)
        self._traces.end(function.name, phase)
        self.counters.captures += phase is Phase.CAPTURE
        self.counters.replays += phase is Phase.REPLAY
        return results


def _one_or_all(results: Sequence[torch.Tensor]) -> Any:
    return results[0] if len(results) == 1 else results
