"""The bits of NaN: one NaN for each type wherever somebody can see the bits.

Torch, oneDNN and C++ give a NaN different bits, and torch gives other ones to elements that fill no vector. Between ops
that does not matter: no number depends on the bits of a NaN. It matters where a value leaves a function, is written to
an argument or is read as bits. There an arithmetic op ends with the NaN that has the sign 0 and the mantissa 0.1. Ops
that only move elements keep all bits, because integers may travel as floats.

A program that fused kernels never compute a part of keeps torch's NaN: its calls are the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.runtime.binding import Code, Step
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.emulator.registry import find

_ARITHMETIC = frozenset(
    (
        "attention",
        "collective",
        "convolution",
        "elementwise",
        "gradients",
        "matrix",
        "normalization",
        "pooling",
        "reduction",
    )
)
"""Families of kernels whose ops compute new elements, but for those of :data:`_MOVES` and those that keep values."""

_MOVES = ("ttnn.bitwise_not", "ttnn.split_query_key_value_and_split_heads", "ttnn.where")
"""Ops of these families that keep the bits of their operands' elements, or read them."""


def is_arithmetic(step: Step) -> bool:
    """Whether an op computes new floats, so that the bits of its NaN are not those of an operand's."""
    context = step.context
    if context is None or not any(CONTAINERS[spec.layout.dtype].is_floating_point for spec in context.results):
        return False
    if context.op == "ttnn.typecast":
        held, wanted = context.spec("input").layout.dtype, context.dtype
        widens = held.is_float and CONTAINERS[held].itemsize <= CONTAINERS[wanted].itemsize
        return not widens or wanted.is_block_float  # a wider float has the same bits in front
    kernel = find(context.op)
    return kernel.family in _ARITHMETIC and not kernel.keeps_values and context.op not in _MOVES


def observed(code: Code) -> list[bool]:
    """Returns, for each step of a function, whether somebody can see the bits of a NaN that it computes."""
    seen = set(code.results)
    result: list[bool] = []
    for step in reversed(code.steps):
        is_seen = not step.instruction.results or not seen.isdisjoint(step.instruction.results)
        computes = is_arithmetic(step)
        result.append(computes and is_seen)
        reads_bits = step.context is None or step.context.op in _READERS
        if reads_bits or (is_seen and not computes):
            seen.update(step.inputs)
    return result[::-1]


_READERS = ("ttnn.bitcast_convert", "ttnn.bitwise_not", "ttnn.host_call", "ttnn.host_callback")
"""Ops whose results may be seen to depend on the bits of a NaN."""


def with_one_nan(call: Call) -> Call:
    """Returns ``call`` with results whose NaN all have the same bits."""

    def finished(*tensors: torch.Tensor) -> Any:
        result = call(*tensors)
        if isinstance(result, torch.Tensor):
            return _with_one_nan(result, tensors)
        return tuple(_with_one_nan(each, tensors) for each in result)

    return finished


def _with_one_nan(result: torch.Tensor, operands: Sequence[torch.Tensor]) -> torch.Tensor:
    if not result.is_floating_point():
        return result
    is_fresh = result._base is None and not any(result is operand for operand in operands)
    replace: Callable[..., torch.Tensor] = torch.nan_to_num_ if is_fresh else torch.nan_to_num
    return replace(result, math.nan, math.inf, -math.inf)


__all__ = ["is_arithmetic", "observed", "with_one_nan"]
