// Products of matrices. An element's terms are added one after another by fused multiply-adds, in chunks of CHUNK terms
// that begin with 0; the chunks' sums are added one after another. Shapes of tiles and numbers of threads change no bit.
//
// The second matrix lies in panels of PANEL columns: element (k, n) is
// b[n / PANEL * panel_step + k * k_step + n % PANEL]; columns beyond the last one are numbers, too.
#pragma once
#include "emulator.h"

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

// A vector register. fma(a, b) adds a * b.
#if defined(__AVX512F__)
struct Vector {
  enum { WIDTH = 16, REGISTERS = 32 };
  __m512 v;
  static Vector of(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Vector of(const uint16_t* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
  }
  static Vector all(float x) { return {_mm512_set1_ps(x)}; }
  Vector plus(Vector b) const { return {_mm512_add_ps(v, b.v)}; }
  Vector fma(Vector a, Vector b) const { return {_mm512_fmadd_ps(a.v, b.v, v)}; }
  void to(float* p) const { _mm512_storeu_ps(p, v); }
};
#elif defined(__AVX2__) && defined(__FMA__)
struct Vector {
  enum { WIDTH = 8, REGISTERS = 16 };
  __m256 v;
  static Vector of(const float* p) { return {_mm256_loadu_ps(p)}; }
  static Vector of(const uint16_t* p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16))};
  }
  static Vector all(float x) { return {_mm256_set1_ps(x)}; }
  Vector plus(Vector b) const { return {_mm256_add_ps(v, b.v)}; }
  Vector fma(Vector a, Vector b) const { return {_mm256_fmadd_ps(a.v, b.v, v)}; }
  void to(float* p) const { _mm256_storeu_ps(p, v); }
};
#elif defined(__ARM_NEON)
struct Vector {
  enum { WIDTH = 4, REGISTERS = 32 };
  float32x4_t v;
  static Vector of(const float* p) { return {vld1q_f32(p)}; }
  static Vector of(const uint16_t* p) { return {vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16))}; }
  static Vector all(float x) { return {vdupq_n_f32(x)}; }
  Vector plus(Vector b) const { return {vaddq_f32(v, b.v)}; }
  Vector fma(Vector a, Vector b) const { return {vfmaq_f32(v, a.v, b.v)}; }
  void to(float* p) const { vst1q_f32(p, v); }
};
#else
struct Vector {
  enum { WIDTH = 1, REGISTERS = 32 };
  float v;
  static Vector of(const float* p) { return {*p}; }
  static Vector of(const uint16_t* p) { return {load(*p)}; }
  static Vector all(float x) { return {x}; }
  Vector plus(Vector b) const { return {v + b.v}; }
  Vector fma(Vector a, Vector b) const { return {std::fma(a.v, b.v, v)}; }
  void to(float* p) const { *p = v; }
};
#endif

enum { PANEL = 16, CHUNK = 256, TALLEST = Vector::REGISTERS == 32 ? 12 : 6 };

// R rows of a by P panels of b.
template <int R, int P, class B>
static inline void tile(
    const float* a, long a_row, const B* b, long k_step, long panel_step, float* c, long c_row, long K) {
  constexpr int EACH = PANEL / Vector::WIDTH, V = P * EACH;
  for (long from = 0; from == 0 || from < K; from += CHUNK) {
    const long end = std::min(from + CHUNK, K);
    Vector s[R][V];
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) s[r][v] = Vector::all(0.0f);
    for (long k = from; k < end; ++k) {
      Vector y[V];
      for (int v = 0; v < V; ++v)
        y[v] = Vector::of(b + k * k_step + v / EACH * panel_step + v % EACH * Vector::WIDTH);
      for (int r = 0; r < R; ++r) {
        const Vector x = Vector::all(a[r * a_row + k]);
        for (int v = 0; v < V; ++v) s[r][v] = s[r][v].fma(x, y[v]);
      }
    }
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) {
        float* const to = c + r * c_row + v * Vector::WIDTH;
        (from ? Vector::of(to).plus(s[r][v]) : s[r][v]).to(to);
      }
  }
}

// The panels of a tile of R rows whose sums fill the registers; a single row reads several panels at once.
constexpr int panels_beside(int R) {
  int best = 1;
  for (int P = 2; P <= 8; P *= 2) {
    const int V = P * PANEL / Vector::WIDTH;
    if (R == 1 ? V <= Vector::REGISTERS / 2 : R * V + V + 1 <= Vector::REGISTERS) best = P;
  }
  return best;
}

template <int R, class B>
static void rows(const float* a, long a_row, const B* b, long k_step, long panel_step, float* c, long c_row, long K,
                 long panels) {
  constexpr int P = panels_beside(R);
  long p = 0;
  for (; p + P <= panels; p += P)
    tile<R, P>(a, a_row, b + p * panel_step, k_step, panel_step, c + p * PANEL, c_row, K);
  for (; p < panels; ++p) tile<R, 1>(a, a_row, b + p * panel_step, k_step, panel_step, c + p * PANEL, c_row, K);
}

// c [M, panels * PANEL] = a [M, K] x b.
template <class B>
static void multiplied(const float* a, long a_row, const B* b, long k_step, long panel_step, float* c, long c_row,
                       long M, long K, long panels) {
  using Rows = void (*)(const float*, long, const B*, long, long, float*, long, long, long);
  static const Rows tiles[] = {
    rows<1, B>, rows<2, B>, rows<3, B>, rows<4, B>, rows<5, B>, rows<6, B>,
    rows<TALLEST == 12 ? 7 : 1, B>, rows<TALLEST == 12 ? 8 : 1, B>, rows<TALLEST == 12 ? 9 : 1, B>,
    rows<TALLEST == 12 ? 10 : 1, B>, rows<TALLEST == 12 ? 11 : 1, B>, rows<TALLEST == 12 ? 12 : 1, B>};
  const long count = (M + TALLEST - 1) / TALLEST, height = (M + count - 1) / std::max(count, 1L);
  // All rows go through as many panels as a core's cache holds.
  const long together = count < 2 ? panels : std::max(1L, (1L << 17) / std::max(K * PANEL, 1L));
  for (long p = 0; p < panels; p += together)
    for (long m = 0; m < M; m += height)
      tiles[std::min(height, M - m) - 1](a + m * a_row, a_row, b + p * panel_step, k_step, panel_step,
                                         c + m * c_row + p * PANEL, c_row, K, std::min(together, panels - p));
}
