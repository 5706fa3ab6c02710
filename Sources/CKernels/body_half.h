// Rounding to fp16 and back, and sums kept in fp16, for one instruction set.

INLINE vec rounded_(vec v) {
  fhvec h = __builtin_convertvector(v, fhvec);
  return __builtin_convertvector(h, vec);
}

static void narrowHalf(const float *x, uint16_t *y, size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    fhvec h = __builtin_convertvector(load(x + i), fhvec);
    memcpy(y + i, &h, sizeof h);
  }
  for (; i < count; i++) {
    _Float16 h = (_Float16)x[i];
    memcpy(y + i, &h, sizeof h);
  }
}

INLINE uint32_t count_(ivec mask) {
  uint32_t count = 0;
  for (int i = 0; i < LANES; i++) count += (uint32_t)(mask[i] != 0);
  return count;
}

static void roundHalf(const float *x, float *y, size_t count, bool flush, tk_health *health) {
  const vec zero = splat(0), smallest = splat(6.103515625e-5f), beyond = splat(65504.f);
  vec largest = splat(health->largest);
  for (size_t i = 0; i < count; i += LANES) {
    float tail[LANES] = {0};
    size_t lanes = count - i < LANES ? count - i : LANES;
    vec v;
    if (lanes == LANES) {
      v = load(x + i);
    } else {
      memcpy(tail, x + i, lanes * 4);
      v = load(tail);
    }
    vec r = rounded_(v);
    vec size = max_(r, -r);
    ivec isSubnormal = (size < smallest) & (size > zero);
    if (flush) {
      if (count_(isSubnormal)) health->flushed += count_(isSubnormal);
      r = select_(isSubnormal, zero, r);
    }
    ivec isFinite = size <= beyond;
    if (count_(~isFinite)) {
      health->nans += count_(~(r == r));
      health->overflows += count_(size > beyond);
    }
    largest = max_(largest, select_(isFinite, size, zero));
    if (lanes == LANES) {
      store(y + i, r);
    } else {
      store(tail, r);
      memcpy(y + i, tail, lanes * 4);
    }
  }
  health->largest = peak_(largest);
}

// MARK: - Sums kept in fp16

// A sum takes one term after another: the product is exact in f32, its sum with what came before is
// rounded to f32 and then to fp16.

/// `c[i, j]` for one or a few rows and two vectors of columns, beginning with what stands there.
INLINE void half_tile_of(const int rows, size_t depth, const float *x, size_t stride,
                         const float *b, float *c) {
  vec s[TK_HALF_ROWS][2];
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; i++) {
    s[i][0] = load(c + i * TILE_COLUMNS);
    s[i][1] = load(c + i * TILE_COLUMNS + LANES);
  }
  for (size_t k = 0; k < depth; k++, b += TILE_COLUMNS) {
    vec b0 = load(b), b1 = load(b + LANES);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; i++) {
      vec a = splat(x[(size_t)i * stride + k]);
      s[i][0] = rounded_(fma_(a, b0, s[i][0]));
      s[i][1] = rounded_(fma_(a, b1, s[i][1]));
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; i++) {
    store(c + i * TILE_COLUMNS, s[i][0]);
    store(c + i * TILE_COLUMNS + LANES, s[i][1]);
  }
}

static void halfTile(int rows, size_t depth, const float *x, size_t stride, const float *b,
                     float *c) {
  switch (rows) {
    case 1: half_tile_of(1, depth, x, stride, b, c); break;
    case 2: half_tile_of(2, depth, x, stride, b, c); break;
    case 3: half_tile_of(3, depth, x, stride, b, c); break;
    default: half_tile_of(TK_HALF_ROWS, depth, x, stride, b, c); break;
  }
}

static void halfAdd(float *sum, const float *x, size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) store(sum + i, rounded_(load(sum + i) + load(x + i)));
  for (; i < count; i++) sum[i] = (float)(_Float16)(sum[i] + x[i]);
}

/// Element `i` of a few neighbouring rows, zeros beyond.
INLINE vec column_(const float *x, size_t width, size_t rows, size_t i) {
  float lanes[LANES] = {0};
  for (size_t r = 0; r < rows; r++) lanes[r] = x[r * width + i];
  return load(lanes);
}

/// Sums of a few rows, one a lane.
INLINE vec half_sums_(const float *x, size_t width, size_t rows) {
  vec s = {};
  for (size_t i = 0; i < width; i++) s = rounded_(s + column_(x, width, rows, i));
  return s;
}

/// Sums of squared differences from `mean`, each difference rounded to fp16.
INLINE vec half_squares_(const float *x, size_t width, size_t rows, vec mean) {
  vec s = {};
  for (size_t i = 0; i < width; i++) {
    vec d = rounded_(column_(x, width, rows, i) - mean);
    s = rounded_(fma_(d, d, s));
  }
  return s;
}

/// Normalises rows; gives how many sums are infinite.
INLINE uint32_t half_norm(const bool centres, const float *x, const float *weight, float *y,
                          size_t rows, size_t width, float epsilon) {
  uint32_t overflows = 0;
  for (size_t first = 0; first < rows; first += LANES) {
    size_t count = rows - first < LANES ? rows - first : LANES;
    const float *from = x + first * width;
    vec mean = {};
    if (centres) mean = half_sums_(from, width, count) / splat((float)width);
    vec squares = half_squares_(from, width, count, mean);
    overflows += count_((squares > splat(65504.f)) | (max_(mean, -mean) > splat(65504.f)));
    for (size_t r = 0; r < count; r++) {
      float factor = 1 / sqrtf(squares[r] / (float)width + epsilon);
      scaled(from + r * width, weight, y + (first + r) * width, width, mean[r], factor);
    }
  }
  return overflows;
}

static uint32_t rmsNormHalf(const float *x, const float *weight, float *y, size_t rows,
                            size_t width, float epsilon) {
  return half_norm(false, x, weight, y, rows, width, epsilon);
}

static uint32_t layerNormHalf(const float *x, const float *weight, float *y, size_t rows,
                              size_t width, float epsilon) {
  return half_norm(true, x, weight, y, rows, width, epsilon);
}

static uint32_t softmaxHalf(const float *x, float *y, size_t rows, size_t width) {
  uint32_t overflows = 0;
  for (size_t first = 0; first < rows; first += LANES) {
    size_t left = rows - first < LANES ? rows - first : LANES;
    float *to = y + first * width;
    for (size_t r = 0; r < left; r++) {
      const float *row = x + (first + r) * width;
      float peak = peak_of(row, width);
      for (size_t i = 0; i < width; i += LANES) {
        size_t lanes = width - i < LANES ? width - i : LANES;
        float some[LANES] = {0};
        memcpy(some, row + i, lanes * 4);
        store(some, rounded_(exp_down_(load(some) - splat(peak))));
        memcpy(to + r * width + i, some, lanes * 4);
      }
    }
    vec sums = half_sums_(to, width, left);
    overflows += count_(sums > splat(65504.f));
    for (size_t r = 0; r < left; r++) {
      float inverse = 1 / sums[r];
      for (size_t i = 0; i < width; i++) to[r * width + i] *= inverse;
    }
  }
  return overflows;
}
