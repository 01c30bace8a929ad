"""Attention whose weights C++ computes, with the bits of :mod:`tt_xla.runtime.emulator.streaming`."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator import matrix_unit, place, streaming
from tt_xla.runtime.emulator.context import Call, Context
from tt_xla.runtime.emulator.fused.build import compiler
from tt_xla.runtime.emulator.fused.calls import BFLOATS, FLOATS, LONGS, CppFunction
from tt_xla.runtime.emulator.fused.library import BackgroundFunction
from tt_xla.runtime.emulator.kernels import attention

Tensor = torch.Tensor

_SOURCE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

static const int CHUNK = 32;
static const uint16_t MINUS_INFINITY = 0xFF80;

static inline float number(uint32_t bits) { float result; memcpy(&result, &bits, 4); return result; }
static inline uint32_t bits(float value) { uint32_t result; memcpy(&result, &value, 4); return result; }
static inline uint32_t rounded(float value) {
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
    const uint32_t weight = rounded(number((uint32_t)(int32_t)place << 16) * decay);
    result[i] = (uint16_t)(weight & kept);
    sum += (int32_t)(number(weight << 16) * parts);
  }
  return sum;
}

extern "C" void softmax(uint16_t* scores, uint16_t* inverses, const float* constants, const int64_t* sizes) {
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
        const float decay = number(rounded(share) << 16);
        if (left < CHUNK) {
          total += weights_of(padded, padded, base, decay, constants, kept);
          memcpy(x + at, padded, left * sizeof(uint16_t));
        } else {
          total += weights_of(x + at, x + at, base, decay, constants, kept);
        }
      }
      inverses[row] = (uint16_t)(std::isfinite(running) ? rounded(constants[4] / (float)total) : 0x7FC0);
    }
  }
}
""".replace("LEAST", f"{streaming.LEAST}f")


@functools.cache
def library() -> BackgroundFunction:
    """Returns the C++, whose compilation the first call starts."""
    return BackgroundFunction(
        _SOURCE, "softmax", [BFLOATS, BFLOATS, FLOATS, LONGS], without="Attention computes its weights without C++"
    )


def take(context: Context, attributes: Mapping[str, Any]) -> Call | None:
    """Returns attention by C++, where the kernel computes it in bfloat16 and there is a compiler."""
    operands = [context.spec(name) for name in ("query", "key", "value")]
    in_bfloat16 = all(spec.layout.dtype is DataType.BF16 for spec in operands)
    if not (context.silicon and in_bfloat16 and place.device().type == "cpu" and compiler() is not None):
        return None
    compiled, names = library(), list(context.operands)

    def call(*tensors: Tensor) -> Tensor:
        function = compiled.function
        weights = attention.softmax if function is None else functools.partial(softmax, function)
        operands = dict(zip(names, tensors, strict=True))
        return attention.scaled_dot_product_attention(context, **operands, **attributes, softmax=weights)

    return call


def softmax(function: CppFunction, scores: Tensor, factor: float, bits: int) -> tuple[Tensor, Tensor]:
    """Computes what :func:`attention.softmax` does."""
    shape = scores.shape
    inverses = torch.empty(*shape[:-1], 1, dtype=torch.bfloat16, device="cpu")
    function(scores, inverses, *_constants(shape, factor, bits))
    return scores, inverses


@functools.lru_cache(64)
def _constants(shape: torch.Size, factor: float, bits: int) -> tuple[Tensor, Tensor]:
    """Returns the last two arguments of the C++."""
    numbers = (*streaming.constants(factor), streaming.BIAS, streaming.LARGEST, streaming.PARTS, *streaming.POWER)
    kept = 0xFFFF & -(1 << (matrix_unit.SIGNIFICANT[torch.bfloat16] - min(bits, 8)))
    sizes = (math.prod(shape[:-1]), shape[-1], len(streaming.POWER), kept)
    return (
        torch.tensor(numbers, dtype=torch.float32, device="cpu"),
        torch.tensor(sizes, dtype=torch.int64, device="cpu"),
    )
