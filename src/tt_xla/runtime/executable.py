"""A loaded Program: runs it, keeps const-eval results, captures and replays its trace."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import torch

from tt_xla.cost.residency import Overflow, Residency, account, called, held_arguments
from tt_xla.errors import ExecutionError, ResourceExhaustedError, TTXLAError
from tt_xla.ir.program import (
    CASE,
    WHILE_LOOP,
    Function,
    FunctionKind,
    Instruction,
    Operand,
    Program,
    subprograms_of,
)
from tt_xla.runtime import control
from tt_xla.runtime.emulator.registry import Call, Context, Specs, bind, find
from tt_xla.runtime.transfer import ArgumentReader, Token, Version, describe, storage, widen
from tt_xla.target import Target

if TYPE_CHECKING:
    from tt_xla.runtime.device import Device

LOAD_CACHED = "ttcore.load_cached"
TRACE = "ttnn.capture_or_execute_trace"
DEALLOCATE = "ttnn.deallocate"
COPY = "ttnn.copy"
ASSIGN = "ttnn.assign"
CALL = "func.call"

CONTROL = (WHILE_LOOP, CASE)

_RUN_HERE = (FunctionKind.FORWARD, FunctionKind.SUBPROGRAM, FunctionKind.CONST_EVAL, FunctionKind.TRACE)
"""Functions whose instructions are run; those that allocate slots, capture and execute a trace say what a card does."""

_WHOLE_KEY_BYTES = 512
"""Longer keys of the program cache, of constants above all, are replaced by their digest."""

_TRACE_CALLEES = {
    "allocate_slots_callee": FunctionKind.TRACE_ALLOCATE_SLOTS,
    "capture_callee": FunctionKind.TRACE_CAPTURE,
    "execute_callee": FunctionKind.TRACE_EXECUTE,
}

Registers = list[Any]
"""The tensors of a function's values by number; None before they are made and after they are deallocated."""


@dataclass(slots=True)
class Counters:
    """What an Executable has done since it was loaded."""

    runs: int = 0
    kernel_lookups: int = 0
    """In the program cache: one per op run, none in a replay."""
    const_evals: int = 0
    """Const-eval functions run."""
    captures: int = 0
    replays: int = 0


@dataclass(slots=True)
class _Step:
    """One instruction, ready to run; ``drops`` are the values deallocated after it."""

    instruction: Instruction
    inputs: tuple[int, ...]
    drops: list[int]
    context: Context | None = None
    """Set for kernels."""
    key: bytes = b""


@dataclass(slots=True)
class _CacheEntry:
    inputs: tuple[Token, ...]
    results: list[torch.Tensor]
    tokens: list[Token]


class _Command(NamedTuple):
    """One bound kernel call of a captured trace, over its slots."""

    call: Call
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    drops: tuple[int, ...]
    instruction: Instruction


@dataclass(slots=True)
class _Trace:
    commands: list[_Command]
    runs_before: int = 0
    captured: bool = False


