"""C++ that all fused kernels share: loads, stores, rounding, and products of matrices in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

Shape = tuple[int, ...]

View = Callable[[torch.Tensor], torch.Tensor]
"""A view of torch."""

TYPES = {torch.bfloat16: "uint16_t", torch.float32: "float", torch.int32: "int32_t"}
"""C++ type of a tensor's elements, by torch dtype."""

LANES = 16
"""Columns of a product that are computed side by side; rows of its second operand are padded to a multiple of them."""


@dataclass(frozen=True)
class Operand:
    """Shape, strides in elements and dtype of a tensor that a fused kernel reads or writes."""

    shape: Shape
    stride: Shape
    dtype: torch.dtype


@dataclass(frozen=True)
class Place:
    """The place of a tensor in memory: a C++ expression that points to its first element, and its strides."""

    pointer: str
    operand: Operand

    def at(self, *indices: str | int) -> str:
        """Returns the C++ of the element at these indices, which are C++ expressions."""
        steps = zip(indices, self.operand.shape, self.operand.stride, strict=True)
        offset = " + ".join(f"({index}) * {step}L" for index, size, step in steps if size != 1 and step)
        return f"{self.pointer}[{offset or 0}]"

    def viewed(self, view: View) -> Place | None:
        """Returns the place of a view of torch; None where that would need a copy."""
        operand = self.operand
        try:
            tensor = view(torch.empty_strided(operand.shape, operand.stride, dtype=operand.dtype, device="meta"))
        except RuntimeError:
            return None
        offset = tensor.storage_offset()
        pointer = f"({self.pointer} + {offset})" if offset else self.pointer
        return Place(pointer, Operand(tuple(tensor.shape), tensor.stride(), operand.dtype))


def contiguous(shape: Shape) -> Shape:
    """Returns the strides of a tensor whose elements lie side by side."""
    return tuple(math.prod(size or 1 for size in shape[dim + 1 :]) for dim in range(len(shape)))


def loops(names: Sequence[str], sizes: Iterable[int]) -> str:
    """Returns the heads of nested C++ loops over these sizes, outermost first."""
    return " ".join(
        f"for (long {name} = 0; {name} < {size}; ++{name})" for name, size in zip(names, sizes, strict=True)
    )


def copy(source: Place, target: Place, names: Sequence[str], target_indices: Sequence[str]) -> str:
    """Returns C++ that copies all elements of ``source``, indexed by ``names``, to ``target_indices`` of ``target``."""
    return f"{loops(names, source.operand.shape)} {target.at(*target_indices)} = {source.at(*names)};"


