// Products of stored weight rows with few activation rows, for one instruction set.

/// How far ahead of the products the weights are asked for, and the depth from which activations
/// fill the first-level cache.
enum { AHEAD_BYTES = 12288, DEEP = 8192 };

#define UNROLL _Pragma("clang loop unroll(full)")

/// Asks for what is read soon; what does not stay gets no place in the last-level cache, which is
/// then left to keys, values and activations.
INLINE void ahead(const void *p, size_t bytes, const bool stays) {
  for (size_t i = 0; i < bytes; i += 64) {
    const char *next = (const char *)p + AHEAD_BYTES + i;
    if (stays) __builtin_prefetch(next, 0, 3);
    else __builtin_prefetch(next, 0, 0);
  }
}

/// One or two neighbouring weight rows, and where their results go.
typedef struct {
  const uint8_t *w;
  size_t wBytes;          // from one weight row to the next
  const uint8_t *scales;  // of blocks of 32
  size_t scaleBytes;
  const float *x;
  size_t stride;  // of one row of x
  size_t depth;
  float *y;
  size_t yStride;
} dot_problem;

// MARK: - Dense rows

INLINE void dot_dense(const int format, const int pair, const int rows, const bool stays,
                      dot_problem d) {
  const size_t bytes = format == TK_F32 ? 4 : format == TK_INT8_ROW ? 1 : 2;
  // Enough sums to hide the latency of an addition, few enough for the registers.
  const int parts = pair * rows > 2 ? 1 : pair * rows > 1 ? 2 : 4;
  vec s[2][TK_HEADS][4];
  UNROLL for (int i = 0; i < pair; i++)
    UNROLL for (int r = 0; r < rows; r++)
      UNROLL for (int j = 0; j < parts; j++) s[i][r][j] = splat(0);
  size_t k = 0;
  for (; k + 4 * LANES <= d.depth; k += 4 * LANES) {
    UNROLL for (int i = 0; i < pair; i++)
      ahead(d.w + (size_t)i * d.wBytes + k * bytes, 4 * LANES * bytes, stays || pair * rows > 1);
    UNROLL for (int j = 0; j < 4; j++) {
      size_t at = k + (size_t)j * LANES;
      vec v[2];
      UNROLL for (int i = 0; i < pair; i++)
        v[i] = load_weight(format, d.w + (size_t)i * d.wBytes, at);
      UNROLL for (int r = 0; r < rows; r++) {
        vec x = load(d.x + (size_t)r * d.stride + at);
        UNROLL for (int i = 0; i < pair; i++)
          s[i][r][j % parts] = fma_(v[i], x, s[i][r][j % parts]);
      }
    }
  }
  UNROLL for (int i = 0; i < pair; i++)
    UNROLL for (int r = 0; r < rows; r++) {
      const float *x = d.x + (size_t)r * d.stride;
      vec whole = s[i][r][0];
      if (parts > 1) whole += s[i][r][1];
      if (parts > 2) whole += s[i][r][2] + s[i][r][3];
      float sum = sum_(whole);
      for (size_t j = k; j < d.depth; j++)
        sum += weight_at(format, d.w + (size_t)i * d.wBytes, j) * x[j];
      d.y[(size_t)r * d.yStride + (size_t)i] = sum;
    }
}

INLINE void dot_int8_block(const int pair, const int rows, const dot_problem *d, size_t k,
                           const float *scale, vec s[2][4]) {
  vec part[2][4];
  UNROLL for (int j = 0; j < 32; j += LANES) {
    vec v[2];
    UNROLL for (int i = 0; i < pair; i++)
      v[i] = widen_int8_(d->w + (size_t)i * d->wBytes + k + j);
    UNROLL for (int r = 0; r < rows; r++) {
      vec x = load(d->x + (size_t)r * d->stride + k + (size_t)j);
      UNROLL for (int i = 0; i < pair; i++) part[i][r] = j ? fma_(v[i], x, part[i][r]) : v[i] * x;
    }
  }
  UNROLL for (int i = 0; i < pair; i++)
    UNROLL for (int r = 0; r < rows; r++) s[i][r] = fma_(part[i][r], splat(scale[i]), s[i][r]);
}

