// The functions that kernels call without a program of their own.
#include "attention.h"
#include "block_floats.h"
#include "depthwise.h"
#include "matrix_unit.h"
#include "products.h"

// b [K, N], whose elements lie k_step and n_step apart, in panels; columns beyond N are 0.
template <class B>
static void packed(const B* b, B* to, long K, long N, long k_step, long n_step, B mask) {
  const long panels = (N + PANEL - 1) / PANEL;
  using Bits = typename std::conditional<sizeof(B) == 4, uint32_t, uint16_t>::type;
  #pragma omp parallel for if (K * N > SHARED)
  for (long p = 0; p < panels; ++p)
    for (long k = 0; k < K; ++k)
      for (long i = 0; i < PANEL; ++i) {
        const long n = p * PANEL + i;
        to[(p * K + k) * PANEL + i] = n < N ? (Bits)(b[k * k_step + n * n_step] & mask) : 0;
      }
}
template <class B>
static void shared(const float* a, const B* b, float* c, long M, long K, long N) {
  const long panels = (N + PANEL - 1) / PANEL, width = panels * PANEL;
  const long parts = M * K * N > SHARED ? std::min(panels, 64L) : 1;
  #pragma omp parallel for if (parts > 1)
  for (long part = 0; part < parts; ++part) {
    const long from = panels * part / parts, to = panels * (part + 1) / parts;
    multiplied(a, K, b + from * K * PANEL, (long)PANEL, K * PANEL, c + from * PANEL, width, M, K, to - from);
  }
}
// c [batch, M, N] = a [batch, M, K] x b [batch, K, N]. Each thread has one matrix in panels at a time.
static void products(const float* a, const float* b, float* c, long batch, long M, long K, long N) {
  const long panels = (N + PANEL - 1) / PANEL, width = panels * PANEL;
  #pragma omp parallel if (batch > 1 && batch * M * K * N > SHARED)
  {
    std::vector<float> right(panels * K * PANEL), sums(M * width);
    #pragma omp for
    for (long i = 0; i < batch; ++i) {
      packed<uint32_t>((const uint32_t*)(b + i * K * N), (uint32_t*)right.data(), K, N, N, 1, 0xffffffffu);
      multiplied(a + i * M * K, K, right.data(), (long)PANEL, K * PANEL, sums.data(), width, M, K, panels);
      for (long m = 0; m < M; ++m) std::memcpy(c + (i * M + m) * N, sums.data() + m * width, N * sizeof(float));
    }
  }
}
extern "C" {
void tt_products(const float* a, const float* b, float* c, long batch, long M, long K, long N) {
  products(a, b, c, batch, M, K, N);
}
void tt_pack(const uint32_t* b, uint32_t* to, long K, long N, long k_step, long n_step, long mask) {
  packed<uint32_t>(b, to, K, N, k_step, n_step, (uint32_t)mask);
}
void tt_pack_bfloat16(const uint16_t* b, uint16_t* to, long K, long N, long k_step, long n_step, long mask) {
  packed<uint16_t>(b, to, K, N, k_step, n_step, (uint16_t)(mask >> 16));
}
// c [M, N filled up to whole panels] = a [M, K] x packed b.
void tt_multiply(const float* a, const float* b, float* c, long M, long K, long N) { shared(a, b, c, M, K, N); }
void tt_multiply_bfloat16(const float* a, const uint16_t* b, float* c, long M, long K, long N) {
  shared(a, b, c, M, K, N);
}
void tt_depthwise(const float* x, const float* w, float* y, const int64_t* sizes) {
  depthwise::convolved(x, w, y, sizes);
}
void tt_attention_weights(uint16_t* scores, uint16_t* inverses, const float* constants, const int64_t* sizes) {
  attention::weights(scores, inverses, constants, sizes);
}
void tt_pack_blocks(const void* values, void* result, const int64_t* sizes) {
  block_floats::packed(values, result, sizes);
}
void tt_matrix_unit(const float* a, const float* b, float* result, const int64_t* sizes) {
  matrix_unit::product(a, b, result, sizes);
}
#define ELEMENTWISE(name, function)                                     \
  void tt_##name(const float* x, float* y, long n) {                    \
    _Pragma("omp parallel for simd if (n > (1 << 15))")                 \
    for (long i = 0; i < n; ++i) y[i] = function(x[i]);                 \
  }
static inline float sine(float x) { return sine(x, 0); }
static inline float cosine(float x) { return sine(x, 1); }
static inline float natural_logarithm(float x) { return logarithm(x, 0.0); }
static inline float logarithm_of_one_plus(float x) { return logarithm(x, 1.0); }
ELEMENTWISE(cos, cosine)
ELEMENTWISE(exp, exponential)
ELEMENTWISE(log, natural_logarithm)
ELEMENTWISE(log1p, logarithm_of_one_plus)
ELEMENTWISE(sigmoid, sigmoid)
ELEMENTWISE(silu, silu)
ELEMENTWISE(sin, sine)
ELEMENTWISE(tanh, hyperbolic_tangent)
ELEMENTWISE(gelu, gelu)
// y [outer, inner]: the sums of x [outer, n, inner] over n.
void tt_sums(const float* x, float* y, long outer, long n, long inner) {
  #pragma omp parallel for collapse(2) if (outer * n * inner > (1 << 15))
  for (long o = 0; o < outer; ++o)
    for (long part = 0; part < (inner == 1 ? 1 : (inner + LANES - 1) / LANES); ++part) {
      const float* const from = x + o * n * inner + part * LANES;
      float* const to = y + o * inner + part * LANES;
      if (inner == 1) *to = reduced<Plus>(from, n);
      else if (part * LANES + LANES <= inner) reduced_columns<Plus>(from, inner, n, to);
      else reduced_few<Plus>(from, inner, n, inner - part * LANES, to);
    }
}
}
