"""C++ that the functions of all chains begin with."""

from __future__ import annotations

import torch

TYPES = {torch.bfloat16: "uint16_t", torch.float32: "float", torch.int32: "int32_t"}
"""C++ type of the elements of a tensor."""

LANES = 8
"""Numbers of float64 that are added at once; rows of a product's second operand have a multiple of them."""

PRELUDE = """\
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
static inline uint32_t bits(float x) { uint32_t u; std::memcpy(&u, &x, 4); return u; }
static inline float number(uint32_t u) { float x; std::memcpy(&x, &u, 4); return x; }
static inline float load(uint16_t x) { return number((uint32_t)x << 16); }
static inline float load(float x) { return x; }
static inline int32_t load(int32_t x) { return x; }
static inline float rounded(float x) {
  uint32_t u = bits(x), to_even = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
  return number(x != x ? 0x7fc00000u : to_even);
}
// Integers wrap.
static inline float sum(float x, float y) { return x + y; }
static inline int32_t sum(int32_t x, int32_t y) { return (int32_t)((uint32_t)x + (uint32_t)y); }
static inline float difference(float x, float y) { return x - y; }
static inline int32_t difference(int32_t x, int32_t y) { return (int32_t)((uint32_t)x - (uint32_t)y); }
static inline float product(float x, float y) { return x * y; }
static inline int32_t product(int32_t x, int32_t y) { return (int32_t)((uint32_t)x * (uint32_t)y); }
static inline float relu(float x) { return x < 0.0f ? 0.0f : x; }
static inline void store(uint16_t& to, float x) { to = (uint16_t)(bits(x) >> 16); }
static inline void store(float& to, float x) { to = x; }
static inline void store(int32_t& to, int32_t x) { to = x; }
// Functions of float64, of small tensors.
static inline double gelu(double x) { return x * 0.5 * std::erfc(x * -0.70710678118654752440); }
static inline double relu(double x) { return x < 0.0 ? 0.0 : x; }
static inline double mish(double x) { return x * std::tanh(std::log1p(std::exp(x))); }
static inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
static inline double silu(double x) { return x / (1.0 + std::exp(-x)); }
static inline double same(double x) { return x; }
// What a register keeps of a number.
static inline double cut(float x, uint32_t mask) { return number(bits(x) & mask); }
typedef double lanes __attribute__((vector_size(64), aligned(8)));
template <int V> static inline void columns(const double* a, const double* b, double* c, long K, long N) {
  lanes sums[V] = {};
  for (long k = 0; k < K; ++k)
    for (int v = 0; v < V; ++v) sums[v] += a[k] * *(const lanes*)(b + k * N + 8 * v);
  for (int v = 0; v < V; ++v) *(lanes*)(c + 8 * v) = sums[v];
}
// c [M, N] = a [M, K] x b [K, N], N a multiple of 8.
static void multiply(const double* a, const double* b, double* c, long M, long K, long N) {
  for (long m = 0; m < M; ++m, a += K, c += N) {
    long n = 0;
    for (; n + 64 <= N; n += 64) columns<8>(a, b + n, c + n, K, N);
    for (; n + 32 <= N; n += 32) columns<4>(a, b + n, c + n, K, N);
    for (; n + 16 <= N; n += 16) columns<2>(a, b + n, c + n, K, N);
    for (; n < N; n += 8) columns<1>(a, b + n, c + n, K, N);
  }
}
"""
