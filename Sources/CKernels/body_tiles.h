// Register tiles and packing for one instruction set.

#define TILE_COLUMNS (2 * LANES)
/// Steps of a product of packed rows ahead of which these are asked for.
enum { AHEAD_STEPS = 512 };

/// `b` is of halves or floats; long products of floats find `a` in the second-level cache in time.
INLINE void tile_of(const int rows, const bool half, size_t depth, const float *a, size_t aStride,
                    const void *b, size_t bStride, float *c, size_t cStride, bool accumulate) {
  const size_t width = half ? 2 : 4;
  vec s[TILE_ROWS][2];
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; i++) {
    s[i][0] = s[i][1] = splat(0);
    __builtin_prefetch(c + (size_t)i * cStride, 1);
    if (LANES > 8) __builtin_prefetch(c + (size_t)i * cStride + LANES, 1);
  }
  for (size_t k = 0; k < depth; k++, a += aStride, b = (const char *)b + bStride * width) {
    vec b0 = half ? widen_f16_(b) : load(b);
    vec b1 = half ? widen_f16_((const uint16_t *)b + LANES) : load((const float *)b + LANES);
    if (!half) __builtin_prefetch(a + AHEAD_STEPS * TILE_ROWS, 0, 2);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; i++) {
      vec x = splat(a[i]);
      s[i][0] = fma_(x, b0, s[i][0]);
      s[i][1] = fma_(x, b1, s[i][1]);
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; i++, c += cStride) {
    store(c, accumulate ? load(c) + s[i][0] : s[i][0]);
    store(c + LANES, accumulate ? load(c + LANES) + s[i][1] : s[i][1]);
  }
}

static void tile(int rows, size_t depth, const float *a, size_t aStride, const float *b,
                 size_t bStride, float *c, size_t cStride, bool accumulate) {
#define ROWS(n) \
  case n: tile_of(n, false, depth, a, aStride, b, bStride, c, cStride, accumulate); break;
  switch (rows) {
    ROWS(1) ROWS(2) ROWS(3) ROWS(4)
#if TILE_ROWS > 4
    ROWS(5) ROWS(6)
#endif
#if TILE_ROWS > 6
    ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14)
#endif
  }
#undef ROWS
}

static void tileHalves(int rows, size_t depth, const float *a, size_t aStride, const uint16_t *b,
                       size_t bStride, float *c, size_t cStride, bool accumulate) {
#define ROWS(n) \
  case n: tile_of(n, true, depth, a, aStride, b, bStride, c, cStride, accumulate); break;
  switch (rows) {
    ROWS(1) ROWS(2) ROWS(3) ROWS(4)
#if TILE_ROWS > 6
    ROWS(5) ROWS(6) ROWS(7) ROWS(8)
#endif
  }
#undef ROWS
}

INLINE four load4(const float *p) {
  four v;
  memcpy(&v, p, sizeof v);
  return v;
}

/// Four rows of four turned into four columns.
INLINE void transpose4(const float *x, size_t stride, float *out, size_t outStride) {
  four a = load4(x), b = load4(x + stride), c = load4(x + 2 * stride), d = load4(x + 3 * stride);
  four ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  four ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  four cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  four cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  four r0 = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  four r1 = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  four r2 = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  four r3 = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
  memcpy(out, &r0, 16);
  memcpy(out + outStride, &r1, 16);
  memcpy(out + 2 * outStride, &r2, 16);
  memcpy(out + 3 * outStride, &r3, 16);
}

/// Two rows of four turned into four columns of two.
INLINE void transpose2(const float *x, size_t stride, float *out, size_t outStride) {
  four a = load4(x), b = load4(x + stride);
  four low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  four high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  memcpy(out, &low, 8);
  memcpy(out + outStride, (const char *)&low + 8, 8);
  memcpy(out + 2 * outStride, &high, 8);
  memcpy(out + 3 * outStride, (const char *)&high + 8, 8);
}

static void packRows(const float *x, size_t stride, size_t rows, size_t depth, float *out) {
  size_t k = 0;
  if (rows == TILE_ROWS)
    for (; k + 4 <= depth; k += 4) {
      const float *p = x + k;
#pragma clang loop unroll(full)
      for (int i = 0; i + 4 <= TILE_ROWS; i += 4)
        transpose4(p + (size_t)i * stride, stride, out + k * TILE_ROWS + i, TILE_ROWS);
      if (TILE_ROWS % 4 == 2)
        transpose2(p + (TILE_ROWS - 2) * stride, stride, out + k * TILE_ROWS + TILE_ROWS - 2,
                   TILE_ROWS);
    }
  for (; k < depth; k++)
    for (size_t i = 0; i < TILE_ROWS; i++)
      out[k * TILE_ROWS + i] = i < rows ? x[i * stride + k] : 0;
}

static void transpose(const float *x, size_t stride, size_t columns, size_t depth, float *out) {
  if (columns < TILE_COLUMNS) {
    for (size_t k = 0; k < depth; k++)
      for (size_t n = 0; n < TILE_COLUMNS; n++)
        out[k * TILE_COLUMNS + n] = n < columns ? x[n * stride + k] : 0;
    return;
  }
  size_t k = 0;
  // Sixteen numbers are one cache line of each row.
  for (; k + 16 <= depth; k += 16)
    for (size_t n = 0; n < TILE_COLUMNS; n += 4)
#pragma clang loop unroll(full)
      for (size_t j = k; j < k + 16; j += 4)
        transpose4(x + n * stride + j, stride, out + j * TILE_COLUMNS + n, TILE_COLUMNS);
  for (; k < depth; k++)
    for (size_t n = 0; n < TILE_COLUMNS; n++) out[k * TILE_COLUMNS + n] = x[n * stride + k];
}

static void columnSoftmax(float *s, size_t keys, float *inverse) {
  vec peak[2] = {load(s), load(s + LANES)}, sum[2] = {};
  for (size_t k = 1; k < keys; k++) {
    peak[0] = max_(peak[0], load(s + k * TILE_COLUMNS));
    peak[1] = max_(peak[1], load(s + k * TILE_COLUMNS + LANES));
  }
  for (int part = 0; part < 2; part++)
    peak[part] = select_(peak[part] < splat(-3e38f), splat(0), peak[part]);
  for (float *p = s; p < s + keys * TILE_COLUMNS; p += TILE_COLUMNS) {
    vec first = exp_down_(load(p) - peak[0]), second = exp_down_(load(p + LANES) - peak[1]);
    store(p, first);
    store(p + LANES, second);
    sum[0] += first;
    sum[1] += second;
  }
  store(inverse, splat(1) / sum[0]);
  store(inverse + LANES, splat(1) / sum[1]);
}
