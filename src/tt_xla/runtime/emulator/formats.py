"""Values of on-device number formats: rounding to bf16 and to the block floats, bit for bit as TT-NN packs them.

A block float keeps 16 consecutive elements of a face row, along the last dimension, as sign and magnitude with one
shared exponent: the largest of the 16. ``bfp_bf8`` has 7 bits of magnitude, ``bfp_bf4`` has 3.
"""

from __future__ import annotations

import numpy as np
import torch

from tt_xla.ir.layout import FACE
from tt_xla.runtime.emulator import block_floats

MAGNITUDE_BITS = {"bfp_bf8": 7, "bfp_bf4": 3}

_HIDDEN_BIT = 1 << 23
_MANTISSA = _HIDDEN_BIT - 1
_BLOCKS_AT_ONCE = 1 << 16
_INFINITY = 0xFF << 23
_SMALLEST_SCALED = (127 - 100) << 23
"""Bits of 2^-100. The powers of two that scale a block with a larger element are normal numbers of float32."""


def quantize(values: torch.Tensor | np.ndarray, dtype: str, container: torch.dtype = torch.float32) -> torch.Tensor:
    """Returns the values that ``dtype`` holds after packing ``values``.

    Args:
        values: a tensor of any shape and floating dtype; its last dimension is padded with zeros to blocks of 16.
        dtype: ``bf16``, ``bfp_bf8`` or ``bfp_bf4``.
        container: dtype of the result, which holds all values of ``dtype``.

    Returns:
        A tensor of the same shape, with the strides of ``values`` if that is dense.

    Raises:
        ValueError: ``dtype`` is none of the three.
    """
    tensor = torch.from_numpy(values) if isinstance(values, np.ndarray) else values
    if dtype == "bf16":
        return tensor.to(torch.bfloat16).to(container)
    if dtype not in MAGNITUDE_BITS:
        raise ValueError(f"Cannot quantize to {dtype!r}; expected bf16, bfp_bf8 or bfp_bf4.")
    source = tensor if tensor.dtype is torch.bfloat16 else tensor.to(torch.float32)
    if source.numel() == 0:
        return source.to(container)
    columns = source.shape[-1] if source.ndim else 1
    padding = -columns % FACE
    matrix = source.reshape(-1, columns)
    if padding:
        matrix = torch.nn.functional.pad(matrix, (0, padding))
    blocks, bits = matrix.reshape(-1, FACE), MAGNITUDE_BITS[dtype]
    packed = block_floats.packed(blocks, bits, container)
    if packed is None:
        packed = _narrowed(_in_pieces(blocks.to(torch.float32), bits), container)
    result = packed.reshape(matrix.shape)[:, :columns].reshape(source.shape)
    if source.is_contiguous():
        return result
    return torch.empty_like(source, dtype=container).copy_(result)


def _narrowed(values: torch.Tensor, container: torch.dtype) -> torch.Tensor:
    """Returns float32 values that bfloat16 holds, in a container. The signs of NaN stay, which torch's conversion to
    bfloat16 loses for some elements of a tensor and not for others."""
    if container is not torch.bfloat16:
        return values.to(container)
    return (values.view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)


def _in_pieces(blocks: torch.Tensor, bits: int) -> torch.Tensor:
    """Returns the values of :func:`pack_by_bits`. Pieces that stay in the CPU's cache are three times as fast on a
    weight of a hundred megabytes."""
    packed = torch.empty_like(blocks)
    for start in range(0, len(blocks), _BLOCKS_AT_ONCE):
        piece = slice(start, start + _BLOCKS_AT_ONCE)
        packed[piece] = pack_by_scaling(blocks[piece], bits)
    return packed


def pack_by_scaling(blocks: torch.Tensor, bits: int) -> torch.Tensor:
    """Returns the values of :func:`pack_by_bits`, by arithmetic of floats where that is exact, in a tenth of the time.

    A block is multiplied by the power of two that turns its aligned mantissas into integers. Blocks with infinities or
    NaN, and those whose largest element is below 2^-100 without being 0, are left to :func:`pack_by_bits`.
    """
    largest = blocks.abs().view(torch.int32).amax(dim=1, keepdim=True)
    shared = (largest & _INFINITY).clamp_(min=_SMALLEST_SCALED)
    # Conversion to integers drops the bits that the alignment shifts out; torch.round decides ties for even numbers.
    mantissas = (blocks * (((254 + 23) << 23) - shared).view(torch.float32)).to(torch.int32).to(torch.float32)
    limit = float((1 << bits) - 1)
    quantized = mantissas.mul_(2.0 ** (bits - 24)).round_().clamp_(-limit, limit)
    result = quantized.mul_((shared - ((bits - 1) << 23)).view(torch.float32)).add_(0.0)  # -0.0 becomes 0.0
    others = ((largest >= _INFINITY) | ((largest < _SMALLEST_SCALED) & (largest > 0))).squeeze(1)
    if bool(others.any()):
        result[others] = pack_by_bits(blocks[others], bits)
    return result


def pack_by_bits(blocks: torch.Tensor, bits: int) -> torch.Tensor:
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
