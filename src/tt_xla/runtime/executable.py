"""A loaded Program: runs it, keeps const-eval results, captures and replays its trace."""

from __future__ import annotations

import itertools
import time
import weakref
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from tt_xla import options
from tt_xla.cost.residency import Overflow, Residency, account, called, held_arguments
from tt_xla.errors import ExecutionError, ResourceExhaustedError
from tt_xla.ir.program import (
    LOAD_CACHED,
    TRACE,
    Function,
    FunctionKind,
    Instruction,
    Program,
)
from tt_xla.runtime import control, lifetimes, listeners
from tt_xla.runtime.binding import Code, Linked, Step
from tt_xla.runtime.emulator.chains.engine import SecondEngine
from tt_xla.runtime.emulator.chains.plan import Plan
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.registry import Call, Weighted, bind
from tt_xla.runtime.steps import CONTROL, code_of
from tt_xla.runtime.transfer import (
    ArgumentReader,
    Token,
    Version,
    as_base,
    declared,
    describe,
    owns_memory,
    storage,
    widen,
    without_base,
)
from tt_xla.runtime.weights import Prepared, Spent, lasting
from tt_xla.target import Target

if TYPE_CHECKING:
    from tt_xla.runtime.device import Device

CALL = "func.call"

_RUN_HERE = (FunctionKind.FORWARD, FunctionKind.SUBPROGRAM, FunctionKind.CONST_EVAL, FunctionKind.TRACE)
"""Functions whose instructions are run; those that allocate slots, capture and execute a trace say what a card does."""

Spare = tuple[Version, torch.Tensor, Callable[[], torch.Tensor]]
"""A parameter that prepared weights stand for: its version, a tensor without bytes, and what makes its own again."""

_RUNS_TO_PREPARE = 3
"""After so many runs with the same parameters their weights are prepared."""

_GRAD_IS_OFF = nullcontext()


@dataclass(slots=True)
class Counters:
    """What an Executable has done since it was loaded."""

    runs: int = 0
    kernel_lookups: int = 0
    """In the program cache: one per op when it is bound, at the first run."""
    const_evals: int = 0
    """Const-eval functions run."""
    captures: int = 0
    replays: int = 0


@dataclass(slots=True)
class _CacheEntry:
    inputs: tuple[Token, ...]
    results: tuple[torch.Tensor, ...]
    tokens: list[Token]
    versions: frozenset[int]
    """Of the arguments that the results were computed from."""


@dataclass(slots=True)
class _Trace:
    warm: bool = False
    captured: bool = False
    places: int = 0
    """When it was captured, by :attr:`Executable._places`."""


@dataclass(slots=True)
class _Bound:
    """A function that is run here."""

    code: Code
    linked: Linked | None = None
    """Over ``calls``; both are made when the function is first run."""
    calls: list[Call] = field(default_factory=lambda: [])


