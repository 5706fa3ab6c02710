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
INLINE vec max_(vec a, vec b) { return select_(a < b, b, a); }
INLINE vec min_(vec a, vec b) { return select_(b < a, b, a); }
INLINE float sum_(vec v) {
  float s = 0;
  for (int i = 0; i < LANES; i++) s += v[i];
  return s;
}
INLINE float peak_(vec v) {
  float s = v[0];
  for (int i = 1; i < LANES; i++) s = v[i] > s ? v[i] : s;
  return s;
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

/// Natural exponential, within 2 units in the last place; NaN stays.
INLINE vec exp_(vec x) {
  x = select_(x > splat(88.37f), splat(88.37f), x);
  x = select_(x < splat(-87.33f), splat(-87.33f), x);
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
  ivec power = (__builtin_convertvector(n, ivec) + 127) << 23;
  return p * (vec)power;
}
INLINE vec sigmoid_(vec x) { return splat(1.f) / (splat(1.f) + exp_(-x)); }
INLINE vec tanh_(vec x) { return splat(1.f) - splat(2.f) / (exp_(x + x) + splat(1.f)); }
INLINE vec gelu_(vec x) {
  vec u = x * splat(1.5957691216f) * fma_(x * x, splat(0.044715f), splat(1.f));
  return x * sigmoid_(u);
}
