"""A function of a Program as straight-line Python: one bound kernel a line, values in locals.

    def main(v0, v1, v2):
        v5 = call0(v2, v0, v1); v2 = None
        v6 = call1(v5); v5 = None
        return v6,

All that is decided before the first run stands in the calls; running looks nothing up and checks nothing. Line and
locals of an error's frame tell which instruction failed, and on what.
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
"""A function's arguments, flat and in order, to its results."""

_FIRST_LINE = 2


@dataclass(slots=True)
class Step:
    """One instruction, ready to be bound; ``drops`` are the values deallocated after it."""

    instruction: Instruction
    inputs: tuple[int, ...]
    drops: list[int]
    context: Context | None = None
    """Set for kernels."""
    key: bytes = b""


class Code:
    """The Python of one function.

    Args:
        name: of the function, for tracebacks.
        arguments: the values that are passed in.
        results: the values that are returned.
    """

    def __init__(self, name: str, steps: Sequence[Step], arguments: Iterable[int], results: Iterable[int]) -> None:
        self.name, self.steps = name, steps
        self.arguments, self.results = list(arguments), list(results)
        self.text = _text(steps, self.arguments, self.results)
        self._code = compile(self.text, f"<{name}>", "exec")

    def link(self, calls: Iterable[Callable[..., Any]]) -> Linked:
        """The function with a call for each step: of tensors, to a tensor, or to a tuple unless there is one result.

        What it raises: errors of this package as they are, any other as :class:`ExecutionError`.
        """
        names: dict[str, Any] = {f"call{index}": call for index, call in enumerate(calls)}
        exec(self._code, names)
        function: Linked = names.pop("run")  # so that it and its names are no cycle
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
        """The error with the user's line of the instruction that it came from."""
        found = _frame(code, error.__traceback__)
        if found is None or not 0 <= found.tb_lineno - _FIRST_LINE < len(self.steps):
            return error
        step = self.steps[found.tb_lineno - _FIRST_LINE]
        if step.context is None:  # a const-eval function or a trace, which speaks for itself
            return error
        instruction = step.instruction
        if isinstance(error, TTXLAError):
            error.location = error.location or instruction.location
            return error
        inputs = (found.tb_frame.f_locals[f"v{value}"] for value in step.inputs)
        given = ", ".join(describe(tensor.dtype, tensor.shape) for tensor in inputs) or "no operands"
        return ExecutionError(
            f"{instruction.op} failed on {given}: {type(error).__name__}: {error}".rstrip(".") + ".",
            hint="If the Program came from this version's compiler, please report it.",
            location=instruction.location,
        )


def _text(steps: Sequence[Step], arguments: Iterable[int], results: Iterable[int]) -> str:
    lines = [f"def run({', '.join(f'v{value}' for value in arguments)}):"]
    for index, step in enumerate(steps):
        inputs = ", ".join(f"v{value}" for value in step.inputs)
        targets = ", ".join(f"v{value}" for value in step.instruction.results)
        drops = "".join(f"; v{value} = None" for value in step.drops)
        lines.append(f"    {f'{targets} = ' if targets else ''}call{index}({inputs}){drops}")
    lines.append(f"    return ({''.join(f'v{value}, ' for value in results)})")
    return "\n".join(lines) + "\n"


def _frame(code: CodeType, traceback: TracebackType | None) -> TracebackType | None:
    """Where the error passed through ``code``."""
    while traceback is not None and traceback.tb_frame.f_code is not code:
        traceback = traceback.tb_next
    return traceback
