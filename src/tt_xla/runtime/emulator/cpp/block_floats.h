// Rounding to block floats, with the bits of emulator/formats.py.
#pragma once
#include "emulator.h"

namespace block_floats {

static const int BLOCK = 16;

static inline uint32_t raw_of(float value) { return bits(value); }
static inline uint32_t raw_of(uint16_t value) { return (uint32_t)value << 16; }

template <class In, class Out>
static void pack_blocks(const In* values, Out* result, int64_t blocks, int width) {
  const int cut = 24 - width;
  const uint32_t limit = (1u << width) - 1, half = 1u << (cut - 1), below = (1u << cut) - 1;
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
    const float unit = std::ldexp(1.0f, (int)shared - 127 - (width - 1));
    float values_of[BLOCK];
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
      const uint32_t value = exponent == 255 && kept > (1u << (width - 1)) ? 0x7FC00000 : finite;
      values_of[i] = number(value | (kept ? raw & 0x80000000 : 0));  // the formats have no negative zero
    }
    for (int i = 0; i < BLOCK; i++) keep(result[block * BLOCK + i], values_of[i]);
  }
}

static void packed(const void* values, void* result, const int64_t* sizes) {
  const int64_t blocks = sizes[0];
  const int width = (int)sizes[1];
  const float* x = (const float*)values;
  const uint16_t* y = (const uint16_t*)values;
  if (sizes[2] && sizes[3]) pack_blocks(y, (uint16_t*)result, blocks, width);
  else if (sizes[2]) pack_blocks(y, (float*)result, blocks, width);
  else if (sizes[3]) pack_blocks(x, (uint16_t*)result, blocks, width);
  else pack_blocks(x, (float*)result, blocks, width);
}
}  // namespace block_floats
