"""Functions in the form that TT-NN calls ``fast_and_approximate_mode``, as TT-NN 0.81's kernels compute them.

The name of each ends with ``_approx``. Logarithms and roots are those of :mod:`.functions` without the steps that treat
zeros, denormals and negative numbers. ``wide`` says whether the accumulator has 32 bits. Source: the files
``ckernel_sfpu_*.h`` that each function names.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.functions import rounded, size_of
from tt_xla.runtime.emulator.tables import Table, in_halves, table

Tensor = torch.Tensor


def exp(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``exp(x)`` by Schraudolph's method, of a number that is at least -88.5 (``calculate_exponential`` with
    ``CLAMP_NEGATIVE``)."""
    slope = sfpu.single(256 * 1.4426950408889634)
    scaled = sfpu.mad(slope, sfpu.maximum(x, -88.5), 32500.818359375)
    return sfpu.number(sfpu.shifted(sfpu.to_integer(scaled, 0xFFFF, signed=False), 15))


def erf(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the error function by the guess of a reciprocal (``calculate_erf``)."""
    return functions.erf(x, wide=wide, steps=0)


def log(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the natural logarithm, NaN of denormals and of -0 (``calculate_log``)."""
    return rounded(functions.natural_log(x, wide=wide, normalises=False), wide=wide)


def log10(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logarithm of base 10, NaN of denormals and of -0 (``calculate_log``)."""
    return rounded(functions.natural_log(x, wide=wide, factor=functions.LOG10_E, normalises=False), wide=wide)


def log2(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logarithm of base 2, NaN of denormals and of -0 (``calculate_log``)."""
    return rounded(functions.natural_log(x, wide=wide, base_two=True, normalises=False), wide=wide)


def mish(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``x * tanh(log(1 + exp(x)))`` by an exponential of 21 bits and the guess of a reciprocal
    (``calculate_mish``)."""
    power = functions.exponential_21(x) if wide else functions.exponential_of_bfloat16(x)
    return functions.mish_of(x, power, 0, wide=wide)


def rsqrt(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``1 / sqrt(x)``; of negative numbers it is no NaN (``calculate_rsqrt``)."""
    return functions.rsqrt(x, wide=wide, checks=False)


def sqrt(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the square root; of negative numbers it is no NaN (``calculate_sqrt``)."""
    return functions.sqrt(x, wide=wide, checks=False)


_ENDS = np.array((0.5, 1.0, 1.5, 2.0, 3.0), np.float32)
"""Sizes at which the six lines of a table meet (SFPLUTFP32)."""
_GELU = (
    in_halves(0.1928, 0.4939, 0.6188, 0.6099, 0.5402, 0.5),
    in_halves(-0.00010443, -0.1604, -0.2795, -0.2635, -0.1194, 0.0),
)
_TANH = (
    in_halves(0.96191406, 0.57617188, 0.28710938, 0.0964355469, 0.0390625, 0.0),
    in_halves(0.0, 0.192871094, 0.48193359, 0.76806641, 0.8828125, 1.0),
)
_SIGMOID_ENDS = np.array((1.0, 2.0), np.float32)
"""Sizes at which the three lines of a short table meet (SFPLUT)."""
_SIGMOID = (
    np.array((0.2265625, 0.265625, 0.0), np.float32),
    np.array((0.0, -0.046875, 0.5), np.float32),
)


def _line(x: Tensor, ends: Table, lines: tuple[Table, Table]) -> Tensor:
    """Returns a line in the size of x, which a table chooses by the size."""
    size = size_of(x)
    chosen = torch.bucketize(size.contiguous(), table(ends, x), right=True)
    slopes, offsets = (table(each, x)[chosen] for each in lines)
    return sfpu.mad(slopes, size, offsets)


def gelu(x: Tensor, *, wide: bool) -> Tensor:
    """Returns half of x and one of six lines in its size (``calculate_gelu_appx``)."""
    return sfpu.mad(x, 0.5, _line(x, _ENDS, _GELU))


def tanh(x: Tensor, *, wide: bool) -> Tensor:
    """Returns one of six lines in the size of x, with the sign of x (``calculate_tanh``)."""
    return sfpu.with_sign(_line(x, _ENDS, _TANH), x)


def sigmoid(x: Tensor, *, wide: bool) -> Tensor:
    """Returns 0.5 and one of three lines in the size of x, with the sign of x (``calculate_sigmoid_appx``)."""
    return sfpu.add(sfpu.with_sign(_line(x, _SIGMOID_ENDS, _SIGMOID), x), 0.5)


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "erf_approx": erf,
    "exp_approx": exp,
    "gelu_approx": gelu,
    "log10_approx": log10,
    "log2_approx": log2,
    "log_approx": log,
    "mish_approx": mish,
    "rsqrt_approx": rsqrt,
    "sigmoid_approx": sigmoid,
    "sqrt_approx": sqrt,
    "tanh_approx": tanh,
}
"""Functions of one number by the name of their op; each takes a register and whether the accumulator has 32 bits."""
