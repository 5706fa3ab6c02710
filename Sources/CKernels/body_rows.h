// Row and element functions for one instruction set.

/// Applies `expression` of `v` to every element, whole vectors first.
#define EACH(expression)                       \
  do {                                         \
    size_t i = 0;                              \
    for (; i + LANES <= count; i += LANES) {   \
      vec v = load(x + i);                     \
      store(y + i, (expression));              \
    }                                          \
    if (i < count) {                           \
      float tail[LANES] = {0};                 \
      memcpy(tail, x + i, (count - i) * 4);    \
      vec v = load(tail);                      \
      store(tail, (expression));               \
      memcpy(y + i, tail, (count - i) * 4);    \
    }                                          \
  } while (0)

static void unary(tk_unary kind, const float *x, float *y, size_t count) {
  switch (kind) {
    case TK_GELU: EACH(gelu_(v)); break;
    case TK_SILU: EACH(v * sigmoid_(v)); break;
    case TK_SIGMOID: EACH(sigmoid_(v)); break;
    case TK_RELU: EACH(max_(v, splat(0))); break;
    case TK_TANH: EACH(tanh_(v)); break;
    case TK_EXP: EACH(exp_(v)); break;
    case TK_SOFTPLUS: EACH(softplus_(v)); break;
  }
}

static void affine(const float *x, float *y, float scale, float offset, size_t count) {
  // Two roundings on every instruction set.
#pragma clang fp contract(off)
  EACH(splat(scale) * v + splat(offset));
}
static void clamp(const float *x, float *y, float lower, float upper, size_t count) {
  EACH(select_(v < splat(lower), splat(lower), select_(v > splat(upper), splat(upper), v)));
}
static void softcap(const float *x, float *y, float cap, size_t count) {
  float inverse = 1 / cap;
  EACH(splat(cap) * tanh_(v * splat(inverse)));
}
static void widen_f16(const uint16_t *x, float *y, size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) store(y + i, widen_f16_(x + i));
  for (; i < count; i++) {
    _Float16 h;
    memcpy(&h, x + i, sizeof h);
    y[i] = (float)h;
  }
}
static void widen_bf16(const uint16_t *x, float *y, size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) store(y + i, widen_bf16_(x + i));
  for (; i < count; i++) {
    uint32_t bits = (uint32_t)x[i] << 16;
    memcpy(y + i, &bits, sizeof bits);
  }
}

INLINE vec pair(tk_binary kind, vec a, vec b) {
  switch (kind) {
    case TK_ADD: return a + b;
    case TK_SUBTRACT: return a - b;
    case TK_MULTIPLY: return a * b;
    case TK_DIVIDE: return a / b;
    case TK_MAXIMUM: return select_(b == b, max_(a, b), b);
    case TK_MINIMUM: return select_(b == b, min_(a, b), b);
  }
  return a;
}

INLINE void pairs(tk_binary kind, const float *a, const float *b, float scalar, float *y,
                  size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES)
    store(y + i, pair(kind, load(a + i), b ? load(b + i) : splat(scalar)));
  if (i < count) {
    float left[LANES] = {0}, right[LANES];
    for (int j = 0; j < LANES; j++) right[j] = scalar;
    memcpy(left, a + i, (count - i) * 4);
    if (b) memcpy(right, b + i, (count - i) * 4);
    store(left, pair(kind, load(left), load(right)));
    memcpy(y + i, left, (count - i) * 4);
  }
}

#define EACH_KIND(call)                           \
  switch (kind) {                                 \
    case TK_ADD: call(TK_ADD); break;             \
    case TK_SUBTRACT: call(TK_SUBTRACT); break;   \
    case TK_MULTIPLY: call(TK_MULTIPLY); break;   \
    case TK_DIVIDE: call(TK_DIVIDE); break;       \
    case TK_MAXIMUM: call(TK_MAXIMUM); break;     \
    case TK_MINIMUM: call(TK_MINIMUM); break;     \
  }

static void binary(tk_binary kind, const float *a, const float *b, float *y, size_t count) {
#define CALL(k) pairs(k, a, b, 1, y, count)
  EACH_KIND(CALL)
#undef CALL
}
static void binaryScalar(tk_binary kind, const float *a, float b, float *y, size_t count) {
#define CALL(k) pairs(k, a, NULL, b, y, count)
  EACH_KIND(CALL)
#undef CALL
}

static void gatedGelu(const float *x, const float *up, float *y, size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) store(y + i, gelu_(load(x + i)) * load(up + i));
  if (i < count) {
    float left[LANES] = {0}, right[LANES] = {0};
    memcpy(left, x + i, (count - i) * 4);
    memcpy(right, up + i, (count - i) * 4);
    store(left, gelu_(load(left)) * load(right));
    memcpy(y + i, left, (count - i) * 4);
  }
}

