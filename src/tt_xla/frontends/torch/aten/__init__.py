"""Lowering rules from aten ops to ``jax.lax``: one file per op family, and one table in :mod:`.registry`."""

from tt_xla.frontends.torch.aten import (
    complex_numbers,
    convolution,
    derivatives,
    factories,
    fourier,
    indexing,
    linalg,
    matmul,
    normalization,
    pointwise,
    pooling,
    reductions,
    resizing,
    selection,
    shapes,
    sorting,
    strided,
)
from tt_xla.frontends.torch.aten.registry import LOWERINGS, Context

__all__ = [
    "LOWERINGS",
    "Context",
    "complex_numbers",
    "convolution",
    "derivatives",
    "factories",
    "fourier",
    "indexing",
    "linalg",
    "matmul",
    "normalization",
    "pointwise",
    "pooling",
    "reductions",
    "resizing",
    "selection",
    "shapes",
    "sorting",
    "strided",
]
