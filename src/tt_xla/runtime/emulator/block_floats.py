"""Rounding to block floats in C++, with the bits of :mod:`.formats` and a tenth of its time on large weights."""

from __future__ import annotations

import functools

import torch

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.fused.calls import LONGS, Memory
from tt_xla.runtime.emulator.fused.library import BackgroundFunction

Tensor = torch.Tensor

_SOURCE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>

static const int BLOCK = 16;

static inline float number(uint32_t bits) { float result; memcpy(&result, &bits, 4); return result; }
static inline uint32_t raw_of(float value) { uint32_t result; memcpy(&result, &value, 4); return result; }
static inline uint32_t raw_of(uint16_t value) { return (uint32_t)value << 16; }
static inline void store(float* place, float value) { *place = value; }
static inline void store(uint16_t* place, float value) { *place = (uint16_t)(raw_of(value) >> 16); }  // exact: 8 bits

template <class In, class Out>
static void pack_blocks(const In* values, Out* result, int64_t blocks, int bits) {
  const int cut = 24 - bits;
  const uint32_t limit = (1u << bits) - 1, half = 1u << (cut - 1), below = (1u << cut) - 1;
  #pragma omp parallel for if (blocks > 4096)
  for (int64_t block = 0; block < blocks; block++) {
    const In* x = values + block * BLOCK;
    uint32_t largest = 0;
    #pragma omp simd reduction(max : largest)
    for (int i = 0; i < BLOCK; i++) {
      const uint32_t magnitude = raw_of(x[i]) & 0x7FFFFFFF;
      largest = magnitude > largest ? magnitude : largest;
    }
    const uint32_t shared = largest >> 23;
    const float unit = std::ldexp(1.0f, (int)shared - 127 - (bits - 1));
    float packed[BLOCK];
    #pragma omp simd
    for (int i = 0; i < BLOCK; i++) {
      const uint32_t raw = raw_of(x[i]), exponent = (raw >> 23) & 255, distance = shared - exponent;
      // Denormals count as zero. Bits that the alignment shifts out are lost before the tie is decided.
      const uint32_t significand = exponent ? (raw & 0x7FFFFF) | 0x800000 : 0;
      const uint32_t mantissa = significand >> (distance > 31 ? 31 : distance);
      const uint32_t rest = mantissa & below, whole = mantissa >> cut;
      const uint32_t rounded = whole + (rest > half || (rest == half && (whole & 1)) ? 1 : 0);
      const uint32_t kept = rounded > limit ? limit : rounded;
      const uint32_t finite = raw_of((float)(int32_t)kept * unit);
      const uint32_t value = exponent == 255 && kept > (1u << (bits - 1)) ? 0x7FC00000 : finite;
      packed[i] = number(value | (kept ? raw & 0x80000000 : 0));  // the formats have no negative zero
    }
    for (int i = 0; i < BLOCK; i++) store(result + block * BLOCK + i, packed[i]);
  }
}

extern "C" void pack(const void* values, void* result, const int64_t* sizes) {
  const int64_t blocks = sizes[0];
  const int bits = (int)sizes[1];
  const float* x = (const float*)values;
  const uint16_t* y = (const uint16_t*)values;
  if (sizes[2] && sizes[3]) pack_blocks(y, (uint16_t*)result, blocks, bits);
  else if (sizes[2]) pack_blocks(y, (float*)result, blocks, bits);
  else if (sizes[3]) pack_blocks(x, (uint16_t*)result, blocks, bits);
  else pack_blocks(x, (float*)result, blocks, bits);
}
"""

_IN_CPP = (torch.float32, torch.bfloat16)
"""Dtypes that the C++ reads and writes."""

_VALUES = Memory(_IN_CPP)


@functools.cache
def library() -> BackgroundFunction:
    """Returns the C++, whose compilation the first call starts."""
    return BackgroundFunction(
        _SOURCE, "pack", [_VALUES, _VALUES, LONGS], without="Block floats are rounded without C++"
    )


def packed(blocks: Tensor, bits: int, container: torch.dtype) -> Tensor | None:
    """Returns blocks ``[n, 16]`` rounded to a shared exponent and ``bits`` of magnitude.

    Args:
        blocks: the blocks, float32 or bfloat16.
        bits: bits of magnitude, at most 8.
        container: dtype of the result, float32 or bfloat16.

    Returns:
        None while the C++ is not compiled, for other dtypes, and where tensors do not lie in the CPU's memory.
    """
    if not {blocks.dtype, container} <= {*_IN_CPP} or blocks.device.type != "cpu" or place.device().type != "cpu":
        return None
    function = library().function
    if function is None:
        return None
    source, result = blocks.contiguous(), torch.empty(blocks.shape, dtype=container, device="cpu")
    narrow = [dtype is torch.bfloat16 for dtype in (blocks.dtype, container)]
    sizes = torch.tensor([len(blocks), bits, *narrow], dtype=torch.int64, device="cpu")
    function(source, result, sizes)
    return result


__all__ = ["library", "packed"]
