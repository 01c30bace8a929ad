// The product of the chip's matrix unit, with the bits of bit_exact/matrix_unit.py.
#pragma once
#include <vector>

#include "emulator.h"

namespace matrix_unit {

typedef int32_t i32;
static const int W = 16, GROUP = 8;

static inline i32 pattern(float value) { return (i32)bits(value); }

static inline i32 shifted(i32 value, i32 distance, i32 half_down) {
  i32 rounded = (value + (1 << (std::max(distance - 1, 0) & 31)) + half_down) >> (std::min(distance, 31));
  return distance > 30 ? 0 : distance > 0 ? rounded : value;
}

// Adds two sums of products, exponents and integers, to the accumulator.
static inline void accumulate(i32* total, const i32* exponents, const i32* sums, bool wide) {
  #pragma omp simd
  for (int n = 0; n < W; n++) {
    i32 old = total[n], place = (old >> 23) & 255, significand = place ? (old & 0x7FFFFF) | 0x800000 : 0;
    i32 negative = old >> 31, first = sums[n] >> 31, second = sums[W + n] >> 31;
    i32 one = ((sums[n] ^ first) - first) << 13, two = ((sums[W + n] ^ second) - second) << 13;
    i32 place_one = std::max(exponents[n], 0), place_two = std::max(exponents[W + n], 0);
    i32 largest = std::max(std::max(place_one, place_two), place);
    one = shifted(one, largest - place_one, first);
    two = shifted(two, largest - place_two, second);
    significand = shifted(significand, largest - place, 0);
    if (!wide) {
      one = (one + 4096 + first) & ~8191;
      two = (two + 4096 + second) & ~8191;
      significand = (significand + 4096) & ~8191;
    }
    i32 sum = ((significand ^ negative) - negative) + ((one ^ first) - first) + ((two ^ second) - second);
    i32 magnitude = sum < 0 ? -sum : sum, sign = sum & INT32_MIN, result;
    if (wide) {
      i32 excess = std::max((pattern((float)(magnitude & ~127)) >> 23) - 127 - 23, 0);
      result = pattern((float)shifted(magnitude, excess, 0)) + (excess << 23);
    } else {
      result = (pattern((float)magnitude) + 0x8000) & ~0xFFFF;
    }
    i32 exponent = largest + (result >> 23) - 127 - 23;
    i32 finite = sign | (i32)((uint32_t)exponent << 23) | (result & 0x7FFFFF);
    finite = exponent >= 255 ? sign | 0x7F800000 : finite;
    total[n] = (largest <= 0 || sum == 0 || exponent <= 0) ? 0 : finite;
  }
}

struct Parts { std::vector<i32> exponent, high, low, sign; };

static void split(float value, i32 cut, i32 mask, i32 drop, i32 raise, size_t at, Parts& parts) {
  i32 raw = pattern(value), exponent = (raw >> 23) & 255, significand = ((raw >> 13) & 1023) | 1024;
  parts.exponent[at] = exponent ? exponent : -4096;
  parts.high[at] = exponent ? significand >> cut : 0;
  parts.low[at] = exponent ? ((significand >> drop) & mask) << raise : 0;
  parts.sign[at] = raw >> 31;
}

static Parts parts_of(size_t count) {
  return {std::vector<i32>(count), std::vector<i32>(count), std::vector<i32>(count), std::vector<i32>(count)};
}

static void product(const float* a, const float* b, float* result, const int64_t* sizes) {
  const int64_t rows = sizes[0], inner = sizes[1], columns = sizes[2];
  const int phases = (int)sizes[3];
  const bool wide = sizes[4];
  #pragma omp parallel for
  for (int64_t block = 0; block < columns; block += W) {
    Parts right = parts_of(inner * W), left = parts_of(inner);
    for (int64_t k = 0; k < inner; k++)
      for (int n = 0; n < W; n++) split(b[k * columns + block + n], 6, 31, 1, 0, k * W + n, right);
    for (int64_t row = 0; row < rows; row++) {
      for (int64_t k = 0; k < inner; k++) split(a[row * inner + k], 4, 15, 0, 3, k, left);
      i32 total[W];
      memcpy(total, result + row * columns + block, sizeof total);
      for (int64_t tile = 0; tile < inner; tile += 32)
        for (int phase = 0; phase < phases; phase++) {
          const i32 shift = -127 - (phase & 1 ? 5 : 0) - (phase & 2 ? 7 : 0);
          const i32* x = (phase & 2 ? left.low : left.high).data();
          const i32* y = (phase & 1 ? right.low : right.high).data();
          for (int64_t first = tile; first < tile + 32; first += 2 * GROUP) {
            i32 exponents[2 * W], sums[2 * W];
            for (int group = 0; group < 2; group++) {
              i32 *largest = exponents + group * W, *sum = sums + group * W;
              const int64_t start = first + group * GROUP;
              const i32 *places = right.exponent.data() + start * W, *signs = right.sign.data() + start * W;
              for (int n = 0; n < W; n++) { largest[n] = left.exponent[start] + places[n]; sum[n] = 0; }
              for (int k = 1; k < GROUP; k++) {
                const i32 place = left.exponent[start + k];
                #pragma omp simd
                for (int n = 0; n < W; n++) largest[n] = std::max(largest[n], place + places[k * W + n]);
              }
              for (int k = 0; k < GROUP; k++) {
                const i32 place = left.exponent[start + k], factor = x[start + k], minus = left.sign[start + k];
                #pragma omp simd
                for (int n = 0; n < W; n++) {
                  i32 distance = std::min(largest[n] - place - places[k * W + n], 30);
                  i32 rounded = ((factor * y[(start + k) * W + n] << 1) + (1 << distance)) >> (distance + 1);
                  i32 sign = minus ^ signs[k * W + n];
                  sum[n] += (rounded ^ sign) - sign;
                }
              }
              #pragma omp simd
              for (int n = 0; n < W; n++) {
                largest[n] += shift;
                sum[n] = largest[n] <= 0 ? 0 : sum[n];
              }
            }
            accumulate(total, exponents, sums, wide);
          }
        }
      memcpy(result + row * columns + block, total, sizeof total);
    }
  }
}
}  // namespace matrix_unit
