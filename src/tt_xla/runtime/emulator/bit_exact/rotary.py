"""Rotary embeddings as TT-NN's kernels compute them: products of the matrix unit, which it adds.

Products lie in buffers of the caches' types before they are added. Source: tt-metal's ``rotary_embedding.cpp`` and
``rotary_embedding_hf.cpp``, compute kernels and program factories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.layout import DataType
from tt_xla.runtime.emulator.bit_exact import matrix_unit
from tt_xla.runtime.emulator.bit_exact.registers import packed, source
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_PHASES = matrix_unit.PHASES["hifi4"]


@kernel("ttnn.rotary_embedding", bit_exact=True)
def rotary_embedding(
    ctx: Context,
    input: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    token_index: int | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Tensor:
    """TT-NN takes a compute config, and multiplies in HiFi4 with a 16-bit accumulator whatever it says."""
    rows = input.shape[-2]
    start, count = (0, rows) if token_index is None else (token_index, 1)
    cosine, sine = (cache.narrow(-2, start, count) for cache in (cos_cache, sin_cache))
    rotated = _rotated(input, cosine, sine, *(ctx.spec(name).layout.dtype for name in ("cos_cache", "sin_cache")))
    missing = ctx.result.shape[-2] - rows
    result = packed(F.pad(rotated, (0, 0, 0, missing)) if missing else rotated, ctx.dtype)
    return result.to(ctx.container)


@kernel("ttnn.experimental.rotary_embedding_hf", bit_exact=True)
def rotary_embedding_hf(
    ctx: Context, input_tensor: Tensor, cos_cache: Tensor, sin_cache: Tensor, is_decode_mode: bool = False
) -> Tensor:
    rows = 1 if is_decode_mode else input_tensor.shape[-2]
    cosine, sine = cos_cache[..., :rows, :], sin_cache[..., :rows, :]
    types = [ctx.spec(name).layout.dtype for name in ("cos_cache", "sin_cache")]
    return packed(_rotated(input_tensor, cosine, sine, *types), ctx.dtype).to(ctx.container)


def _rotated(x: Tensor, cosine: Tensor, sine: Tensor, of_cosine: DataType, of_sine: DataType) -> Tensor:
    """Returns ``x * cos + rotate_half(x) * sin`` as the accumulator holds it.

    Args:
        x: the input.
        cosine: rows of the cache of cosines.
        sine: rows of the cache of sines.
        of_cosine: type of the buffer in which the product with the cosine lies.
        of_sine: type of the buffer in which the product with the sine lies.
    """
    low, high = x.chunk(2, -1)
    terms = ((x, cosine, of_cosine), (torch.cat([-high, low], -1), sine, of_sine))
    products = [packed(_multiply(a, b), dtype) for a, b, dtype in terms]
    return matrix_unit.add(*(source(product, wide=False) for product in products), wide=False)


def _multiply(a: Tensor, b: Tensor) -> Tensor:
    return matrix_unit.multiply(source(a, wide=False), source(b, wide=False), phases=_PHASES, wide=False)
