"""Fourier transforms of rows, and the parts that TT-NN composes long ones of. The parameters are TT-NN's."""

from __future__ import annotations

import math
from typing import Any

import torch

from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
Pair = tuple[Tensor, Tensor]


def _complex(real: Tensor, imaginary: Tensor | None) -> Tensor:
    first = real.float()
    return torch.complex(first, torch.zeros_like(first) if imaginary is None else imaginary.float())


def _parts(values: Tensor) -> Pair:
    return values.real.contiguous(), values.imag.contiguous()


def _turns(phases: Tensor, period: int) -> Tensor:
    """Returns ``exp(-2 * pi * i * phase / period)``."""
    angle = phases.remainder(period).double() * (-2 * math.pi / period)
    return torch.polar(torch.ones_like(angle), angle).to(torch.complex64)


@kernel("ttnn.experimental.fft")
def fft(ctx: Any, input_real: Tensor, input_imag: Tensor | None = None, precision: str = "precise") -> Pair:
    """Computes the discrete Fourier transform of the last dimension."""
    return _parts(torch.fft.fft(_complex(input_real, input_imag)))


@kernel("ttnn.experimental.ifft")
def ifft(ctx: Any, spectrum_real: Tensor, spectrum_imag: Tensor, precision: str = "precise") -> Pair:
    """Computes the inverse transform of the last dimension, divided by its length."""
    return _parts(torch.fft.ifft(_complex(spectrum_real, spectrum_imag)))


@kernel("ttnn.experimental.bluestein_fft")
def bluestein_fft(
    ctx: Any, input_real: Tensor, N: int, input_imag: Tensor | None = None, precision: str = "precise"
) -> Pair:
    """Computes the transform of rows of any length ``N``."""
    if input_real.shape[-1] != N:
        raise ValueError(f"bluestein_fft: the last dimension must be N = {N}, got {input_real.shape[-1]}")
    return fft(ctx, input_real, input_imag)


@kernel("ttnn.experimental.apply_twiddles")
def apply_twiddles(ctx: Any, input_real: Tensor, input_imag: Tensor, N1: int, N2: int) -> Pair:
    """Multiplies row r by ``exp(-2 * pi * i * (r % N2) * k / (N1 * N2))``."""
    return apply_twiddles_xl(ctx, input_real, input_imag, N1, N2, N1 * N2)


@kernel("ttnn.experimental.apply_twiddles_xl")
def apply_twiddles_xl(ctx: Any, input_real: Tensor, input_imag: Tensor, P: int, big_modulus: int, full_N: int) -> Pair:
    """Multiplies row r by ``exp(-2 * pi * i * (r % big_modulus) * k / full_N)``."""
    values = _complex(input_real, input_imag)
    return _parts(values * _row_turns(values, P, 1, big_modulus, full_N))


def _row_turns(values: Tensor, length: int, stride: int, modulus: int, period: int) -> Tensor:
    """Returns the factor of each element: its column times its row's number turns."""
    count = values.numel() // length
    rows = torch.arange(count, device=values.device, dtype=torch.int64) // stride % modulus
    phases = rows.unsqueeze(1) * torch.arange(length, device=values.device, dtype=torch.int64)
    return _turns(phases, period).reshape(values.shape)


@kernel("ttnn.experimental.fft_radix_pass")
def fft_radix_pass(
    ctx: Any,
    input_real: Tensor,
    P: int,
    input_imag: Tensor | None = None,
    twiddle_N2: int = 0,
    stride: int = 1,
    output_scale: float = 1.0,
) -> Pair:
    """Transforms rows of length ``P``, and turns the elements as the next pass of a longer transform expects."""
    values = torch.fft.fft(_complex(input_real, input_imag))
    if twiddle_N2:
        values = values * _row_turns(values, P, stride, twiddle_N2, P * twiddle_N2)
    return _parts(values * output_scale)


@kernel("ttnn.experimental.fft_three_pass")
def fft_three_pass(
    ctx: Any,
    input_real: Tensor,
    full_N: int,
    input_imag: Tensor | None = None,
    precision: str = "precise",
    inverse: bool = False,
) -> Pair:
    """Transforms signals of length ``full_N = N1 * N2 * N3`` that lie as rows [N1 * N2, N3].

    The spectrum has the order of its frequencies, and the shape [batch, N3, N2, N1].
    """
    last = input_real.shape[-1]
    first = 1 << -(-((full_N // last).bit_length() - 1) // 2)
    signal = _complex(input_real, input_imag).reshape(-1, full_N)
    spectrum = torch.fft.ifft(signal) if inverse else torch.fft.fft(signal)
    return _parts(spectrum.reshape(-1, last, full_N // last // first, first))
