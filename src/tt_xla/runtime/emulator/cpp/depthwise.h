// Convolutions in which each channel has a kernel of its own. An element's terms are added one after another by fused
// multiply-adds that begin with 0, row by row of the kernel.
#pragma once
#include "products.h"

namespace depthwise {

// Height and width of images, channels, height and width of kernels and of results, strides, dilations.
struct Sizes { long images, height, width, channels, rows, columns, high, wide, down, right, apart, beside; };

template <int V>
static inline void block(const float* x, const float* w, float* y, const Sizes& s) {
  Vector sum[V];
  for (int v = 0; v < V; ++v) sum[v] = Vector::all(0.0f);
  for (long r = 0; r < s.rows; ++r)
    for (long c = 0; c < s.columns; ++c, w += s.channels) {
      const float* const from = x + (r * s.apart * s.width + c * s.beside) * s.channels;
      for (int v = 0; v < V; ++v)
        sum[v] = sum[v].fma(Vector::of(from + v * Vector::WIDTH), Vector::of(w + v * Vector::WIDTH));
    }
  for (int v = 0; v < V; ++v) sum[v].to(y + v * Vector::WIDTH);
}

static inline float one(const float* x, const float* w, const Sizes& s) {
  float sum = 0.0f;
  for (long r = 0; r < s.rows; ++r)
    for (long c = 0; c < s.columns; ++c, w += s.channels)
      sum = std::fma(x[(r * s.apart * s.width + c * s.beside) * s.channels], *w, sum);
  return sum;
}

// y [images, high, wide, channels] of x [images, height, width, channels] and w [rows, columns, channels].
static void convolved(const float* x, const float* w, float* y, const int64_t* sizes) {
  Sizes s;
  std::memcpy(&s, sizes, sizeof s);
  #pragma omp parallel for collapse(2) if (s.images * s.high * s.wide * s.channels * s.rows * s.columns > SHARED)
  for (long image = 0; image < s.images; ++image)
    for (long i = 0; i < s.high; ++i)
      for (long j = 0; j < s.wide; ++j) {
        const float* const from = x + ((image * s.height + i * s.down) * s.width + j * s.right) * s.channels;
        float* const to = y + ((image * s.high + i) * s.wide + j) * s.channels;
        long c = 0;
        for (; c + 4 * Vector::WIDTH <= s.channels; c += 4 * Vector::WIDTH) block<4>(from + c, w + c, to + c, s);
        for (; c + Vector::WIDTH <= s.channels; c += Vector::WIDTH) block<1>(from + c, w + c, to + c, s);
        for (; c < s.channels; ++c) to[c] = one(from + c, w + c, s);
      }
}

}  // namespace depthwise
