"""The fence around the faster ways: a fault in one is reported once, and the kernel computes the result instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator.context import Call, Context
from tt_xla.runtime.emulator.report import report
from tt_xla.runtime.transfer import describe

Tensor = torch.Tensor
Instead = Callable[[Exception, Sequence[Tensor]], Any]
"""Computes a result after an error of a faster way. Takes the error and the operands."""

_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")
"""Parts of torch's messages when the host has no more memory, which torch raises as RuntimeError on a CPU."""


class Fence:
    """The kernel of one instruction, which computes when the faster way fails.

    Args:
        context: facts about the instruction.
        attributes: its attributes.
        kernel: the kernel as a function of the operands, in their order.
    """

    def __init__(self, context: Context, attributes: Mapping[str, Any], kernel: Call) -> None:
        self._context, self._attributes, self._kernel = context, attributes, kernel

    def compute(self, error: Exception, tensors: Sequence[Tensor]) -> Any:
        """Returns the kernel's result after an error of the faster way, and reports the error.

        Raises:
            Exception: the error itself when memory ran out, or the kernel's where it refuses the operands too.
        """
        if _is_exhaustion(error):
            raise error
        try:
            result = self._kernel(*tensors)
        except Exception as refusal:
            raise refusal from None
        self.report(error, tensors)
        return result

    def with_restored(self, restore: Callable[[Tensor], Tensor]) -> Instead:
        """Returns :meth:`compute` for operands whose second one, the weights, is prepared."""

        def compute(error: Exception, tensors: Sequence[Tensor]) -> Any:
            if _is_exhaustion(error):
                raise error
            a, prepared, *rest = tensors
            return self.compute(error, (a, restore(prepared), *rest))

        return compute

    def preparing(self, prepare: Callable[[Tensor], Tensor | None]) -> Callable[[Tensor], Tensor | None]:
        """Returns ``prepare``, which returns None from its first fault on."""
        failed = False

        def fenced(weights: Tensor) -> Tensor | None:
            nonlocal failed
            if failed:
                return None
            try:
                return prepare(weights)
            except Exception as error:
                if _is_exhaustion(error):
                    raise
                failed = True
                self.report(error, [weights])
                return None

        return fenced

    def report(self, error: Exception, tensors: Sequence[Tensor] = ()) -> None:
        """Reports an error of the faster way, with the operands it had."""
        report(
            error,
            name="faster-op",
            failed=f"A faster way to compute {self._context.op} failed",
            outcome="its kernel computes the result instead",
            details=lambda: self._details(tensors),
        )

    def _details(self, tensors: Sequence[Tensor]) -> list[str]:
        context = self._context
        specs = ", ".join(f"{spec.layout.dtype.value}{list(spec.shape)}" for spec in context.specs)
        return [
            "Instruction",
            f"  {context.op} of {', '.join(context.operands)} {dict(self._attributes)} [{specs}], {context.numerics}",
            "Operands",
            *(f"  {describe(tensor.dtype, tensor.shape)}, {tensor.layout}" for tensor in tensors),
            "",
            torch.__config__.show(),
        ]


def _is_exhaustion(error: Exception) -> bool:
    message = str(error)
    exhausted = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return exhausted or (isinstance(error, RuntimeError) and any(part in message for part in _NO_MEMORY))
