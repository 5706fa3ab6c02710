// One vector type of LANES floats and the functions the kernels are written in.
#include <math.h>
#include <string.h>

#include "kernels.h"

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef uint32_t uvec __attribute__((vector_size(LANES * 4)));
typedef uint16_t hvec __attribute__((vector_size(LANES * 2)));
typedef _Float16 fhvec __attribute__((vector_size(LANES * 2)));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *p) {
  vec v;
  memcpy(&v, p, sizeof v);
  return v;
}
INLINE void store(float *p, vec v) { memcpy(p, &v, sizeof v); }
INLINE vec splat(float x) { return x - (vec){}; }
INLINE vec fma_(vec a, vec b, vec c) {
#if FUSED
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}
INLINE vec select_(ivec mask, vec a, vec b) { return (vec)((mask & (ivec)a) | (~mask & (ivec)b)); }
/// The larger of two numbers, `a` where one is NaN.
INLINE vec max_(vec a, vec b) {
#if LANES == 16
  return (vec)_mm512_max_ps((__m512)b, (__m512)a);
#else
  return select_(a < b, b, a);
#endif
}
INLINE vec min_(vec a, vec b) { return select_(b < a, b, a); }
typedef float four __attribute__((vector_size(16)));
typedef float eight __attribute__((vector_size(32)));

/// Halves folded until four numbers are left.
#if LANES == 16
#define FOLD(v, combine)                                                   \
  ({                                                                       \
    eight x = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);       \
    eight y = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15); \
    x = combine(x, y);                                                     \
    four l = __builtin_shufflevector(x, x, 0, 1, 2, 3);                    \
    four h = __builtin_shufflevector(x, x, 4, 5, 6, 7);                    \
    combine(l, h);                                                         \
  })
#elif LANES == 8
#define FOLD(v, combine)                                \
  ({                                                    \
    four l = __builtin_shufflevector(v, v, 0, 1, 2, 3); \
    four h = __builtin_shufflevector(v, v, 4, 5, 6, 7); \
    combine(l, h);                                      \
  })
#else
#define FOLD(v, combine) v
#endif
#define PLUS(a, b) ((a) + (b))

INLINE float sum_(vec v) {
  four s = FOLD(v, PLUS);
  return (s[0] + s[2]) + (s[1] + s[3]);
}
INLINE float peak_(vec v) {
  float s = v[0];
  for (int i = 1; i < LANES; i++) s = v[i] > s ? v[i] : s;
  return s;
}
INLINE float half_(const void *p) {
  _Float16 h;
  memcpy(&h, p, sizeof h);
  return (float)h;
}
INLINE vec widen_bf16_(const uint16_t *p) {
  hvec h;
  memcpy(&h, p, sizeof h);
  return (vec)(__builtin_convertvector(h, uvec) << 16);
}
INLINE vec widen_f16_(const uint16_t *p) {
  fhvec h;
  memcpy(&h, p, sizeof h);
  return __builtin_convertvector(h, vec);
}

