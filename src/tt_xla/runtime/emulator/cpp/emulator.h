// The arithmetic of the emulated card: how numbers are loaded, rounded and stored, functions of one number, and the
// order in which the terms of a sum are added. Python has the same in emulator/sums.py and emulator/approximations.py,
// which compute where there is no compiler.
//
// No product is contracted with a sum (-ffp-contract=off) but where std::fma stands, so every compiler, instruction set
// and number of threads gives the same bits.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

static inline uint32_t bits(float x) { uint32_t u; std::memcpy(&u, &x, 4); return u; }
static inline float number(uint32_t u) { float x; std::memcpy(&x, &u, 4); return x; }
static inline float load(uint16_t x) { return number((uint32_t)x << 16); }
static inline float load(float x) { return x; }
static inline int32_t load(int32_t x) { return x; }
static inline int64_t load(int64_t x) { return x; }
// Rounds to bfloat16, to nearest even.
static inline float rounded(float x) {
  uint32_t u = bits(x), to_even = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
  return number(x != x ? 0x7fc00000u : to_even);
}
static inline float one_nan(float x) { return number(x != x ? 0x7fc00000u : bits(x)); }
// Stores a number as it is.
static inline void keep(uint16_t& to, float x) { to = (uint16_t)(bits(x) >> 16); }
static inline void keep(float& to, float x) { to = x; }
static inline void keep(int32_t& to, int32_t x) { to = x; }
static inline void keep(int64_t& to, int64_t x) { to = x; }
// Stores what was computed: every NaN has the same bits.
static inline void store(uint16_t& to, float x) { to = (uint16_t)(bits(x) >> 16); }
static inline void store(float& to, float x) { to = one_nan(x); }
static inline void store(int32_t& to, int32_t x) { to = x; }
static inline void store(int64_t& to, int64_t x) { to = x; }
// The bits of a number that the matrix unit's register keeps.
static inline float cut(float x, uint32_t mask) { return number(bits(x) & mask); }

// Integers wrap.
static inline float sum(float x, float y) { return x + y; }
static inline int32_t sum(int32_t x, int32_t y) { return (int32_t)((uint32_t)x + (uint32_t)y); }
static inline float difference(float x, float y) { return x - y; }
static inline int32_t difference(int32_t x, int32_t y) { return (int32_t)((uint32_t)x - (uint32_t)y); }
static inline float product(float x, float y) { return x * y; }
static inline int32_t product(int32_t x, int32_t y) { return (int32_t)((uint32_t)x * (uint32_t)y); }

// A quotient of integers is cut off toward 0; that by 0 has all bits set. A remainder has the dividend's sign.
static inline float quotient(float x, float y) { return x / y; }
static inline int32_t quotient(int32_t x, int32_t y) { return y == 0 ? -1 : (int32_t)((int64_t)x / y); }
static inline float remainder_of(float x, float y) { return (float)std::fmod((double)x, (double)y); }
static inline int32_t remainder_of(int32_t x, int32_t y) { return y == 0 ? x : (int32_t)((int64_t)x % y); }

// Extrema are NaN if one number is.
static inline float larger(float x, float y) {
  const float most = x > y ? x : y;
  return x != x ? x : most;
}
static inline int32_t larger(int32_t x, int32_t y) { return std::max(x, y); }
static inline float smaller(float x, float y) {
  const float least = x < y ? x : y;
  return x != x ? x : least;
}
static inline int32_t smaller(int32_t x, int32_t y) { return std::min(x, y); }
template <class T> static inline T limited(T x, T low, T high) {
  const T y = x < low ? low : x;
  return y > high ? high : y;
}
// Cuts a number off toward 0, within the limits of an integer's type; NaN is 0. An unsigned integer of 32 bits lies in
// one of 64.
template <class T> static inline T integer(float x) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr float low = wide ? 0.0f : -2147483648.0f, high = wide ? 4294967296.0f : 2147483648.0f;
  if (x != x) return 0;
  return x <= low ? (T)low : x >= high ? (T)(wide ? 4294967295LL : 2147483647LL) : (T)x;
}