INLINE void dot_int8_blocks(const int pair, const int rows, dot_problem d) {
  vec s[2][4];
  UNROLL for (int i = 0; i < pair; i++) UNROLL for (int r = 0; r < rows; r++) s[i][r] = splat(0);
  size_t k = 0;
  for (; k + 128 <= d.depth; k += 128) {
    four factors[2];
    UNROLL for (int i = 0; i < pair; i++) {
      ahead(d.w + (size_t)i * d.wBytes + k, 128, pair * rows > 1);
      factors[i] = halves_(d.scales + (size_t)i * d.scaleBytes + k / 16);
    }
    UNROLL for (int block = 0; block < 4; block++) {
      float scale[2] = {factors[0][block], pair > 1 ? factors[1][block] : 0};
      dot_int8_block(pair, rows, &d, k + (size_t)block * 32, scale, s);
    }
  }
  for (; k < d.depth; k += 32) {
    float scale[2] = {half_(d.scales + k / 16), 0};
    if (pair > 1) scale[1] = half_(d.scales + d.scaleBytes + k / 16);
    dot_int8_block(pair, rows, &d, k, scale, s);
  }
  for (int i = 0; i < pair; i++)
    for (int r = 0; r < rows; r++) d.y[(size_t)r * d.yStride + (size_t)i] = sum_(s[i][r]);
}

// MARK: - Four-bit rows

// A vector of 32-bit elements holds eight neighbouring weights in each. Activations are arranged
// so that one vector of them meets the weights of one place: [offset][place 0…7], each LANES wide.
// In the block format place p is used where it lies, as w · 2^4p, and the activations carry 2^-4p;
// the offset is what the weights' zero of 8 takes away.

enum { PLACES = 8, CHUNK = PLACES * LANES, ARRANGED = CHUNK + LANES };

#if LANES == 8
/// Bytes are looked up in whole vectors here: first the even weights, then the odd ones, of
/// elements 0 and 1, 4 and 5, 2 and 3, 6 and 7.
INLINE void arrange_bytes(const float *x, float *out) {
  const int pairs[4] = {0, 4, 2, 6};
  for (int i = 0; i < 4; i++) {
    vec a = load(x + pairs[i] * PLACES), b = load(x + pairs[i] * PLACES + PLACES);
    store(out + i * LANES, __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14));
    store(out + (i + 4) * LANES, __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15));
  }
}
INLINE void places_of_bytes(const lookup *t, ivec w, vec out[PLACES]) {
  const __m256i mask = _mm256_set1_epi8(15);
  for (int odd = 0; odd < 2; odd++) {
    __m256i index = _mm256_and_si256(odd ? _mm256_srli_epi16((__m256i)w, 4) : (__m256i)w, mask);
    __m256i low = _mm256_shuffle_epi8(t->lowBytes, index);
    __m256i high = _mm256_shuffle_epi8(t->highBytes, index);
    __m256i a = _mm256_unpacklo_epi8(low, high), b = _mm256_unpackhi_epi8(low, high);
    vec *to = out + 4 * odd;
    to[0] = (vec)_mm256_cvtph_ps(_mm256_castsi256_si128(a));
    to[1] = (vec)_mm256_cvtph_ps(_mm256_extracti128_si256(a, 1));
    to[2] = (vec)_mm256_cvtph_ps(_mm256_castsi256_si128(b));
    to[3] = (vec)_mm256_cvtph_ps(_mm256_extracti128_si256(b, 1));
  }
}
#endif

INLINE void places_of(const lookup *table, ivec w, vec out[PLACES]) {
#if LANES == 8
  if (table) {
    places_of_bytes(table, w, out);
    return;
  }
#endif
  UNROLL for (int p = 0; p < PLACES; p++) {
    if (table) out[p] = pick(*table, w >> 4 * p);
    else if (p == 7) out[p] = __builtin_convertvector((ivec)((uvec)w >> 28), vec);
    else out[p] = __builtin_convertvector(w & 15 << 4 * p, vec);
  }
}

INLINE void arrange_chunk(tk_format format, const float *x, float *out) {
  vec sum = splat(0);
#if LANES == 8
  if (format == TK_INT4_PALETTE32) {
    arrange_bytes(x, out + LANES);
    store(out, sum);
    return;
  }
#endif
  for (int l = 0; l < LANES; l += 4)
    for (int p = 0; p < PLACES; p += 4)
      transpose4(x + l * PLACES + p, PLACES, out + LANES + p * LANES + l, LANES);
  if (format == TK_INT4_BLOCK32)
    for (int p = 0; p < PLACES; p++) {
      float *place = out + LANES + p * LANES;
      sum += load(place);
      if (p < 7) store(place, load(place) * splat(1.f / (float)(1 << 4 * p)));
    }
  store(out, sum * splat(-8));
}