/// A polynomial for exp(x) · 2^-n and n, the nearest power.
INLINE vec exp_polynomial_(vec x, vec *power) {
  vec n = fma_(x, splat(1.44269504f), splat(12582912.f)) - splat(12582912.f);
  vec r = fma_(n, splat(-0.693359375f), x);
  r = fma_(n, splat(2.12194440e-4f), r);
  vec p = splat(1.9875691500e-4f);
  p = fma_(p, r, splat(1.3981999507e-3f));
  p = fma_(p, r, splat(8.3334519073e-3f));
  p = fma_(p, r, splat(4.1665795894e-2f));
  p = fma_(p, r, splat(1.6666665459e-1f));
  p = fma_(p, r, splat(5.0000001201e-1f));
  p = fma_(p * r, r, r) + splat(1.f);
  *power = n;
  return p;
}
/// The same with the power as a whole number.
INLINE vec exp_part_(vec x, ivec *power) {
  vec n, p = exp_polynomial_(x, &n);
  *power = __builtin_convertvector(n, ivec);
  return p;
}
/// Natural exponential between 2^-126 and 2^127, within 2 units in the last place; NaN stays.
INLINE vec exp_bounded_(vec x) {
  x = select_(x > splat(88.02f), splat(88.02f), x);
  x = select_(x < splat(-87.33f), splat(-87.33f), x);
  ivec power;
  vec p = exp_part_(x, &power);
  return p * (vec)((power + 127) << 23);
}
/// The same for numbers that are not above 0, and 0 where the result is no normal number.
INLINE vec exp_down_(vec x) {
#if LANES == 16
  vec n;
  vec part = exp_polynomial_(x, &n);
  __mmask16 normal = _mm512_cmp_ps_mask((__m512)x, (__m512)splat(-87.33f), _CMP_NLT_UQ);
  return (vec)_mm512_maskz_scalef_ps(normal, (__m512)part, (__m512)n);
#else
  ivec power;
  vec p = exp_part_(select_(x < splat(-87.33f), splat(-87.33f), x), &power);
  return select_(x < splat(-87.33f), splat(0), p * (vec)((power + 127) << 23));
#endif
}
/// The same over the whole range.
INLINE vec exp_(vec all) {
  ivec power;
  vec x = select_(all > splat(88.72f), splat(88.72f), all);
  vec p = exp_part_(select_(x < splat(-87.33f), splat(-87.33f), x), &power);
  // Half the power twice: the largest numbers have a power of 128.
  ivec half = power >> 1;
  p = p * (vec)((half + 127) << 23) * (vec)((power - half + 127) << 23);
  p = select_(all > splat(88.722839f), splat(INFINITY), p);
  return select_(all < splat(-87.33f), splat(0), p);
}
/// Natural logarithm of normal numbers from 1 on, within 2 units in the last place; NaN stays.
INLINE vec log_(vec x) {
  ivec bits = (ivec)x, power = (bits - 0x3f3504f3) >> 23;
  vec m = (vec)(bits - (power << 23)) - splat(1.f);
  vec e = __builtin_convertvector(power, vec), z = m * m;
  vec p = splat(7.0376836292e-2f);
  p = fma_(p, m, splat(-1.1514610310e-1f));
  p = fma_(p, m, splat(1.1676998740e-1f));
  p = fma_(p, m, splat(-1.2420140846e-1f));
  p = fma_(p, m, splat(1.4249322787e-1f));
  p = fma_(p, m, splat(-1.6668057665e-1f));
  p = fma_(p, m, splat(2.0000714765e-1f));
  p = fma_(p, m, splat(-2.4999993993e-1f));
  p = fma_(p, m, splat(3.3333331174e-1f)) * m * z;
  p = fma_(e, splat(-2.12194440e-4f), p);
  p = fma_(z, splat(-0.5f), p);
  vec result = fma_(e, splat(0.693359375f), m + p);
  return select_(x == x, result, x);
}
/// log(1 + exp(x)): above 0, x + log(1 + exp(-x)); small exponentials keep their digits.
INLINE vec softplus_(vec x) {
  vec e = exp_down_(select_(x > splat(0), -x, x));
  vec u = splat(1) + e, d = u - splat(1);
  vec tail = select_(d == splat(0), e, log_(u) * (e / d));
  vec result = select_(x > splat(0), x + tail, tail);
  return select_(x == x, result, x);
}
INLINE vec sigmoid_(vec x) { return splat(1.f) / (splat(1.f) + exp_bounded_(-x)); }
/// Hyperbolic tangent within a few units in the last place: a polynomial where 1 - … would cancel.
INLINE vec tanh_(vec x) {
  vec far = splat(1.f) - splat(2.f) / (exp_bounded_(x + x) + splat(1.f));
  vec z = x * x, p = splat(-5.70498872745e-3f);
  p = fma_(p, z, splat(2.06390887954e-2f));
  p = fma_(p, z, splat(-5.37397155531e-2f));
  p = fma_(p, z, splat(1.33314422036e-1f));
  p = fma_(p, z, splat(-3.33332819422e-1f));
  return select_(max_(x, -x) < splat(0.625f), fma_(p * z, x, x), far);
}
INLINE vec gelu_(vec x) {
  vec u = x * splat(1.5957691216f) * fma_(x * x, splat(0.044715f), splat(1.f));
  return select_(u < splat(-87.f), splat(0), x * sigmoid_(u));
}