class Executable:
    """A Program on a device. Made by :meth:`tt_xla.runtime.Device.load`.

    Raises:
        ExecutionError: the Program calls a function it lacks, or an op that has no kernel.
    """

    def __init__(self, device: Device, program: Program) -> None:
        self.device = device
        self.program = program
        self.counters = Counters()
        self._numerics = str(program.options.get("numerics", "silicon"))
        self._entry = program.functions[0]
        self._reader = ArgumentReader(program, self._entry)
        self._functions = {function.name: function for function in program.functions}
        self._steps = {
            function.name: self._prepare(function) for function in program.functions if function.kind in _RUN_HERE
        }
        self._traces = {
            self._traced(step.instruction).name: _Trace([])
            for step in self._steps[self._entry.name]
            if step.instruction.op == TRACE
        }
        self._const_evals: dict[str, _CacheEntry] = {}
        self._generation = 0
        self._ledger: Residency | None = None
        """What lies in memory during the first run."""

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
        return self.program.memory.trace_bytes if any(trace.captured for trace in self._traces.values()) else 0

    @property
    def const_eval_bytes(self) -> int:
        """What const-eval results take of DRAM, with tile padding."""
        functions = (self._functions[name] for name in self._const_evals)
        return sum(
            function.values[value].layout.bytes
            for function in functions
            for value in function.results
            if function.values[value].layout.on_device
        )

    def largest_tensors(self, count: int = 5) -> list[tuple[str, int]]:
        """The largest arguments and intermediate values: name and bytes with tile padding."""
        sizes: list[tuple[str, int]] = []
        for function in self.program.functions:
            names = self._value_names(function)
            entry = function is self._entry
            sizes += [
                (f"{names[value]} {describe(spec.layout.dtype.value, spec.shape)}", spec.layout.bytes)
                for value, spec in enumerate(function.values)
                if value in names and spec.layout.on_device and (entry or value not in function.arguments)
            ]
        return sorted(sizes, key=lambda size: -size[1])[:count]

    def _value_names(self, function: Function) -> dict[int, str]:
        names = {result: step.op for step in function.body for result in step.results if step.op != TRACE}
        if function is self._entry:
            declared = (f"argument '{argument.name}'" for argument in self.program.arguments)
            names |= dict(zip(function.arguments, declared, strict=True))
        return names

    def run(self, tensors: Sequence[torch.Tensor], versions: Sequence[Version]) -> list[torch.Tensor]:
        """Runs the Program once.

        Args:
            tensors: CPU tensors of the declared shapes and dtypes, any strides. They are not written to.
            versions: for each tensor a token, unique in the process, that changes with its contents; None when that is
                not known.

        Returns:
            Contiguous CPU tensors of the declared shapes and dtypes that share no memory with anything.

        Raises:
            ExecutionError: arguments do not match, a value does not fit its on-device type, or an op fails.
            ResourceExhaustedError: by now other programs hold the DRAM or trace region this one needs.
        """
        with self.device.lock, torch.no_grad():
            if not self.counters.runs:
                self.device.check_memory(self)
                self._ledger = self._opened_ledger()
            arguments, tokens = self._reader.read(tensors, versions)
            registers: Registers = [None] * len(self._entry.values)
            known: list[Token] = [None] * len(self._entry.values)
            for value, tensor, token in zip(self._entry.arguments, arguments, tokens, strict=True):
                registers[value], known[value] = tensor, token
            self._run_steps(self._entry, registers, known)
            results = [registers[value] for value in self._entry.results]
            if self._ledger is not None:
                self._close_ledger(self._ledger)
            self.counters.runs += 1
            return self._own(results, arguments, tensors)

    def reset(self) -> None:
        """Back to cold: forgets const-eval results and the captured trace."""
        self.counters = Counters()
        self._const_evals.clear()
        self._traces = {name: _Trace([]) for name in self._traces}

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

    def _close_ledger(self, ledger: Residency) -> None:
        """That what the run took is what the compiler planned.

        Raises:
            ExecutionError: it is not.
        """
        self._ledger = None
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
        self, results: list[torch.Tensor], arguments: Iterable[torch.Tensor], tensors: Iterable[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Results widened, and copied where their memory belongs to someone else."""
        taken = {storage(tensor) for group in (arguments, tensors) for tensor in group}
        taken |= {storage(tensor) for entry in self._const_evals.values() for tensor in entry.results}
        owned: list[torch.Tensor] = []
        for tensor, result in zip(results, self.program.results, strict=True):
            widened = widen(tensor, result)
            # A small view would keep all of the memory behind it.
            partial = widened.untyped_storage().nbytes() != widened.numel() * widened.element_size()
            if widened.numel() and (partial or storage(widened) in taken):
                widened = widened.clone()
            taken.add(storage(widened))
            owned.append(widened)
        return owned

    # Preparing

    def _prepare(self, function: Function) -> list[_Step]:
        steps: list[_Step] = []
        for instruction in function.body:
            inputs = tuple(_flat(instruction.operands.values()))
            if instruction.op == DEALLOCATE:
                if steps:
                    steps[-1].drops += inputs
                continue
            if instruction.op == COPY and instruction.operands["dst"] in function.arguments:
                # Nothing reads the slot before: it becomes the tensor that would be copied there.
                instruction = Instruction(ASSIGN, {"input": inputs[0]}, (inputs[1],), {}, instruction.location)
                inputs = inputs[:1]
            step = _Step(instruction, inputs, [])
            if instruction.op in (LOAD_CACHED, TRACE):
                self._check_call(function, instruction)
            elif instruction.op in CONTROL:
                control.check(self.program, function, instruction)
            else:
                find(instruction.op, instruction.location)
                step.context = self._context(function, instruction)
                step.key = self._key(step.context, instruction)
            steps.append(step)
        return steps

    def _check_call(self, function: Function, instruction: Instruction) -> None:
        called = {"callee": FunctionKind.CONST_EVAL} if instruction.op == LOAD_CACHED else _TRACE_CALLEES
        if function is not self._entry:
            raise ExecutionError(
                f"{instruction.op} stands in function '{function.name}'; only the entry '{self._entry.name}' may call.",
                hint="This is a fault of the compiler; please report it.",
            )
        for name, kind in called.items():
            callee = str(instruction.attributes.get(name))
            if callee not in self._functions or self._functions[callee].kind is not kind:
                known = [other.name for other in self.program.functions if other.kind is kind]
                raise ExecutionError(
                    f"{instruction.op} calls '{callee}', which is not a {kind} function of program "
                    f"'{self.program.name}'; it has {', '.join(known) or 'none'}.",
                    hint="This is a fault of the compiler; please report it.",
                )

    def _context(self, function: Function, instruction: Instruction) -> Context:
        def specs(operand: Operand) -> Specs:
            if isinstance(operand, int):
                return function.values[operand]
            return tuple(function.values[value] for value in operand)

        return Context(
            instruction.op,
            self._numerics,
            {name: specs(operand) for name, operand in instruction.operands.items()},
            tuple(function.values[value] for value in instruction.results),
        )

    def _key(self, context: Context, instruction: Instruction) -> bytes:
        parts = (context.op, context.numerics, instruction.attributes, context.operands, context.results)
        key = msgspec.msgpack.encode(parts)
        return key if len(key) <= _WHOLE_KEY_BYTES else hashlib.blake2b(key, digest_size=32).digest()

    # Running

    def _run_steps(self, function: Function, registers: Registers, tokens: list[Token] | None = None) -> None:
        ledger = self._ledger
        for step in self._steps[function.name]:
            inputs = [registers[value] for value in step.inputs]
            instruction = step.instruction
            if ledger is not None:
                self._fits(ledger.run(function, instruction, self._functions))
            if step.context is not None:
                results = self._run_kernel(step, inputs)
            elif instruction.op in CONTROL:
                results = self._run_control(instruction, inputs)
            elif instruction.op == LOAD_CACHED:
                assert tokens is not None
                entry = self._load_cached(instruction, inputs, tuple(tokens[value] for value in step.inputs))
                results = entry.results
                for value, token in zip(instruction.results, entry.tokens, strict=True):
                    tokens[value] = token
            else:
                results = self._run_trace(self._traced(instruction), inputs)
            for value, tensor in zip(instruction.results, results, strict=True):
                registers[value] = tensor
            for value in step.drops:
                registers[value] = None
                if ledger is not None:
                    ledger.free((function.name, value))
        if ledger is not None and function is not self._entry:
            ledger.leave(function)

    def _run_control(self, instruction: Instruction, inputs: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        """A loop or a case. Its memory is accounted for once, however many rounds there are."""
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            for callee in called(instruction, self._functions):
                self._fits(account(callee, self._functions, ledger))
        results = control.run(instruction, inputs, self._call_function)
        self._ledger = ledger
        return results

    def _run_kernel(self, step: _Step, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        call = self._call(step)
        instruction = step.instruction
        try:
            results = call(inputs)
        except Exception as error:
            raise _failed(instruction, inputs, error) from error
        assert step.context is not None
        for tensor, spec in zip(results, step.context.results, strict=True):
            if tensor.shape != spec.shape:
                raise _failed(
                    instruction,
                    inputs,
                    ValueError(f"it gave shape {tuple(tensor.shape)}, the program declares {spec.shape}"),
                )
        return results

    def _call(self, step: _Step) -> Call:
        self.counters.kernel_lookups += 1
        context, instruction = step.context, step.instruction
        assert context is not None
        return self.device.bound(step.key, lambda: bind(context, instruction.attributes, instruction.location))

    def _load_cached(
        self, instruction: Instruction, inputs: list[torch.Tensor], tokens: tuple[Token, ...]
    ) -> _CacheEntry:
        callee = str(instruction.attributes["callee"])
        entry = self._const_evals.get(callee)
        if entry is not None and None not in tokens and entry.inputs == tokens:
            return entry
        results = self._call_function(callee, inputs)
        # A result lives on when the argument it is a view of changes.
        arguments = {storage(tensor) for tensor in inputs}
        results = [tensor.clone() if storage(tensor) in arguments else tensor for tensor in results]
        self.counters.const_evals += 1
        self._generation += 1
        tokens_out: list[Token] = [(callee, self._generation, index) for index in range(len(results))]
        entry = _CacheEntry(tokens, results, tokens_out)
        self._const_evals[callee] = entry
        return entry

    def _call_function(self, name: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        function = self._functions[name]
        registers = _bound_registers(function, inputs)
        self._run_steps(function, registers)
        return [registers[value] for value in function.results]

    def _traced(self, instruction: Instruction) -> Function:
        """The function behind a trace: the one that its capturing function calls."""
        capture = self._functions[str(instruction.attributes["capture_callee"])]
        name = next(str(inner.attributes["callee"]) for inner in capture.body if inner.op == CALL)
        return self._functions[name]

    def _run_trace(self, function: Function, inputs: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        """First run plainly, the second captures, later ones replay. Results are the last arguments, as slots that the
        function's copies fill."""
        trace = self._traces[function.name]
        if trace.captured:
            return self._replay(function, trace, inputs)
        if not trace.runs_before:
            trace.runs_before += 1
            return self._fill_slots(function, inputs)
        self.device.check_trace_region(self)
        trace.commands = self._commands(function)
        results = self._fill_slots(function, inputs)
        trace.captured = True
        self.counters.captures += 1
        return results

    def _fill_slots(self, function: Function, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        registers = _bound_registers(function, inputs)
        self._run_steps(function, registers)
        return [registers[value] for value in function.arguments[len(inputs) :]]

    def _commands(self, function: Function) -> list[_Command]:
        return [
            _Command(
                self._recorded(step) if step.instruction.op in CONTROL else self._call(step),
                step.inputs,
                step.instruction.results,
                tuple(step.drops),
                step.instruction,
            )
            for step in self._steps[function.name]
        ]

    def _recorded(self, step: _Step) -> Call:
        """The rounds of a loop as one command of a trace."""
        functions = [self._functions[name] for name in subprograms_of(step.instruction)]
        commands = {function.name: (function, self._commands(function)) for function in functions}

        def call(name: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
            function, recorded = commands[name]
            slots = _bound_registers(function, inputs)
            _play(recorded, slots)
            return [slots[value] for value in function.results]

        return lambda inputs: tuple(control.run(step.instruction, inputs, call))

    def _replay(self, function: Function, trace: _Trace, inputs: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        slots = _bound_registers(function, inputs)
        self.counters.replays += 1
        _play(trace.commands, slots)
        return [slots[value] for value in function.arguments[len(inputs) :]]


def _play(commands: Sequence[_Command], slots: Registers) -> None:
    for call, sources, targets, drops, instruction in commands:
        operands = [slots[value] for value in sources]
        try:
            results = call(operands)
        except Exception as error:
            raise _failed(instruction, operands, error) from error
        for value, tensor in zip(targets, results, strict=True):
            slots[value] = tensor
        for value in drops:
            slots[value] = None


def _bound_registers(function: Function, inputs: Sequence[torch.Tensor]) -> Registers:
    registers: Registers = [None] * len(function.values)
    for value, tensor in zip(function.arguments, inputs, strict=function.kind is not FunctionKind.TRACE):
        registers[value] = tensor
    return registers


def _flat(operands: Iterable[Operand]) -> Iterable[int]:
    for operand in operands:
        if isinstance(operand, int):
            yield operand
        else:
            yield from operand


def _failed(instruction: Instruction, inputs: Sequence[torch.Tensor], error: Exception) -> TTXLAError:
    if isinstance(error, TTXLAError):
        error.location = error.location or instruction.location
        return error
    given = ", ".join(describe(tensor.dtype, tensor.shape) for tensor in inputs) or "no operands"
    return ExecutionError(
        f"{instruction.op} failed on {given}: {type(error).__name__}: {error}".rstrip(".") + ".",
        hint="If the Program came from this version's compiler, please report it.",
        location=instruction.location,
    )
