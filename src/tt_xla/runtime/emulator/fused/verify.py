"""Drawn operands on which a fused kernel is compared with the calls that it stands for, bit by bit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator.fused.cpp import Operand

_PERIOD = 4093
"""Numbers that are drawn for a tensor, at most. A large one repeats them; the period is prime, so that they fall on
other places in each row."""

_WIDEST = 60
"""Numbers of wide range lie between 2**-60 and 2**60 in magnitude."""

_SPECIAL = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-39, -1e-39, 3.0e38, -3.0e38, 1.00390625)
"""NaN, infinities, zeros, denormals, numbers that overflow when added, and a tie of rounding to bfloat16."""

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


def operands_of(operands: Sequence[Operand]) -> Iterator[list[torch.Tensor]]:
    """Draws operands that lie as ``operands``, several times: ordinary numbers, a wide range, special values."""
    kinds = (_ordinary, _wide, _with_special_values)
    for seed, draw in itertools.product(range(2), kinds):
        generator = torch.Generator(device="cpu").manual_seed(seed)
        yield [_laid_out(operand, draw, generator) for operand in operands]


def _laid_out(operand: Operand, draw: Callable[..., torch.Tensor], generator: torch.Generator) -> torch.Tensor:
    span = 1 + sum((size - 1) * step for size, step in zip(operand.shape, operand.stride, strict=True))
    numbers = draw(min(span, _PERIOD), operand.dtype, generator)
    return numbers.repeat(-(-span // len(numbers)))[:span].as_strided(operand.shape, operand.stride)


def _ordinary(count: int, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    if dtype is torch.int32:  # few different ones, so that some are equal
        return torch.randint(-4, 4, (count,), generator=generator, dtype=dtype, device="cpu")
    return torch.randn(count, generator=generator, device="cpu", dtype=torch.float32).to(dtype)


def _wide(count: int, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    if dtype is torch.int32:
        return torch.randint(-(2**31), 2**31, (count,), generator=generator, dtype=dtype, device="cpu")
    exponents = torch.randint(-_WIDEST, _WIDEST, (count,), generator=generator, device="cpu")
    return torch.ldexp(torch.randn(count, generator=generator, device="cpu", dtype=torch.float32), exponents).to(dtype)


def _with_special_values(count: int, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    numbers = _ordinary(count, dtype, generator)
    if dtype is torch.int32:
        return numbers
    special = torch.tensor(_SPECIAL, device="cpu", dtype=torch.float32).to(dtype)
    chosen = torch.randint(0, 4 * len(special), (count,), generator=generator, device="cpu")
    return torch.where(chosen < len(special), special[chosen % len(special)], numbers)


def same_bits(actual: Any, expected: Any) -> bool:
    """Whether two tensors, or two tuples of tensors, agree in shape, dtype and every bit; a NaN agrees with any NaN.

    A NaN has no bits of its own until it is seen (:mod:`~tt_xla.runtime.emulator.nans`). :func:`identical` compares
    tensors that are seen.
    """
    if isinstance(expected, tuple):
        return len(actual) == len(expected) and all(map(same_bits, actual, expected))
    differing = _differing(actual, expected)
    return differing is not None and not bool((differing & ~(actual.isnan() & expected.isnan())).any())


def identical(actual: Any, expected: Any) -> bool:
    """Whether two tensors, or two tuples of tensors, agree in shape, dtype and every bit, those of NaN included."""
    if isinstance(expected, tuple):
        return len(actual) == len(expected) and all(map(identical, actual, expected))
    differing = _differing(actual, expected)
    return differing is not None and not bool(differing.any())


def _differing(actual: torch.Tensor, expected: torch.Tensor) -> torch.Tensor | None:
    """Returns where two tensors have different bits; None where they have another shape or dtype."""
    if actual.shape != expected.shape or actual.dtype is not expected.dtype:
        return None
    bits = _BITS[expected.element_size()]
    return actual.contiguous().view(bits) != expected.contiguous().view(bits)