// Functions of one number.
static inline float relu(float x) { return x < 0.0f ? 0.0f : x; }
static inline float sign(float x) { return x != x ? x : (float)((x > 0.0f) - (x < 0.0f)); }
static inline float hard_sigmoid(float x) { return limited(x + 3.0f, 0.0f, 6.0f) / 6.0f; }
static inline float exponential(float x) {
  const float q = std::nearbyint(x * 1.44269502f);
  const float s = (x - q * 0.693145752f) - q * 1.42860677e-06f;
  float u = 0.000198527618f;
  u = u * s + 0.00139304355f;
  u = u * s + 0.00833336078f;
  u = u * s + 0.0416664854f;
  u = u * s + 0.166666672f;
  u = u * s + 0.5f;
  u = 1.0f + ((s * s) * u + s);
  const int32_t e = (int32_t)std::min(std::max(q, -200.0f), 200.0f), half = e >> 1;
  u = (u * number((uint32_t)(half + 127) << 23)) * number((uint32_t)(e - half + 127) << 23);
  u = x < -104.0f ? 0.0f : u;
  return x > 100.0f ? INFINITY : u;
}
static inline float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }
static inline float silu(float x) { return x / (1.0f + exponential(-x)); }
static inline float hyperbolic_tangent(float x) {
  const float t = std::min(std::fabs(x), 10.0f), s = x * x;  // tanh(10) is 1 in float
  float p = 0.0157394409f;
  p = p * s - 0.0523025580f;
  p = p * s + 0.133152470f;
  p = p * s - 0.333327681f;
  const float near = x + (p * s) * x;
  const float far = std::copysign(1.0f - 2.0f / (exponential(2.0f * t) + 1.0f), x);
  return t < 0.599609375f ? near : (x != x ? x : far);
}
static inline float error_function(float x) {
  const float t = std::min(std::fabs(x), 4.0f), s = x * x;  // erf(4) is 1 in float
  float p = -5.96761703e-4f;
  p = p * s + 4.99119423e-3f;
  p = p * s - 2.67681349e-2f;
  p = p * s + 1.12819925e-1f;
  p = p * s - 3.76125336e-1f;
  p = p * s + 1.28379166e-1f;
  const float near = x + p * x;
  float r = -1.72853470e-5f;
  r = r * t + 3.83197126e-4f;
  r = r * t - 3.88396438e-3f;
  r = r * t + 2.42546219e-2f;
  r = r * t - 1.06777877e-1f;
  r = r * t - 6.34846687e-1f;
  r = r * t - 1.28717512e-1f;
  const float far = std::copysign(1.0f - exponential(r * t - t), x);
  return t < 0.927734375f ? near : (x != x ? x : far);
}
static inline float gelu(float x) { return (x * 0.5f) * (1.0f + error_function(x * 0.707106769f)); }

// The sine of x and some quarters of a turn, in double; large angles are the C library's.
static inline float sine(float x, int quarters) {
  if (!(std::fabs(x) <= 1048576.0f)) return (float)(quarters ? std::cos((double)x) : std::sin((double)x));
  const double angle = x, q = std::nearbyint(angle * 0.63661977236758134308);
  const double r = q == 0.0 ? angle : (angle - q * 1.57079632673412561417) - q * 6.07710050650619224932e-11;
  const double s = r * r;
  double odd = 0.0000027183114939898219064;
  odd = odd * s - 0.000198393348360966317347;
  odd = odd * s + 0.0083333293858894631756;
  odd = odd * s - 0.166666666416265235595;
  double even = 0.0000243904487962774090654;
  even = even * s - 0.00138867637746099294692;
  even = even * s + 0.0416666233237390631894;
  even = even * s - 0.499999997251031003120;
  const int quarter = (int)q + quarters;
  const double value = quarter & 1 ? even * s + 1.0 : (odd * s + 1.0) * r;
  return (float)(quarter & 2 ? -value : value);
}

// The logarithm of x, or of 1 + x, in double: with m in [sqrt(1/2), sqrt(2)) and x = m * 2^k it is k * log(2) and the
// series of log((1 + s) / (1 - s)).
static inline float logarithm(double x, double one) {
  const double y = one + x;
  uint64_t u; std::memcpy(&u, &y, 8);
  const int32_t k = (int32_t)((u - 0x3fe6a09e00000000u) >> 32) >> 20;
  const uint64_t v = u - ((uint64_t)(int64_t)k << 52);
  double m; std::memcpy(&m, &v, 8);
  const double f = k == 0 && one != 0.0 ? x : m - 1.0, s = f / (f + 2.0), t = s * s;
  double p = 0.090909090909090912;
  p = p * t + 0.1111111111111111;
  p = p * t + 0.14285714285714285;
  p = p * t + 0.2;
  p = p * t + 0.3333333333333333;
  const double near = (p * t) * s + s;
  const double value = k == 0 ? near + near : k * 0.6931471805599453 + (near + near);
  return (float)(y > 0.0 ? (y == INFINITY ? INFINITY : value) : y == 0.0 ? -INFINITY : NAN);
}