static void arrange(tk_format format, const float *x, size_t depth, float *out) {
  for (size_t k = 0; k < depth; k += CHUNK, out += ARRANGED) {
    float tail[CHUNK] = {0};
    const float *from = x + k;
    if (depth - k < CHUNK) from = memcpy(tail, from, (depth - k) * sizeof *x);
    arrange_chunk(format, from, out);
  }
}

/// Scales of the chunk's blocks of 32, four elements each.
INLINE vec scales_of(const uint8_t *scales) {
#if LANES == 16
  __m128i four_ = _mm_loadl_epi64((const __m128i *)scales);
  return (vec)_mm512_permutexvar_ps(
      _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0),
      _mm512_castps128_ps512(_mm_cvtph_ps(four_)));
#elif LANES == 8
  int32_t two;
  memcpy(&two, scales, sizeof two);
  __m128i spread = _mm_set_epi8(3, 2, 3, 2, 3, 2, 3, 2, 1, 0, 1, 0, 1, 0, 1, 0);
  return (vec)_mm256_cvtph_ps(_mm_shuffle_epi8(_mm_cvtsi32_si128(two), spread));
#else
  return splat(half_(scales));
#endif
}

/// One whole chunk of weights, at `w` with its scales.
INLINE void dot_int4_chunk(const lookup *table, const int pair, const int rows,
                           const dot_problem *d, const float *x, const uint8_t *w[2],
                           const uint8_t *scales[2], vec s[2][4]) {
  // Two chains of sums where there is one row of each: its latency would show.
  const bool single = pair * rows == 1;
  vec part[2][4], v[2][PLACES], odd = splat(0);
  UNROLL for (int i = 0; i < pair; i++) {
    ivec packed;
    memcpy(&packed, w[i], sizeof packed);
    places_of(table, packed, v[i]);
    UNROLL for (int r = 0; r < rows; r++) part[i][r] = load(x + (size_t)r * d->stride);
  }
  UNROLL for (int p = 0; p < PLACES; p++) {
    UNROLL for (int r = 0; r < rows; r++) {
      vec place = load(x + (size_t)r * d->stride + LANES + p * LANES);
      if (single && p % 2) odd = p == 1 ? v[0][p] * place : fma_(v[0][p], place, odd);
      else UNROLL for (int i = 0; i < pair; i++) part[i][r] = fma_(v[i][p], place, part[i][r]);
    }
  }
  if (single) part[0][0] += odd;
  UNROLL for (int i = 0; i < pair; i++) {
    vec scale = table ? splat(1) : scales_of(scales[i]);
    UNROLL for (int r = 0; r < rows; r++)
      s[i][r] = table ? s[i][r] + part[i][r] : fma_(part[i][r], scale, s[i][r]);
  }
}

INLINE void dot_int4(const lookup *table, const int pair, const int rows, dot_problem d) {
  vec s[2][4];
  UNROLL for (int i = 0; i < pair; i++) UNROLL for (int r = 0; r < rows; r++) s[i][r] = splat(0);
  const uint8_t *w[2], *scales[2] = {NULL, NULL};
  const float *x = d.x;
  size_t k = 0;
  for (; k + CHUNK <= d.depth; k += CHUNK, x += ARRANGED) {
    UNROLL for (int i = 0; i < pair; i++) {
      w[i] = d.w + (size_t)i * d.wBytes + k / 2;
      if (!table) scales[i] = d.scales + (size_t)i * d.scaleBytes + k / 16;
      ahead(w[i], CHUNK / 2, pair * rows > 1);
    }
    dot_int4_chunk(table, pair, rows, &d, x, w, scales, s);
  }
  if (k < d.depth) {
    // Weights beyond the end meet zeros.
    uint8_t tail[2][CHUNK / 2] = {0}, tailScales[2][CHUNK / 16] = {0};
    for (int i = 0; i < pair; i++) {
      w[i] = memcpy(tail[i], d.w + (size_t)i * d.wBytes + k / 2, (d.depth - k) / 2);
      scales[i] = tailScales[i];
      if (!table)
        memcpy(tailScales[i], d.scales + (size_t)i * d.scaleBytes + k / 16, (d.depth - k) / 16);
    }
    dot_int4_chunk(table, pair, rows, &d, x, w, scales, s);
  }
  for (int i = 0; i < pair; i++)
    for (int r = 0; r < rows; r++) d.y[(size_t)r * d.yStride + (size_t)i] = sum_(s[i][r]);
}

// MARK: - One task

