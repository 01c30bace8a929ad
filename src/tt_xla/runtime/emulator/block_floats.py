"""Rounding to block floats in C++, with the bits of :mod:`.formats` and a tenth of its time on large weights."""

from __future__ import annotations

import functools

import torch

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.fused.library import BackgroundFunction

Tensor = torch.Tensor

_SOURCE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>

static const int BLOCK = 16;

static inline float number(uint32_t bits) { float result; memcpy(&result, &bits, 4); return result; }

extern "C" void pack(const float* values, float* result, const int64_t* sizes) {
  const int64_t blocks = sizes[0];
  const int bits = (int)sizes[1], cut = 24 - bits;
  const uint32_t limit = (1u << bits) - 1, half = 1u << (cut - 1), below = (1u << cut) - 1;
  #pragma omp parallel for if (blocks > 4096)
  for (int64_t block = 0; block < blocks; block++) {
    uint32_t raw[BLOCK], magnitude[BLOCK], shared = 0, largest = 0;
    memcpy(raw, values + block * BLOCK, sizeof raw);
    for (int i = 0; i < BLOCK; i++) {
      magnitude[i] = raw[i] & 0x7FFFFFFF;
      largest = magnitude[i] > largest ? magnitude[i] : largest;
    }
    shared = largest >> 23;
    const float unit = std::ldexp(1.0f, (int)shared - 127 - (bits - 1));
    float packed[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
      const uint32_t exponent = magnitude[i] >> 23, distance = shared - exponent;
      // Denormals count as zero. Bits that the alignment shifts out are lost before the tie is decided.
      const uint32_t significand = exponent ? (magnitude[i] & 0x7FFFFF) | 0x800000 : 0;
      const uint32_t mantissa = significand >> (distance > 31 ? 31 : distance);
      uint32_t kept = mantissa >> cut;
      const uint32_t rest = mantissa & below;
      kept += (rest > half) | ((rest == half) & kept & 1);
      kept = kept > limit ? limit : kept;
      const float value = (float)kept * unit;
      const bool is_nan = exponent == 255 && kept > 1u << (bits - 1);
      const float rounded = is_nan ? number(0x7FC00000) : value;
      packed[i] = raw[i] >> 31 && kept ? -rounded : rounded;  // the formats have no negative zero
    }
    memcpy(result + block * BLOCK, packed, sizeof packed);
  }
}
"""


@functools.cache
def library() -> BackgroundFunction:
    """Returns the C++, whose compilation the first call starts."""
    return BackgroundFunction(_SOURCE, "pack", 3, without="Block floats are rounded without C++")


def packed(blocks: Tensor, bits: int) -> Tensor | None:
    """Returns blocks, float32 ``[n, 16]``, rounded to a shared exponent and ``bits`` of magnitude.

    Returns None while the C++ is not compiled, and where tensors do not lie in the CPU's memory.
    """
    if blocks.device.type != "cpu" or place.device().type != "cpu" or (function := library().function) is None:
        return None
    source, result = blocks.contiguous(), torch.empty_like(blocks, memory_format=torch.contiguous_format)
    sizes = torch.tensor([len(blocks), bits], dtype=torch.int64, device="cpu")
    function(source.data_ptr(), result.data_ptr(), sizes.data_ptr())
    return result


__all__ = ["library", "packed"]