static float product(const float *a, const float *b, size_t count) {
  vec s0 = {}, s1 = {};
  size_t i = 0;
  for (; i + 2 * LANES <= count; i += 2 * LANES) {
    s0 = fma_(load(a + i), load(b + i), s0);
    s1 = fma_(load(a + i + LANES), load(b + i + LANES), s1);
  }
  float sum = sum_(s0 + s1);
  for (; i < count; i++) sum += a[i] * b[i];
  return sum;
}

static void accumulate(float *y, const float *x, float a, size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) store(y + i, fma_(splat(a), load(x + i), load(y + i)));
  for (; i < count; i++) y[i] += a * x[i];
}

static void scaled(const float *x, const float *weight, float *y, size_t width, float mean,
                   float factor) {
  size_t i = 0;
  for (; i + LANES <= width; i += LANES) {
    vec v = (load(x + i) - splat(mean)) * splat(factor);
    store(y + i, weight ? v * load(weight + i) : v);
  }
  for (; i < width; i++) y[i] = (x[i] - mean) * factor * (weight ? weight[i] : 1);
}

static void rmsNorm(const float *x, const float *weight, float *y, size_t rows, size_t width,
                    float epsilon) {
  for (size_t r = 0; r < rows; r++, x += width, y += width) {
    float mean = product(x, x, width) / (float)width;
    scaled(x, weight, y, width, 0, 1 / sqrtf(mean + epsilon));
  }
}

static float sum_of(const float *x, size_t count) {
  vec s = {};
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) s += load(x + i);
  float sum = sum_(s);
  for (; i < count; i++) sum += x[i];
  return sum;
}

/// Σ (x - mean)².
static float deviation(const float *x, float mean, size_t count) {
  vec s0 = {}, s1 = {};
  size_t i = 0;
  for (; i + 2 * LANES <= count; i += 2 * LANES) {
    vec a = load(x + i) - splat(mean), b = load(x + i + LANES) - splat(mean);
    s0 = fma_(a, a, s0);
    s1 = fma_(b, b, s1);
  }
  float sum = sum_(s0 + s1);
  for (; i < count; i++) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

static void layerNorm(const float *x, const float *weight, float *y, size_t rows, size_t width,
                      float epsilon) {
  for (size_t r = 0; r < rows; r++, x += width, y += width) {
    float mean = sum_of(x, width) / (float)width;
    float variance = deviation(x, mean, width) / (float)width;
    scaled(x, weight, y, width, mean, 1 / sqrtf(variance + epsilon));
  }
}

/// The largest number; -∞ for none.
static float peak_of(const float *x, size_t count) {
  vec s = splat(-INFINITY);
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) s = max_(s, load(x + i));
  float peak = peak_(s);
  for (; i < count; i++) peak = x[i] > peak ? x[i] : peak;
  return peak;
}

static void exponents(float *x, size_t count, float *peak, float *sum) {
  float most = peak_of(x, count);
  *peak = most = most == -INFINITY ? 0 : most;
  float *y = x;
  EACH(exp_down_(v - splat(most)));
  *sum = sum_of(x, count);
}

static void softmax(const float *x, float *y, size_t rows, size_t width) {
  for (size_t r = 0; r < rows; r++, x += width, y += width) {
    float peak = peak_of(x, width);
    size_t count = width;
    EACH(exp_down_(v - splat(peak)));
    float inverse = 1 / sum_of(y, width);
    for (size_t i = 0; i < width; i++) y[i] *= inverse;
  }
}

static void rotate(const float *x, const float *table, float *y, size_t rows, size_t heads,
                   size_t size, size_t axes) {
  size_t half = size / axes / 2;
  for (size_t r = 0; r < rows; r++, table += size)
    for (size_t h = 0; h < heads; h++, x += size, y += size)
      for (size_t part = 0; part < axes; part++) {
        size_t base = part * 2 * half, i = 0;
        const float *c = table + base, *s = c + half;
        const float *a = x + base, *b = a + half;
        float *ya = y + base, *yb = ya + half;
        for (; i + LANES <= half; i += LANES) {
          vec va = load(a + i), vb = load(b + i), vc = load(c + i), vs = load(s + i);
          store(ya + i, va * vc - vb * vs);
          store(yb + i, vb * vc + va * vs);
        }
        for (; i < half; i++) {
          float va = a[i], vb = b[i];
          ya[i] = va * c[i] - vb * s[i];
          yb[i] = vb * c[i] + va * s[i];
        }
      }
}
