"""Checks that only the first run of a Program needs: the shape of each value, and how much memory the run takes."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from tt_xla.cost.residency import Overflow, Residency, account, called, held_arguments, walk
from tt_xla.errors import ExecutionError, ResourceExhaustedError
from tt_xla.ir.program import Function, Instruction, Program
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.transfer import describe
from tt_xla.target import Target


class FirstRun:
    """The first run of a Program. Later runs execute the same instructions and need no checks.

    Args:
        program: the Program.
        functions: its functions by name.
        target: the chip whose memory is accounted for; None checks shapes only.

    Raises:
        ResourceExhaustedError: the arguments do not fit in DRAM.
    """

    def __init__(self, program: Program, functions: Mapping[str, Function], target: Target | None) -> None:
        self._program, self._functions = program, functions
        self._memory = None if target is None else Residency(target)
        """Address of each live tensor. None while nothing is to be accounted for."""
        if self._memory is not None:
            entry = program.functions[0]
            for value in held_arguments(entry, program.arguments):
                self._require_fit(self._memory.hold((entry.name, value), entry.values[value]))

    @property
    def memory_in_use(self) -> tuple[int, int] | None:
        """Bytes in DRAM, all banks together, and bytes in a core's L1; None while memory is not accounted for."""
        memory = self._memory
        return None if memory is None else (memory.dram.used * memory.target.dram_banks, memory.l1.used)

    def checked(self, function: Function, step: Step, call: Call) -> Call:
        """Wraps the call of an instruction so that its memory is accounted for and its result shapes are compared with
        the declared ones."""
        instruction = step.instruction

        def checked_call(*tensors: torch.Tensor) -> Any:
            memory = self._memory
            if memory is not None:
                self._require_fit(memory.run(function, instruction, self._functions))
            returned = call(*tensors)
            if step.context is not None:
                results = (returned,) if len(instruction.results) == 1 else returned
                for tensor, value in zip(results, instruction.results, strict=True):
                    declared_shape = function.values[value].shape
                    if tensor.shape != declared_shape:
                        raise ValueError(
                            f"the kernel returned shape {tuple(tensor.shape)}, the program declares {declared_shape}"
                        )
            if memory is not None:
                for value in step.drops:
                    memory.free((function.name, value))
            return returned

        return checked_call

    def leave(self, function: Function) -> None:
        """Frees what a function that the entry called still holds when it returns."""
        if self._memory is not None:
            self._memory.leave(function)

    @contextmanager
    def accounted_once(self, instruction: Instruction) -> Generator[None]:
        """Accounts for the functions of a loop or case once, however often the body of the context runs them."""
        memory, self._memory = self._memory, None
        if memory is not None:
            for callee in called(instruction, self._functions):
                self._require_fit(account(callee, self._functions, memory))
        try:
            yield
        finally:
            self._memory = memory

    def check_plan(self) -> None:
        """Compares the peaks of the run with the compiler's memory plan.

        Raises:
            ExecutionError: they differ.
        """
        if self._memory is not None:
            self._compare(self._memory)

    def check_plan_of(self, program: Program, target: Target) -> None:
        """Compares an account of one chip's Program with its memory plan, in the place of the run of a mesh.

        Raises:
            ExecutionError: they differ.
            ResourceExhaustedError: the Program does not fit in the chip's memory.
        """
        memory = Residency(target, program.mesh)
        self._require_fit(walk(program, memory))
        self._compare(memory)

    def _compare(self, memory: Residency) -> None:
        plan = self._program.memory
        planned = (plan.dram_peak_bytes, plan.l1_peak_bytes_per_core)
        measured = (memory.dram_peak_bytes, memory.l1.peak)
        if measured != planned:
            raise ExecutionError(
                f"Program '{self._program.name}' took {measured[0]} bytes of DRAM and {measured[1]} bytes of a core's "
                f"L1 at its peak; its memory plan says {planned[0]} and {planned[1]}.",
                hint="This is a fault of the compiler or of an edited Program; please report it.",
            )

    def _require_fit(self, overflow: Overflow | None) -> None:
        if overflow is not None:
            raise ResourceExhaustedError(
                f"Program '{self._program.name}' does not fit in {overflow.space.name} as it runs: "
                f"{describe(overflow.spec.layout.dtype.value, overflow.spec.shape)} needs {overflow.bytes} bytes in "
                "each bank.",
                hint="If the Program came from this version's compiler, please report it.",
            )
