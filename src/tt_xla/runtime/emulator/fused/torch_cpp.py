"""C++ of loops and functions of torch's and oneDNN's CPU kernels, in their order of operations.

Sources: ATen/native/cpu/SoftMaxKernel.cpp, layer_norm_kernel.cpp, moments_utils.h and SumKernel.cpp and
ATen/cpu/vec/functional_base.h of PyTorch 2.13; xexpf of Sleef 3; jit_uni_eltwise_injector.cpp of oneDNN 3.12.
All work on floats that lie side by side. ``W`` is the number of floats in a vector of the library: 8 or 16, and not
always the widest that the CPU has.
"""

TORCH_CPP = """\
// Sleef's expf, with an error of at most 1.0 ULP.
static inline float exponential(float x) {
  const float q = std::nearbyint(x * 1.442695040888963407f);
  float s = __builtin_fmaf(q, -0.693145751953125f, x);
  s = __builtin_fmaf(q, -1.428606765330187045e-06f, s);
  float u = 0.000198527617612853646278381f;
  u = __builtin_fmaf(u, s, 0.00139304355252534151077271f);
  u = __builtin_fmaf(u, s, 0.00833336077630519866943359f);
  u = __builtin_fmaf(u, s, 0.0416664853692054748535156f);
  u = __builtin_fmaf(u, s, 0.166666671633720397949219f);
  u = __builtin_fmaf(u, s, 0.5f);
  u = 1.0f + __builtin_fmaf(s * s, u, s);
  const int32_t e = (int32_t)std::min(std::max(q, -200.0f), 200.0f), half = e >> 1;
  u = u * number((uint32_t)(half + 127) << 23) * number((uint32_t)(e - half + 127) << 23);
  u = x < -104.0f ? 0.0f : u;
  return x > 100.0f ? INFINITY : u;
}
static inline float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }
static inline float silu(float x) { return x / (1.0f + exponential(-x)); }
// Coefficients of oneDNN's polynomials for erf(x / sqrt(2)): one for every quarter of a power of two.
static const uint32_t erf_polynomials[25][6] = {
  {0xa6f2cb94, 0x3f4c422a, 0xb62173f4, 0xbe081a19, 0xba3d61db, 0x3cb7d80c},
  {0x32827792, 0x3f4c421f, 0x3735e4cf, 0xbe084570, 0x39f097a3, 0x3c9b6050},
  {0x3381cc0c, 0x3f4c4207, 0x37f2ff89, 0xbe08639b, 0x3a5845dc, 0x3c978d11},
  {0x34523d4a, 0x3f4c41cb, 0x388c23be, 0xbe089837, 0x3ab1fa35, 0x3c92e850},
  {0x351ac44d, 0x3f4c413b, 0x3917535c, 0xbe08f409, 0x3b0cefb8, 0x3c8d058b},
  {0x35f36d88, 0x3f4c3fad, 0x39ab2ab0, 0xbe09ab95, 0x3b653ab6, 0x3c848454},
  {0x36ee8229, 0x3f4c3a2f, 0x3a60fadb, 0xbe0b66d0, 0x3bcae527, 0x3c6cd623},
  {0x37b8a3bb, 0x3f4c2d40, 0x3af9b960, 0xbe0e400a, 0x3c221712, 0x3c4c824b},
  {0x3867a213, 0x3f4c146a, 0x3b6e5491, 0xbe124df8, 0x3c6c5840, 0x3c2a7935},
  {0x3940033b, 0x3f4bc341, 0x3c0a4ec5, 0xbe1bde02, 0x3cc0a703, 0x3be0b390},
  {0x3a2a5a1d, 0x3f4ad08c, 0x3ca5aa8c, 0xbe2f19c9, 0x3d1dcc19, 0x3b0651ac},
  {0x3ae35863, 0x3f48f8cf, 0x3d2138d9, 0xbe4931bf, 0x3d63656d, 0xbb232f53},
  {0x3b7828f2, 0x3f45fac7, 0x3d8737d4, 0xbe685fbc, 0x3d955907, 0xbbd42fa0},
  {0x3c08b14b, 0x3f404e07, 0x3ddfb660, 0xbe89c95f, 0x3dbf9910, 0xbc2c5366},
  {0x3c515ed3, 0x3f3b980f, 0x3e0f27ab, 0xbe96cbca, 0x3dd53f69, 0xbc492c9e},
  {0xbb503236, 0x3f48dff3, 0x3d94004b, 0xbe8044aa, 0x3db7dcef, 0xbc2a7aa6},
  {0xbd8d8e5e, 0x3f78b21b, 0xbe0efdeb, 0xbe0550f2, 0x3d639ebe, 0xbbd55d04},
  {0xbe8abcd9, 0x3fbb0704, 0xbf1d96c3, 0x3dcfd6a1, 0xba6ede48, 0xba823a76},
  {0xbf0c19a2, 0x40019c32, 0xbf89db58, 0x3e94c826, 0xbd22be69, 0x3b102aa8},
  {0xbeccb328, 0x3fe536d6, 0xbf6d9897, 0x3e79345f, 0xbd041cf1, 0x3ae25a7e},
  {0x3e176ced, 0x3f81331e, 0xbef69fb8, 0x3decec91, 0xbc64f5ab, 0x3a31f792},
  {0x3f470d99, 0x3e6c8684, 0xbdc4f8a8, 0x3ca46568, 0xbb097a32, 0x38b84375},
  {0x3f7abb28, 0x3c98f936, 0xbbde6422, 0x3aa1e00a, 0xb8ebf380, 0x3689bb5a},
  {0x3f800000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000},
  {0x00000000, 0x3f800000, 0x00000000, 0x00000000, 0x00000000, 0x00000000},
};
static inline float gelu(float x) {
  const float y = std::fabs(x);
  const int32_t quarter = std::min(std::max((int32_t)(bits(y) + 0xc21fffffu) >> 21, 1), 24);
  const uint32_t* const c = erf_polynomials[y > number(0x40b15ceeu) ? 23 : quarter];
  float p = number(c[5]);
  for (int power = 4; power >= 0; --power) p = __builtin_fmaf(p, y, number(c[power]));
  return x * (number(bits(p) ^ (bits(x) & 0x80000000u)) + 1.0f) * 0.5f;
}
// As the CPU's instruction that rounds to bfloat16 reads numbers.
static inline float without_denormals(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
static inline float larger(float x, float y) { return x != x || x > y ? x : y; }
// Reduces the lanes of a vector: the upper half to the lower one, again and again.
template <int W, class Reduce> static inline float reduced_lanes(float* a, Reduce reduce) {
  for (int half = W / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) a[i] = reduce(a[i], a[i + half]);
  return a[0];
}
// Reduces a row, lane by lane; fewer elements than lanes one after another.
template <int W, class Reduce> static inline float reduced(const float* x, long n, Reduce reduce) {
  float a[W];
  if (n < W) {
    a[0] = x[0];
    for (long i = 1; i < n; ++i) a[0] = reduce(a[0], x[i]);
    return a[0];
  }
  std::memcpy(a, x, sizeof a);
  long i = W;
  for (; i + W <= n; i += W)
    for (int k = 0; k < W; ++k) a[k] = reduce(a[k], x[i + k]);
  for (int k = 0; i + k < n; ++k) a[k] = reduce(a[k], x[i + k]);
  return reduced_lanes<W>(a, reduce);
}
template <int W> static void softmax(const float* x, float* y, long n) {
  const float most = reduced<W>(x, n, larger);
  for (long i = 0; i < n; ++i) y[i] = exponential(x[i] - most);
  const float factor = 1.0f / reduced<W>(y, n, [](float a, float b) { return a + b; });
  for (long i = 0; i < n; ++i) y[i] *= factor;
}
// Softmax of bfloat16: elements that fill no vector take the exponential of the C library.
template <int W> static void softmax_of_bfloat16(const float* x, float* y, long n) {
  const float most = reduced<W>(x, n, larger);
  float a[W] = {};
  long i = 0;
  for (; i + W <= n; i += W)
    for (int k = 0; k < W; ++k) a[k] += y[i + k] = exponential(x[i + k] - most);
  float total = reduced_lanes<W>(a, [](float b, float c) { return b + c; });
  for (; i < n; ++i) total += y[i] = std::exp(x[i] - most);
  const float factor = 1.0f / total;
  for (i = 0; i < n; ++i) y[i] *= factor;
}
// Number, mean and sum of squared differences from the mean, of each lane.
template <int W> struct Moments { long count; float mean[W], squares[W]; };
template <int W> static inline void add(Moments<W>& to, const Moments<W>& more) {
  const long count = to.count + more.count;
  const float part = count ? (float)more.count / (float)count : 0.0f, before = (float)to.count;
  for (int k = 0; k < W; ++k) {
    const float delta = more.mean[k] - to.mean[k], step = part * delta;
    to.mean[k] += step;
    to.squares[k] = __builtin_fmaf(delta * before, step, to.squares[k] + more.squares[k]);
  }
  to.count = count;
}
// Welford's sums of chunks of 16 vectors, which are added in pairs; P vectors of floats lie side by side.
template <class Add, int W, int P> static void moments(const float* x, long n, float& mean, float& variance) {
  const long vectors = n / (W * P), chunks = (vectors + 15) / 16;
  Moments<W> sums[32];
  int depth = 0;
  while (1L << depth < chunks) ++depth;
  for (int j = 0; j == 0 || j < depth; ++j) sums[j] = {};
  for (long i = 0; i < chunks; ++i) {
    const long length = std::min(16L, vectors - i * 16);
    for (int part = 0; part < P; ++part) {
      Moments<W> chunk = {};
      for (long j = 0; j < length; ++j) {
        const float* const row = x + ((i * 16 + j) * P + part) * W;
        const float share = 1.0f / (float)(j + 1);
        for (int k = 0; k < W; ++k) {
          const float delta = row[k] - chunk.mean[k];
          chunk.mean[k] = __builtin_fmaf(share, delta, chunk.mean[k]);
          chunk.squares[k] = __builtin_fmaf(delta, row[k] - chunk.mean[k], chunk.squares[k]);
        }
      }
      chunk.count = length;
      add(sums[0], chunk);
    }
    for (int j = 1; j < depth && !(i + 1 & (1L << j) - 1); ++j) {
      add(sums[j], sums[j - 1]);
      sums[j - 1] = {};
    }
  }
  for (int j = 1; j < depth; ++j) add(sums[0], sums[j]);
  long count = 0;
  float squares = 0.0f;
  mean = 0.0f;
  for (long i = vectors * W * P; i < n; ++i) {
    const float delta = x[i] - mean;
    mean += delta / (float)++count;
    squares += delta * (x[i] - mean);
  }
  for (int k = 0; k < W; ++k) {
    const long total = count + vectors * P;
    const float part = total ? (float)(vectors * P) / (float)total : 0.0f, delta = sums[0].mean[k] - mean;
    mean = Add::step(part, delta, mean);
    squares += Add::step(delta * delta * part, (float)count, sums[0].squares[k]);
    count = total;
  }
  variance = squares / (float)n;
}
// Scale and shift are null where the op has none.
template <class Add, int W>
static void layer_norm(const float* x, const float* scale, const float* shift, float* y, long n, float epsilon) {
  float mean, variance;
  moments<Add, W, 1>(x, n, mean, variance);
  const float factor = 1.0f / std::sqrt(variance + epsilon);
  for (long i = 0; i < n; ++i) {
    if (scale) y[i] = Add::step((x[i] - mean) * factor, scale[i], shift ? shift[i] : 0.0f);
    else y[i] = Add::step(x[i] - mean, factor, shift ? shift[i] : 0.0f);
  }
}
template <class Add, int W>
static void layer_norm_of_bfloat16(
    const float* x, const float* scale, const float* shift, float* y, long n, float epsilon) {
  float mean, variance;
  moments<Add, W, 2>(x, n, mean, variance);
  const float factor = 1.0f / std::sqrt(variance + epsilon), offset = -factor * mean;
  for (long i = 0; i < n; ++i)
    y[i] = Add::step(Add::step(x[i], factor, offset), scale ? scale[i] : 1.0f, shift ? shift[i] : 0.0f);
}
// Sums of C columns of n rows, in levels: each level adds the sums of so many terms of the one below.
template <int C> static inline void cascade(const float* x, long row, long column, long n, float* y) {
  long log = 0;
  while (1L << log < n) ++log;
  const long power = std::max(4L, log / 4), length = 1L << power;
  float s[4][C] = {};
  long i = 0;
  while (i + length <= n) {
    for (long j = 0; j < length; ++j, ++i)
      for (int k = 0; k < C; ++k) s[0][k] += x[i * row + k * column];
    for (int level = 1; level < 4; ++level) {
      for (int k = 0; k < C; ++k) {
        s[level][k] += s[level - 1][k];
        s[level - 1][k] = 0.0f;
      }
      if (i & (length - 1) << level * power) break;
    }
  }
  for (; i < n; ++i)
    for (int k = 0; k < C; ++k) s[0][k] += x[i * row + k * column];
  for (int level = 1; level < 4; ++level)
    for (int k = 0; k < C; ++k) s[0][k] += s[level][k];
  std::memcpy(y, s[0], sizeof s[0]);
}
// Sums of V columns side by side; every fourth row belongs to one of four sums.
template <int V> static inline void in_quarters(const float* x, long row, long n, float* y) {
  float s[4][V];
  for (int v = 0; v < V; ++v) {
    float quarters[4];
    cascade<4>(x + v, row * 4, row, n / 4, quarters);
    for (int k = 0; k < 4; ++k) s[k][v] = quarters[k];
  }
  for (long i = n / 4 * 4; i < n; ++i)
    for (int v = 0; v < V; ++v) s[0][v] += x[i * row + v];
  for (int k = 1; k < 4; ++k)
    for (int v = 0; v < V; ++v) s[0][v] += s[k][v];
  std::memcpy(y, s[0], sizeof s[0]);
}
// y [outer, inner] = the sums of x [outer, n, inner] over n; P vectors of floats are loaded at once. Overwrites x.
template <int W, int P> static void sums(float* x, float* y, long outer, long n, long inner) {
  for (; outer; --outer, x += n * inner, y += inner) {
    if (inner == 1 && n >= W * P) {
      const long vectors = n / (W * P);
      float s[W], total = 0.0f;
      for (long i = vectors * W * P; i < n; ++i) total += x[i];
      for (long i = 0; P == 2 && i < vectors; ++i)
        for (int k = 0; k < W; ++k) x[i * W + k] = x[i * 2 * W + k] + x[(i * 2 + 1) * W + k];
      in_quarters<W>(x, W, vectors, s);
      for (int k = 0; k < W; ++k) total += s[k];
      *y = total;
      continue;
    }
    const long together = inner < W * P ? 4 : 4 * W;
    long j = 0;
    for (; j + together <= inner; j += together)
      for (long k = j; k < j + together; k += 4) cascade<4>(x + k, inner, 1, n, y + k);
    for (; j < inner; ++j) in_quarters<1>(x + j, inner, n, y + j);
  }
}
"""
"""C++ that the source of every library begins with, after :data:`~.cpp.PRELUDE`."""
