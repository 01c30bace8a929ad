"""Turns a function of a Program into straight-line Python: one bound kernel a line, values in local variables.

    def main(v0, v1, v2):
        v5 = call0(v2, v0, v1); v2 = None
        v6 = call1(v5); v5 = None
        return v6,

Everything that can be decided before the first run is decided when the calls are bound, so a run looks nothing up and
checks nothing. When a call raises, the line and the local variables of its frame tell which instruction failed, and on
which operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

import torch

from tt_xla.errors import ExecutionError, TTXLAError
from tt_xla.ir.program import Instruction
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.transfer import describe

Linked = Callable[..., tuple[torch.Tensor, ...]]
"""A runnable function: takes its arguments, flat and in order, and returns its results."""

_FIRST_LINE = 2
"""Line of the first step in the generated text."""

_MANY_STEPS = 64
"""Steps of a function that are worth 5 us of a frame in memory of its own."""

_FRAME_WORDS = 2048
"""Words of a frame that CPython cannot put into what is left of a block of its stack, which has 16 KiB."""


@dataclass(slots=True)
class Step:
    """One instruction, ready to be bound to a call."""

    instruction: Instruction
    inputs: tuple[int, ...]
    """Value numbers of the operands, flat and in order."""
    drops: list[int]
    """Values that are deallocated after the instruction."""
    context: Context | None = None
    """Facts that the kernel is bound to; None for instructions that run other functions."""
    key: bytes = b""
    """Key of the kernel in the device's program cache."""
    chip: int = 0
    """Position in the mesh of the first chip that runs the instruction."""


class Code:
    """The generated Python of one function.

    Args:
        name: name of the function, shown in tracebacks.
        steps: instructions in order.
        arguments: value numbers of the arguments.
        results: value numbers of the results.
    """

    def __init__(self, name: str, steps: Sequence[Step], arguments: Iterable[int], results: Iterable[int]) -> None:
        self.name, self.steps = name, steps
        self.arguments, self.results = list(arguments), list(results)
        self.text = _text(steps, self.arguments, self.results)
        self._code = compile(self.text, f"<{name}>", "exec")

    def link(self, calls: Iterable[Callable[..., Any]]) -> Linked:
        """Returns the function with a call for each step.

        Args:
            calls: one call for each step. Each takes tensors and returns a tensor, or a tuple unless the step has
                exactly one result.

        The returned function raises errors of this package unchanged, and any other error of a kernel as
        :class:`ExecutionError`.
        """
        names: dict[str, Any] = {f"call{index}": call for index, call in enumerate(calls)}
        exec(self._code, names)
        function: Any = names.pop("run")  # otherwise the function and its globals would be a reference cycle
        if len(self.steps) >= _MANY_STEPS:
            function.__code__ = _in_memory_of_its_own(function.__code__)
        code = function.__code__

        def linked(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            try:
                return function(*tensors)
            except Exception as error:
                failed = self._failed(code, error)
                if failed is error:
                    raise
                raise failed from error

        return linked

    def _failed(self, code: CodeType, error: Exception) -> Exception:
        """Returns the error to raise: with the instruction's operands and the user's source line."""
        frame = _frame(code, error.__traceback__)
        if frame is None or not 0 <= frame.tb_lineno - _FIRST_LINE < len(self.steps):
            return error
        step = self.steps[frame.tb_lineno - _FIRST_LINE]
        if step.context is None:  # the inner function has described its error already
            return error
        instruction = step.instruction
        if isinstance(error, TTXLAError):
            error.location = error.location or instruction.location
            return error
        inputs = (frame.tb_frame.f_locals[f"v{value}"] for value in step.inputs)
        operands = ", ".join(describe(tensor.dtype, tensor.shape) for tensor in inputs) or "no operands"
        return ExecutionError(
            f"{instruction.op} failed on {operands}: {type(error).__name__}: {error}".rstrip(".") + ".",
            hint="If the Program came from this version's compiler, please report it.",
            location=instruction.location,
        )


def _in_memory_of_its_own(code: CodeType) -> CodeType:
    """Returns the code with a frame so large that CPython begins a new block of its stack for it, with room for calls.

    CPython 3.11 and later keep frames in blocks. Where a block is full, each call maps a new one and unmaps it when it
    returns, which took 30 ms of a run of 800 steps.
    """
    return code.replace(co_stacksize=code.co_stacksize + _FRAME_WORDS)


def _text(steps: Sequence[Step], arguments: Iterable[int], results: Iterable[int]) -> str:
    """Returns the Python source of a function."""
    lines = [f"def run({', '.join(f'v{value}' for value in arguments)}):"]
    for index, step in enumerate(steps):
        inputs = ", ".join(f"v{value}" for value in step.inputs)
        targets = ", ".join(f"v{value}" for value in step.instruction.results)
        drops = "".join(f"; v{value} = None" for value in step.drops)
        lines.append(f"    {f'{targets} = ' if targets else ''}call{index}({inputs}){drops}")
    lines.append(f"    return ({''.join(f'v{value}, ' for value in results)})")
    return "\n".join(lines) + "\n"


def _frame(code: CodeType, traceback: TracebackType | None) -> TracebackType | None:
    """Returns the traceback entry at which the error passed through ``code``, or None."""
    while traceback is not None and traceback.tb_frame.f_code is not code:
        traceback = traceback.tb_next
    return traceback