// Multiplications from which a product is shared among threads.
enum { SHARED = 1 << 18 };

// Sums and maxima. The terms of a sum lie in lines of LANES, the last one filled up with zeros. Lines are added in
// pairs of neighbours, those sums again in pairs, and so on; a line without a neighbour stays as it is. Then the second
// half of the lanes is added to the first, again and again.
enum { LANES = 16 };
struct Plus {
  static constexpr float neutral = 0.0f;
  static inline float of(float x, float y) { return x + y; }
};
struct Most {
  static constexpr float neutral = -INFINITY;
  static inline float of(float x, float y) { return larger(x, y); }
};
struct Least {
  static constexpr float neutral = INFINITY;
  static inline float of(float x, float y) { return smaller(x, y); }
};
struct Lines { float lane[LANES]; };
template <class Op> static inline Lines combined(const Lines& x, const Lines& y) {
  Lines z;
  for (int i = 0; i < LANES; ++i) z.lane[i] = Op::of(x.lane[i], y.lane[i]);
  return z;
}
// Sums of lines in pairs of neighbours, each of as many lines as those after it together, or more.
template <class Op> struct Pairs {
  Lines sums[64];
  int count = 0;
  // Adds the number-th line, from 1, or the number-th sum of so many lines each.
  void add(const Lines& line, long number) {
    for (sums[count++] = line; number % 2 == 0; number /= 2) join();
  }
  void join() {
    --count;
    sums[count - 1] = combined<Op>(sums[count - 1], sums[count]);
  }
  Lines all() {
    while (count > 1) join();
    return sums[0];
  }
};
template <class Op> static inline float folded(Lines x) {
  for (int half = LANES / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) x.lane[i] = Op::of(x.lane[i], x.lane[i + half]);
  return x.lane[0];
}
// Of eight lines side by side.
template <class Op> static inline Lines eight(const float* x) {
  Lines four[4], two[2];
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < LANES; ++i) four[j].lane[i] = Op::of(x[2 * j * LANES + i], x[(2 * j + 1) * LANES + i]);
  for (int j = 0; j < 2; ++j) two[j] = combined<Op>(four[2 * j], four[2 * j + 1]);
  return combined<Op>(two[0], two[1]);
}
// Of n numbers side by side.
template <class Op> static float reduced(const float* x, long n) {
  if (!n) return Op::neutral;
  const long together = n / (8 * LANES), before = together * 8 * LANES;
  Pairs<Op> pairs;
  for (long j = 0; j < together; ++j) pairs.add(eight<Op>(x + j * 8 * LANES), j + 1);
  for (long from = before; from < n; from += LANES) {
    Lines line;
    for (int i = 0; i < LANES; ++i) line.lane[i] = from + i < n ? x[from + i] : Op::neutral;
    pairs.add(line, (from - before) / LANES + 1);
  }
  return folded<Op>(pairs.all());
}
// Of `columns` columns side by side, at most LANES, n numbers that lie `row` apart, in the same order.
template <class Op> static inline void reduced_few(const float* x, long row, long n, long columns, float* to) {
  Lines lane[LANES];
  for (int i = 0; i < LANES; ++i) {
    Pairs<Op> pairs;
    for (long from = 0; from == 0 || from < n; from += LANES) {
      Lines line;
      for (int c = 0; c < LANES; ++c) line.lane[c] = Op::neutral;
      if (from + i < n) std::memcpy(&line, x + (from + i) * row, columns * sizeof(float));
      pairs.add(line, from / LANES + 1);
    }
    lane[i] = pairs.all();
  }
  for (int half = LANES / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = combined<Op>(lane[i], lane[i + half]);
  std::memcpy(to, lane[0].lane, columns * sizeof(float));
}
template <class Op> static void reduced_columns(const float* x, long row, long n, float* to) {
  reduced_few<Op>(x, row, n, LANES, to);
}
