"""Values of on-device number formats: rounding to bf16 and to the block floats, bit for bit as TT-NN packs them.

A block float keeps 16 consecutive elements of a face row, along the last dimension, as sign and magnitude with one
shared exponent: the largest of the 16. ``bfp_bf8`` has 7 bits of magnitude, ``bfp_bf4`` has 3.
"""

from __future__ import annotations

import numpy as np
import torch

from tt_xla.ir.layout import FACE

MAGNITUDE_BITS = {"bfp_bf8": 7, "bfp_bf4": 3}

_HIDDEN_BIT = 1 << 23
_MANTISSA = _HIDDEN_BIT - 1
_BLOCKS_AT_ONCE = 1 << 16


def quantize(values: torch.Tensor | np.ndarray, dtype: str) -> torch.Tensor:
    """Returns the float32 values that ``dtype`` holds after packing ``values``.

    Args:
        values: a tensor of any shape and floating dtype; its last dimension is padded with zeros to blocks of 16.
        dtype: ``bf16``, ``bfp_bf8`` or ``bfp_bf4``.

    Returns:
        A float32 tensor of the same shape, with the strides of ``values`` if that is dense.

    Raises:
        ValueError: ``dtype`` is none of the three.
    """
    tensor = torch.from_numpy(values) if isinstance(values, np.ndarray) else values
    if dtype == "bf16":
        return tensor.to(torch.bfloat16).to(torch.float32)
    if dtype not in MAGNITUDE_BITS:
        raise ValueError(f"Cannot quantize to {dtype!r}; expected bf16, bfp_bf8 or bfp_bf4.")
    source = tensor.to(torch.float32)
    if source.numel() == 0:
        return source
    columns = source.shape[-1] if source.ndim else 1
    padding = -columns % FACE
    matrix = source.reshape(-1, columns)
    if padding:
        matrix = torch.nn.functional.pad(matrix, (0, padding))
    blocks = matrix.reshape(-1, FACE)
    # Pieces that stay in the cache are three times as fast on a weight of a hundred megabytes.
    packed = torch.empty_like(blocks)
    for start in range(0, len(blocks), _BLOCKS_AT_ONCE):
        piece = slice(start, start + _BLOCKS_AT_ONCE)
        packed[piece] = _pack(blocks[piece], MAGNITUDE_BITS[dtype])
    result = packed.reshape(matrix.shape)[:, :columns].reshape(source.shape)
    if source.is_contiguous():
        return result
    return torch.empty_like(source).copy_(result)


def _pack(blocks: torch.Tensor, bits: int) -> torch.Tensor:
    """Rounds blocks, float32 ``[n, 16]``, to the values that sign, ``bits`` of magnitude and a shared exponent hold."""
    raw = blocks.contiguous().view(torch.int32)
    exponent = (raw >> 23) & 0xFF
    # Denormals count as zero.
    mantissa = torch.where(exponent > 0, (raw & _MANTISSA) | _HIDDEN_BIT, 0)
    shared = exponent.amax(dim=1, keepdim=True)
    # Bits that the alignment shifts out are lost before rounding, so a tie is decided on the bits that are left.
    mantissa = mantissa >> (shared - exponent).clamp_(max=31)
    cut = 24 - bits
    quantized = mantissa >> cut
    rest = mantissa & ((1 << cut) - 1)
    half = 1 << (cut - 1)
    quantized += ((rest > half) | ((rest == half) & (quantized & 1 == 1))).to(torch.int32)
    quantized.clamp_(max=(1 << bits) - 1)
    magnitude = torch.ldexp(quantized.to(torch.float32), shared - 127 - (bits - 1))
    magnitude.masked_fill_((exponent == 255) & (quantized > 1 << (bits - 1)), torch.nan)
    # The formats have no negative zero.
    return torch.where((raw < 0) & (quantized > 0), -magnitude, magnitude)
