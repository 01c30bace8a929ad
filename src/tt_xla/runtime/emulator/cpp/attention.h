// The weights of attention, with the bits of emulator/streaming.py, which defines them.
#pragma once
#include <vector>

#include "emulator.h"

namespace attention {

static const float LEAST = -126.0f;
static const int CHUNK = 32;
static const uint16_t MINUS_INFINITY = 0xFF80;

// The upper half of a number that is no NaN, rounded to bfloat16.
static inline uint32_t narrowed(float value) {
  const uint32_t raw = bits(value);
  return (raw + 0x7FFF + ((raw >> 16) & 1)) >> 16;
}

static inline float largest_of(const uint16_t* x) {
  // Integers in the order of the numbers; NaN lies beyond the infinities.
  int16_t most = INT16_MIN, least = INT16_MAX;
  #pragma omp simd reduction(max : most) reduction(min : least)
  for (int i = 0; i < CHUNK; i++) {
    const int16_t pattern = (int16_t)x[i], place = pattern < 0 ? (int16_t)-(pattern & 0x7FFF) : pattern;
    most = place > most ? place : most;
    least = place < least ? place : least;
  }
  if (most > 0x7F80 || least < -0x7F80) return NAN;
  return number((most < 0 ? 0x8000u | (uint32_t)-most : (uint32_t)most) << 16);
}

static inline float power(float x, const float* coefficients, int count, float least) {
  const float clamped = x < least ? least : x, whole = std::floor(clamped), rest = clamped - whole;
  float result = coefficients[count - 1];
  for (int i = count - 2; i >= 0; i--) result = result * rest + coefficients[i];
  return x >= least ? result * number((uint32_t)((int32_t)whole + 127) << 23) : 0.0f;
}

static inline int32_t weights_of(const uint16_t* x, uint16_t* result, float base, float decay, const float* constants,
                                 uint32_t kept) {
  const float slope = constants[0], bias = constants[2], end = constants[3], parts = constants[4];
  int32_t sum = 0;
  #pragma omp simd reduction(+ : sum)
  for (int i = 0; i < CHUNK; i++) {
    float place = (number((uint32_t)x[i] << 16) - base) * slope + bias;
    place = place > 0.0f ? place : 0.0f;
    place = place < end ? place : end;
    const uint32_t weight = narrowed(number((uint32_t)(int32_t)place << 16) * decay);
    result[i] = (uint16_t)(weight & kept);
    sum += (int32_t)(number(weight << 16) * parts);
  }
  return sum;
}

static void weights(uint16_t* scores, uint16_t* inverses, const float* constants, const int64_t* sizes) {
  const int64_t rows = sizes[0], keys = sizes[1], coefficients = sizes[2], chunks = (keys + CHUNK - 1) / CHUNK;
  const uint32_t kept = (uint32_t)sizes[3];
  #pragma omp parallel if (rows * keys > 32768)
  {
    std::vector<float> largest(chunks);
    uint16_t padded[CHUNK];
    #pragma omp for
    for (int64_t row = 0; row < rows; row++) {
      uint16_t* x = scores + row * keys;
      float running = -INFINITY;
      for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t at = chunk * CHUNK, left = keys - at;
        if (left < CHUNK)
          for (int i = 0; i < CHUNK; i++) padded[i] = i < left ? x[at + i] : MINUS_INFINITY;
        const float found = largest_of(left < CHUNK ? padded : x + at);
        running = running != running ? running : found != found ? found : found > running ? found : running;
        largest[chunk] = running;
      }
      int64_t total = 0;
      for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t at = chunk * CHUNK, left = keys - at;
        const float most = largest[chunk], base = most == -INFINITY ? 0.0f : most;
        const float share = power((most - running) * constants[1], constants + 5, (int)coefficients, LEAST);
        const float decay = number(narrowed(share) << 16);
        if (left < CHUNK) {
          total += weights_of(padded, padded, base, decay, constants, kept);
          memcpy(x + at, padded, left * sizeof(uint16_t));
        } else {
          total += weights_of(x + at, x + at, base, decay, constants, kept);
        }
      }
      inverses[row] = (uint16_t)(std::isfinite(running) ? narrowed(constants[4] / (float)total) : 0x7FC0);
    }
  }
}
}  // namespace attention