/// One or two weight rows from `n` on; two start at an even row.
INLINE void dot_pair(const int format, const int pair, const int rows, const tk_matrix *w,
                     size_t n, dot_problem d) {
  size_t first = n * d.depth, all = w->rows * d.depth;
  const uint8_t *data = w->data;
  lookup table;
  d.wBytes = format == TK_F32 ? d.depth * 4 : d.depth * 2;
  if (format == TK_INT8_ROW || format == TK_INT8_BLOCK32) d.wBytes = d.depth;
  if (format == TK_INT4_BLOCK32 || format == TK_INT4_PALETTE32) d.wBytes = d.depth / 2;
  d.w = data + n * d.wBytes;
  d.scaleBytes = d.depth / 16;
  switch (format) {
    case TK_INT8_ROW:
      dot_dense(TK_INT8_ROW, pair, rows, false, d);
      for (int i = 0; i < pair; i++)
        for (int r = 0; r < rows; r++)
          d.y[(size_t)r * d.yStride + (size_t)i] *= half_(data + all + (n + (size_t)i) * 2);
      break;
    case TK_INT8_BLOCK32:
      d.scales = data + all + first / 16;
      dot_int8_blocks(pair, rows, d);
      break;
    case TK_INT4_BLOCK32:
      d.scales = data + all / 2 + first / 16;
      dot_int4(NULL, pair, rows, d);
      break;
    case TK_INT4_PALETTE32:
      table = lookup_of(data + all / 2 + n / 32 * 32);
      dot_int4(&table, pair, rows, d);
      break;
    default: dot_dense(format, pair, rows, false, d);
  }
}

INLINE void dot_rows(const int format, const int rows, const tk_matrix *w, size_t first,
                     size_t count, dot_problem d) {
  // Few activations wait for memory, which serves one stream best. Many, or long ones that leave the
  // first-level cache, wait for their own loads, which two weight rows share where the registers
  // hold all sums.
  const bool dense = format != TK_INT8_BLOCK32 && format != TK_INT4_BLOCK32 &&
                     format != TK_INT4_PALETTE32;
  const bool wide = rows > 2 && (dense || LANES == 16);
  const bool pairs = wide || (rows == 1 && d.depth >= DEEP);
  size_t n = first, end = first + count;
  if (pairs)
    for (; n + 2 <= end; n += 2, d.y += 2) dot_pair(format, 2, rows, w, n, d);
  for (; n < end; n++, d.y++) dot_pair(format, 1, rows, w, n, d);
}

static void dot(const float *x, size_t stride, size_t rows, const tk_matrix *w, size_t first,
                size_t count, float *y, size_t yStride) {
  dot_problem d = {.x = x, .stride = stride, .depth = w->columns, .y = y, .yStride = yStride};
#define FORMAT(f)                                                \
  case f:                                                        \
    switch (rows) {                                              \
      case 1: dot_rows(f, 1, w, first, count, d); break;         \
      case 2: dot_rows(f, 2, w, first, count, d); break;         \
      case 3: dot_rows(f, 3, w, first, count, d); break;         \
      default: dot_rows(f, 4, w, first, count, d); break;        \
    }                                                            \
    break;
  switch (w->format) {
    FORMAT(TK_F32) FORMAT(TK_F16) FORMAT(TK_BF16) FORMAT(TK_INT8_BLOCK32) FORMAT(TK_INT8_ROW)
    FORMAT(TK_INT4_BLOCK32) FORMAT(TK_INT4_PALETTE32)
  }
#undef FORMAT
}

/// Heads whose sums with two keys the registers hold.
enum { DOT_HEADS = LANES == 16 ? 8 : 4 };

INLINE void dot_keys(const int format, const int pair, size_t rows, dot_problem d) {
#define ROWS(r) \
  case r: dot_dense(format, pair, r, true, d); break;
  switch (rows) {
    ROWS(1) ROWS(2) ROWS(3) ROWS(4)
#if LANES == 16
    ROWS(5) ROWS(6) ROWS(7) ROWS(8)
#endif
  }
#undef ROWS
}

static void dotRows(const float *x, size_t stride, size_t rows, const void *w, bool half,
                    size_t wStride, size_t count, size_t depth, float *y, size_t yStride) {
  dot_problem d = {.x = x, .stride = stride, .depth = depth, .y = y, .yStride = yStride};
  d.wBytes = wStride * (half ? 2 : 4);
  for (size_t n = 0; n < count; n += 2, d.y += 2) {
    d.w = (const uint8_t *)w + n * d.wBytes;
    const size_t keys = min_size(2, count - n);
    if (half && keys == 2) dot_keys(TK_F16, 2, rows, d);
    else if (half) dot_keys(TK_F16, 1, rows, d);
    else if (keys == 2) dot_keys(TK_F32, 2, rows, d);
    else dot_keys(TK_F32, 1, rows, d);
  }
}
