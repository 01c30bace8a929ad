"""Weights that stay: which values of a Program they are, and kernels that work with what was made of them once."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch

from tt_xla.ir.program import Program, Role
from tt_xla.runtime.emulator.registry import Weighted

LOAD_CACHED = "ttcore.load_cached"
TRACE = "ttnn.capture_or_execute_trace"


class Prepared:
    """One instruction with weights of its own; they are prepared when the same tensor comes a second time.

    The tensor itself is not kept: who passes it has to pass another object when its contents are others.
    """

    __slots__ = ("_call", "_made", "_prepare", "_seen", "_with_prepared")

    def __init__(self, kernel: Weighted) -> None:
        self._call = kernel.call
        self._prepare = kernel.prepare
        self._with_prepared = kernel.with_prepared
        self._seen: weakref.ref[torch.Tensor] | None = None
        self._made: torch.Tensor | None = None

    def __call__(self, input: torch.Tensor, weights: torch.Tensor, *rest: torch.Tensor) -> Any:
        seen = self._seen
        if seen is None or seen() is not weights:
            self._made, self._seen = None, weakref.ref(weights)
            return self._call(input, weights, *rest)
        made = self._made
        if made is None:
            made = self._made = self._prepare(weights)
        return self._with_prepared(input, made, *rest)

    def release(self) -> None:
        """Drops what was made of weights that are gone."""
        if self._seen is not None and self._seen() is None:
            self._seen = self._made = None


def lasting(program: Program, traced: Iterable[tuple[tuple[int, ...], str]]) -> dict[str, set[int]]:
    """For each function, its values that are the same tensors in run after run: parameters, constants, what was
    computed of them, and the arguments that these are of functions behind a trace.

    Args:
        traced: of each trace, its operands and the function behind it.
    """
    entry = program.functions[0]
    arguments = zip(entry.arguments, program.arguments, strict=True)
    found = {value for value, argument in arguments if argument.role is not Role.INPUT and not argument.written}
    for step in entry.body:
        if step.op == LOAD_CACHED:
            found.update(step.results)
    lasting = {entry.name: found}
    functions = {function.name: function for function in program.functions}
    for operands, name in traced:
        inner = functions[name].arguments
        lasting[name] = {value for value, operand in zip(inner, operands, strict=False) if operand in found}
    return lasting