PRELUDE = """\
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__AVX512BF16__) && defined(PAIRS)
#include <immintrin.h>
#endif
static inline uint32_t bits(float x) { uint32_t u; std::memcpy(&u, &x, 4); return u; }
static inline float number(uint32_t u) { float x; std::memcpy(&x, &u, 4); return x; }
static inline float load(uint16_t x) { return number((uint32_t)x << 16); }
static inline float load(float x) { return x; }
static inline int32_t load(int32_t x) { return x; }
// Rounds to bfloat16, to nearest even.
static inline float rounded(float x) {
  uint32_t u = bits(x), to_even = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
  return number(x != x ? 0x7fc00000u : to_even);
}
static inline float one_nan(float x) { return number(x != x ? 0x7fc00000u : bits(x)); }
// Integers wrap.
static inline float sum(float x, float y) { return x + y; }
static inline int32_t sum(int32_t x, int32_t y) { return (int32_t)((uint32_t)x + (uint32_t)y); }
static inline float difference(float x, float y) { return x - y; }
static inline int32_t difference(int32_t x, int32_t y) { return (int32_t)((uint32_t)x - (uint32_t)y); }
static inline float product(float x, float y) { return x * y; }
static inline int32_t product(int32_t x, int32_t y) { return (int32_t)((uint32_t)x * (uint32_t)y); }
static inline float relu(float x) { return x < 0.0f ? 0.0f : x; }
// Stores a number as it is.
static inline void keep(uint16_t& to, float x) { to = (uint16_t)(bits(x) >> 16); }
static inline void keep(float& to, float x) { to = x; }
static inline void keep(int32_t& to, int32_t x) { to = x; }
// Stores what was computed: every NaN has the same bits.
static inline void store(uint16_t& to, float x) { to = (uint16_t)(bits(x) >> 16); }
static inline void store(float& to, float x) { to = one_nan(x); }
static inline void store(int32_t& to, int32_t x) { to = x; }
// The bits of a number that the matrix unit's register keeps.
static inline float cut(float x, uint32_t mask) { return number(bits(x) & mask); }
// Sums over k, one after another: with fused multiply-adds, or with products that are rounded first.
struct fused_add {
  static inline float step(float a, float b, float s) { return __builtin_fmaf(a, b, s); }
  static inline float end(float s) { return s; }
};
struct rounded_add {
  static inline float step(float a, float b, float s) { return s + a * b; }
  static inline float end(float s) { return s; }
};
// MKL adds its sum to 0: a negative one that is too small for a float becomes 0, not -0.
struct fused_add_to_zero : fused_add { static inline float end(float s) { return s + 0.0f; } };
template <class Order, int V> static inline void columns(const float* a, const float* b, float* c, long K, long N) {
  float s[16 * V];
  for (int n = 0; n < 16 * V; ++n) s[n] = 0.0f;
  for (long k = 0; k < K; ++k)
    for (int n = 0; n < 16 * V; ++n) s[n] = Order::step(a[k], b[k * N + n], s[n]);
  for (int n = 0; n < 16 * V; ++n) c[n] = Order::end(s[n]);
}
// c [M, N] = a [M, K] x b [K, N], N a multiple of 16.
template <class Order> static void multiply(const float* a, const float* b, float* c, long M, long K, long N) {
  for (long m = 0; m < M; ++m, a += K, c += N) {
    long n = 0;
    for (; n + 64 <= N; n += 64) columns<Order, 4>(a, b + n, c + n, K, N);
    for (; n + 32 <= N; n += 32) columns<Order, 2>(a, b + n, c + n, K, N);
    for (; n < N; n += 16) columns<Order, 1>(a, b + n, c + n, K, N);
  }
}
// The same in four sums: every fourth k belongs to one of them, and those left over, rounded first, to the first one.
static void multiply_in_four_sums(const float* a, const float* b, float* c, long M, long K, long N) {
  for (long m = 0; m < M; ++m, a += K, c += N)
    for (long n = 0; n < N; n += 16) {
      float s[4][16] = {};
      long k = 0;
      for (; k < K / 4 * 4; ++k)
        for (int i = 0; i < 16; ++i) s[k % 4][i] = fused_add::step(a[k], b[k * N + n + i], s[k % 4][i]);
      for (; k < K; ++k)
        for (int i = 0; i < 16; ++i) s[0][i] = rounded_add::step(a[k], b[k * N + n + i], s[0][i]);
      for (int i = 0; i < 16; ++i) c[n + i] = s[0][i] + s[1][i] + s[2][i] + s[3][i];
    }
}
#if defined(__AVX512BF16__) && defined(PAIRS)
static inline uint32_t pair(float low, float high) { return bits(low) >> 16 | (bits(high) & 0xffff0000u); }
template <int V> static inline void pair_columns(const uint32_t* a, const uint32_t* b, float* c, long K, long N) {
  __m512 s[V];
  for (int v = 0; v < V; ++v) s[v] = _mm512_setzero_ps();
  for (long k = 0; k < K; ++k) {
    const __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[k]);
    for (int v = 0; v < V; ++v) s[v] = _mm512_dpbf16_ps(s[v], x, (__m512bh)_mm512_loadu_si512(b + k * N + 16 * v));
  }
  for (int v = 0; v < V; ++v) _mm512_storeu_ps(c + 16 * v, s[v]);
}
// The same for bfloat16, by the CPU's instruction for pairs of k; K counts pairs.
static void multiply_pairs(const uint32_t* a, const uint32_t* b, float* c, long M, long K, long N) {
  for (long m = 0; m < M; ++m, a += K, c += N) {
    long n = 0;
    for (; n + 64 <= N; n += 64) pair_columns<4>(a, b + n, c + n, K, N);
    for (; n + 32 <= N; n += 32) pair_columns<2>(a, b + n, c + n, K, N);
    for (; n < N; n += 16) pair_columns<1>(a, b + n, c + n, K, N);
  }
}
#endif
"""
"""C++ that the source of every library begins with."""