class Executable:
    """A Program on a device. Made by :meth:`tt_xla.runtime.Device.load`.

    Raises:
        ExecutionError: the Program calls a function it lacks, or an op that has no kernel.
    """

    drops_spent = True
    """Whether const-eval results of which prepared weights stand everywhere lose their bytes."""

    has_second_engine = True
    """Whether kernels may be called as one."""

    def __init__(self, device: Device, program: Program) -> None:
        self.device = device
        self.program = program
        self._declared = [declared(result) for result in program.results]
        self.counters = Counters()
        self.predicted_us = program.predicted_device_us
        self._entry = program.functions[0]
        self._reader = ArgumentReader(program, self._entry)
        self._functions = {function.name: function for function in program.functions}
        self._bound = {
            function.name: _Bound(code_of(program, function))
            for function in program.functions
            if function.kind in _RUN_HERE
        }
        self._traces = {self._traced(step.instruction).name: _Trace() for step in self._entry_steps(TRACE)}
        traces = [(step.inputs, self._traced(step.instruction).name) for step in self._entry_steps(TRACE)]
        self._lasting = lasting(program, traces)
        self._kernels: list[Call | Weighted] = []
        """Bound ones, which the device's program cache keeps no longer than we do."""
        self._prepared: list[Prepared] = []
        """Instructions that keep something made of their weights."""
        self._spent = Spent(program, traces)
        self._spares_at = 0
        """The number of the run after which parameters are looked for that nobody reads any more."""
        self._dropped = 0
        """The generation of const-eval results that nothing more can be dropped of."""
        self._written = [at for at, argument in enumerate(program.arguments) if argument.written]
        """Positions of the arguments that the program writes to."""
        self._changing = {self._entry.arguments[at] for at in self._written}
        """Their values in the entry."""
        self._has_const_evals = self._reader.tells_contents = bool(self._entry_steps(LOAD_CACHED))
        self._const_evals: dict[str, _CacheEntry] = {}
        self._kept: set[int] = set()
        """Which tensors are const-eval results, by ``id``."""
        self._tokens: dict[int, Token] = {}
        """Of the entry's arguments and const-eval results, in this run."""
        self._generation = 0
        self._places = 0
        """Grows when a parameter or const-eval result lies elsewhere than before: no trace holds its address then."""
        self._reference: weakref.ref[lifetimes.Keeper] = weakref.ref(self)
        self._room = device.target.dram_usable_bytes // 4 - program.memory.dram_peak_bytes
        """So many bytes of other tensors are no reason to look closer."""
        self._ledger: Residency | None = None
        """What lies in memory during the first run."""
        self._checking = False
        """Whether this is the first run."""
        self.chains = self._second_engine()
        self._all_fresh = False
        """Whether results are what a caller is to get as they are, in memory that nobody else has."""

    @property
    def traced(self) -> bool:
        """Whether later runs replay a trace."""
        return bool(self._traces)

    @property
    def state(self) -> str:
        """``cold`` before the first run, ``captured`` once later runs replay a trace, else ``warm``."""
        if self._traces and all(trace.captured for trace in self._traces.values()):
            return "captured"
        return "warm" if self.counters.runs else "cold"

    @property
    def trace_bytes(self) -> int:
        """What the captured trace takes of the trace region, in bytes."""
        return self.program.memory.trace_bytes if any(trace.captured for trace in list(self._traces.values())) else 0

    @property
    def const_eval_bytes(self) -> int:
        """What const-eval results take of DRAM, with tile padding."""
        functions = (self._functions[name] for name in list(self._const_evals))
        return sum(
            function.values[value].layout.bytes
            for function in functions
            for value in function.results
            if function.values[value].layout.on_device
        )

    @property
    def argument_bytes(self) -> int:
        """What the arguments take of DRAM, with tile padding."""
        layouts = (self._entry.values[value].layout for value in self._entry.arguments)
        return sum(layout.bytes for layout in layouts if layout.on_device)

    def run(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], given: Container[int] = ()
    ) -> list[torch.Tensor]:
        """Runs the Program once.

        Args:
            tensors: CPU tensors of the declared shapes and dtypes, any strides. Those that are not ``given`` are not
                written to.
            versions: for each tensor a token, unique in the process, that changes with its contents; None when that is
                not known.
            given: positions of arguments whose memory may be written to, and may be that of a result; nobody else has
                a part of it.

        Returns:
            Contiguous CPU tensors of the declared shapes and dtypes that share no memory with anything else.

        Raises:
            ExecutionError: arguments do not match, a value does not fit its on-device type, or an op fails.
            ResourceExhaustedError: by now other programs hold the DRAM or trace region this one needs.
        """
        if listeners.LISTENERS:
            listeners.tell(self.program, tensors)
        with self.device.lock, torch.no_grad() if torch.is_grad_enabled() else _GRAD_IS_OFF:
            self.device.begin_run()
            try:
                return self._run_alone(tensors, versions, given)
            finally:
                self.device.reporter.end(self.predicted_us)

    def _run_alone(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], given: Container[int]
    ) -> list[torch.Tensor]:
        if self.device.resident() > self._room:
            self.device.check_memory(self)
        arguments, tokens = self._reader.read(tensors, versions)
        if self._reader.new_versions:
            self._ask_to_be_told()
        if self._has_const_evals:
            self._tokens = dict(zip(self._entry.arguments, tokens, strict=True))
        passed = self._protect(arguments, tensors, given) if self._written else []
        call = self._call_entry if self.counters.runs else self._run_first
        start = time.perf_counter()
        results = call(arguments)
        owned = [*results] if self._all_fresh else self._own(results, arguments, passed)
        self.counters.runs += 1
        if self.chains.waits:
            changed = self.chains.ran(time.perf_counter() - start)
            for name, linked in changed.items():
                self._bound[name].linked = linked
            if changed:
                self._all_fresh = self._makes_all_fresh()
        if self._dropped != self._generation:
            self._drop_spent()
        return owned

    def spare(self) -> dict[int, Spare]:
        """Parameters that prepared weights stand for from here on, by position.

        To be asked after each run. Who gave the parameters may let go of them, and pass the tensor without bytes as
        long as :meth:`stands` says so.
        """
        if self.counters.runs != self._spares_at:
            return {}
        with self.device.lock:
            found: dict[int, Spare] = {}
            for position, instructions in self._spent.spare(self._reader.kept).items():
                weights = self._reader.kept(position)
                restore = None if weights is None else instructions[0].restorer(weights)
                if restore is None:
                    continue
                version, stand_in = self._reader.stand(position)
                for each in instructions:
                    each.stand(stand_in)
                found[position] = (version, stand_in, restore)
            return found

    def stands(self, position: int, tensor: torch.Tensor) -> bool:
        """Whether this tensor without bytes may be passed for an argument: nobody reads it."""
        return not listeners.LISTENERS and self._reader.stands(position, tensor)

    def _second_engine(self) -> SecondEngine:
        this = weakref.proxy(self)
        return SecondEngine(lambda: this._plans(), wanted=self.has_second_engine)

    def _makes_all_fresh(self) -> bool:
        values = self._entry.results
        specs = [self._entry.values[value] for value in values]
        as_declared = [(CONTAINERS[spec.layout.dtype], spec.shape) for spec in specs] == self._declared
        return as_declared and len({*values}) == len(values) and self.chains.fresh[self._entry.name].issuperset(values)

    def _plans(self) -> dict[str, Plan]:
        """Of the functions that are run again and again, as they are called now."""
        names = {function.name for function in self.program.functions if function.kind is not FunctionKind.CONST_EVAL}
        return {
            name: Plan(bound.code, bound.calls) for name, bound in self._bound.items() if name in names and bound.calls
        }

    def _drop_spent(self) -> None:
        steps = [step.instruction for step in self._entry_steps(LOAD_CACHED)]
        entries = ((step.results, self._const_evals.get(str(step.attributes["callee"]))) for step in steps)
        pairs = (zip(values, entry.results, strict=True) for values, entry in entries if entry is not None)
        if self._spent.drop(dict(itertools.chain.from_iterable(pairs))):
            self._dropped = self._generation

    def _ask_to_be_told(self) -> None:
        """Of the end of contents that something is kept of."""
        self._places += 1
        self._spares_at = self.counters.runs + _RUNS_TO_PREPARE
        for version in self._reader.new_versions:
            lifetimes.keep(version, self._reference)
        self._reader.new_versions.clear()

    def forget(self, version: int) -> None:
        """Drops what is kept of an argument whose contents are gone: nobody will ask for it."""
        self._reader.forget(version)
        for name in [name for name, entry in [*self._const_evals.items()] if version in entry.versions]:
            self._const_evals.pop(name, None)
        for each in self._prepared:
            each.release()

    def _protect(
        self, arguments: list[torch.Tensor], tensors: Sequence[torch.Tensor], given: Container[int]
    ) -> list[torch.Tensor]:
        """Copies arguments that will be written to and are not given; the others, which results may be."""
        passed: list[torch.Tensor] = []
        count = Counter(map(id, tensors))
        for position in self._written:
            argument, tensor = arguments[position], tensors[position]
            free = position in given and count[id(tensor)] == 1 and tensor.is_contiguous()
            if not free and storage(argument) == storage(tensor):
                arguments[position] = argument.clone(memory_format=torch.contiguous_format)
            passed.append(arguments[position])
        return passed

    def reset(self) -> None:
        """Back to cold: forgets bound kernels, const-eval results and the captured trace."""
        self.counters = Counters()
        self._const_evals.clear()
        self._kept.clear()
        self._kernels.clear()
        self._prepared.clear()
        self._spent.clear()
        self._reader.forget_stand_ins()
        self._traces = {name: _Trace() for name in self._traces}
        self.chains, self._all_fresh = self._second_engine(), False
        for bound in self._bound.values():
            bound.linked, bound.calls = None, []

    def _call_entry(self, arguments: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return self._linked(self._entry)(*arguments)

    def _run_first(self, arguments: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Runs and checks what no later run can change: the shape of each value, and the account of memory."""
        self.device.check_memory(self)
        self._const_evals.clear()  # of a first run that failed: this one computes everything
        self._ledger = self._opened_ledger()
        self._checking = True
        try:
            results = self._call_entry(arguments)
            if self._ledger is not None:
                self._check_plan(self._ledger)
            return results
        finally:
            self._ledger, self._checking = None, False
            for bound in self._bound.values():
                bound.linked = None

    # Memory

    def _opened_ledger(self) -> Residency | None:
        """Accounts for the memory of the first run, which computes everything; none for a made-up chip."""
        if not isinstance(self.device.target, Target):
            return None
        ledger = Residency(self.device.target)
        for value in held_arguments(self._entry, self.program.arguments):
            self._fits(ledger.hold((self._entry.name, value), self._entry.values[value]))
        return ledger

    def _fits(self, overflow: Overflow | None) -> None:
        if overflow is not None:
            raise ResourceExhaustedError(
                f"Program '{self.program.name}' does not fit in {overflow.space.name} as it runs: "
                f"{describe(overflow.spec.layout.dtype.value, overflow.spec.shape)} needs {overflow.bytes} bytes in "
                "each bank.",
                hint="If the Program came from this version's compiler, please report it.",
            )

    def _check_plan(self, ledger: Residency) -> None:
        """That what the run took is what the compiler planned.

        Raises:
            ExecutionError: it is not.
        """
        plan = self.program.memory
        planned = (plan.dram_peak_bytes, plan.l1_peak_bytes_per_core)
        taken = (ledger.dram_peak_bytes, ledger.l1.peak)
        if taken != planned:
            raise ExecutionError(
                f"Program '{self.program.name}' took {taken[0]} bytes of DRAM and {taken[1]} bytes of a core's L1 at "
                f"its peak; its memory plan says {planned[0]} and {planned[1]}.",
                hint="This is a fault of the compiler or of an edited Program; please report it.",
            )

    def _own(
        self, results: Iterable[torch.Tensor], arguments: Iterable[torch.Tensor], passed: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Results widened, and copied where their memory belongs to someone else; ``passed`` are arguments that may be
        results as they are, each once."""
        owned = list(map(widen, results, self._declared))
        del results  # so that none counts as another owner
        taken = {*map(id, arguments), *self._kept}
        free = {*map(id, passed)} if passed else ()
        for index, tensor in enumerate(owned):
            if free and id(tensor) in free:
                free.discard(id(tensor))
                continue
            if id(tensor) in taken:
                owned[index] = tensor = tensor.clone()
            elif not owns_memory(tensor):
                alone = without_base(tensor)
                owned[index] = tensor = tensor.clone() if alone is None else alone
            taken.add(id(tensor))
        return owned

    # Preparing

    def _entry_steps(self, op: str) -> list[Step]:
        return [step for step in self._bound[self._entry.name].code.steps if step.instruction.op == op]

    # Binding and running

    def _linked(self, function: Function) -> Linked:
        """``function`` over its bound kernels; in the first run each is checked."""
        bound = self._bound[function.name]
        if bound.linked is not None:
            return bound.linked
        steps = bound.code.steps
        calls = bound.calls or [self._call(function, step) for step in steps]
        checked = (
            [self._checked(function, *pair) for pair in zip(steps, calls, strict=True)] if self._checking else calls
        )
        linked = bound.code.link(checked)
        if options.program_cache_enabled():
            bound.calls, bound.linked = calls, linked
        return linked

    def _call(self, function: Function, step: Step) -> Call:
        context, instruction = step.context, step.instruction
        if context is not None:
            self.counters.kernel_lookups += 1
            kernel = self.device.bound(step.key, lambda: bind(context, instruction.attributes, instruction.location))
            if options.program_cache_enabled():
                self._kernels.append(kernel)
            if not isinstance(kernel, Weighted):
                return kernel
            if step.inputs[1] not in self._lasting.get(function.name, ()):
                return kernel.call
            self._reader.tells_contents = True
            prepared = Prepared(kernel)
            self._prepared.append(prepared)
            if options.program_cache_enabled() and self.drops_spent and not kernel.stay:
                self._spent.takes(function.name, step.inputs[1], prepared)
            return prepared
        this = weakref.proxy(self)  # a call belongs to its executable, which ends with its last user
        if instruction.op == LOAD_CACHED:
            return lambda *tensors: _one_or_all(this._load_cached(step, tensors))
        if instruction.op in CONTROL:
            return lambda *tensors: _one_or_all(this._run_control(instruction, tensors))
        traced = self._traced(instruction)
        return lambda *tensors: _one_or_all(this._run_trace(traced, tensors))

    def _checked(self, function: Function, step: Step, call: Call) -> Call:
        """``call`` with its memory accounted for, and the shapes of what it gives compared to those declared."""
        instruction = step.instruction

        def checked(*tensors: torch.Tensor) -> Any:
            ledger = self._ledger
            if ledger is not None:
                self._fits(ledger.run(function, instruction, self._functions))
            made = call(*tensors)
            results = (made,) if len(instruction.results) == 1 else made
            for tensor, value in zip(results, instruction.results, strict=True):
                declared = function.values[value].shape
                if step.context is not None and tensor.shape != declared:
                    raise ValueError(f"it gave shape {tuple(tensor.shape)}, the program declares {declared}")
            if ledger is not None:
                for value in step.drops:
                    ledger.free((function.name, value))
            return made

        return checked

    def _run_function(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        results = self._linked(function)(*inputs)
        if self._ledger is not None:
            self._ledger.leave(function)
        return results

    def _run_control(self, instruction: Instruction, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """A loop or a case. Its memory is accounted for once, however many rounds there are."""
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            for callee in called(instruction, self._functions):
                self._fits(account(callee, self._functions, ledger))
        results = control.run(instruction, inputs, lambda name, given: self._linked(self._functions[name])(*given))
        self._ledger = ledger
        return results

    def _load_cached(self, step: Step, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        callee = str(step.instruction.attributes["callee"])
        entry = self._const_evals.get(callee)
        tokens = tuple(self._tokens[value] for value in step.inputs)
        if entry is None or None in tokens or entry.inputs != tokens:
            entry = self._eval_const(callee, inputs, tokens, self._changing.isdisjoint(step.inputs))
        self._tokens.update(zip(step.instruction.results, entry.tokens, strict=True))
        return entry.results

    def _eval_const(
        self, callee: str, inputs: Sequence[torch.Tensor], tokens: tuple[Token, ...], stay: bool
    ) -> _CacheEntry:
        """``stay``: the program does not write to the inputs. Then a result may be a view of one: whoever else writes
        to it says so by its version, and the result is dropped."""
        results = self._run_function(self._functions[callee], inputs)
        arguments = set[int]() if stay and None not in tokens else {storage(tensor) for tensor in inputs}
        # None is a view of what it was made through, which would hold its memory.
        results = tuple(tensor.clone() if storage(tensor) in arguments else as_base(tensor) for tensor in results)
        self.counters.const_evals += 1
        self._generation += 1
        self._places += 1
        tokens_out: list[Token] = [(callee, self._generation, index) for index in range(len(results))]
        entry = self._const_evals[callee] = _CacheEntry(tokens, results, tokens_out, self._versions(tokens))
        self._kept = {id(tensor) for kept in self._const_evals.values() for tensor in kept.results}
        return entry

    def _versions(self, tokens: Iterable[Token]) -> frozenset[int]:
        found: set[int] = set()
        for token in tokens:
            if token is not None and isinstance(token[0], int):
                found.add(token[0])
            elif token is not None:  # a const-eval function's result
                found |= self._const_evals[str(token[0])].versions
        return frozenset(found)

    def _traced(self, instruction: Instruction) -> Function:
        """The function behind a trace: the one that its capturing function calls."""
        capture = self._functions[str(instruction.attributes["capture_callee"])]
        name = next(str(inner.attributes["callee"]) for inner in capture.body if inner.op == CALL)
        return self._functions[name]

    def _run_trace(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """First run plainly, the second captures, later ones replay; captured anew when an address in it is stale."""
        trace = self._traces[function.name]
        if trace.places != self._places:
            trace.captured = False
        if trace.warm and not trace.captured:
            self.device.check_trace_region(self)
        results = self._run_function(function, inputs)
        if trace.captured:
            self.counters.replays += 1
        elif trace.warm:
            trace.captured, trace.places = True, self._places
            self.counters.captures += 1
        trace.warm = True
        return results


def _one_or_all(results: Sequence[torch.Tensor]) -> Any:
    return results[0] if len(results) == 1 else results
