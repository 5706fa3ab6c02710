// Products of quantised weight rows with few activation rows in 16-bit fixed point, for one
// instruction set.
//
// Activations are rounded to 16 bits, chunk by chunk of 8 · LANES, against the chunk's largest
// number; weights are whole numbers of at most 14 bits. Products are summed exactly in 32 bits over
// a chunk, and chunks in f32. What is lost is at most 2^-16 of a chunk's largest activation in each
// of its numbers, and 2^-13 of a palette's largest entry in those below an eighth of it.

#if LANES > 4

/// Largest activation, bits of the largest palette entry, vectors of words in a chunk.
enum { FIXED_PEAK = 32767, TABLE_BITS = 13, WORD_VECTORS = 4 };

typedef int16_t words __attribute__((vector_size(LANES * 4)));

/// Bytes of one arranged row: words of all chunks, then one factor for each chunk.
static size_t fixedBytes(size_t depth) {
  size_t chunks = (depth + CHUNK - 1) / CHUNK;
  return (chunks * (CHUNK * 2 + 4) + 63) / 64 * 64;
}
INLINE const float *fixed_factors(const void *x, size_t depth) {
  return (const float *)((const char *)x + (depth + CHUNK - 1) / CHUNK * CHUNK * 2);
}

/// Sums of neighbouring products: one for every two words.
INLINE ivec add_products(ivec sum, ivec a, ivec b) {
#if LANES == 16
  return sum + (ivec)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#else
  return sum + (ivec)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#endif
}
INLINE ivec widen_words_(const uint8_t *p) {
#if LANES == 16
  return (ivec)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)p));
#else
  return (ivec)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)p));
#endif
}

// MARK: - Activations

/// The chunk in the order in which words meet weights: for each vector of words the even ones, then
/// the odd ones, LANES of each.
INLINE void order_words(tk_format format, const float *x, float *out) {
  if (format == TK_INT8_BLOCK32) {
    for (int v = 0; v < CHUNK; v += 2 * LANES)
      for (int l = 0; l < LANES; l++) {
        out[v + l] = x[v + 2 * l];
        out[v + LANES + l] = x[v + 2 * l + 1];
      }
    return;
  }
#if LANES == 16
  // Word vector p holds weight p of every four: lane l of the even words is weight 8 l + p.
  for (int l = 0; l < LANES; l += 4)
    for (int odd = 0; odd < 2; odd++)
      transpose4(x + l * 8 + odd * 4, 8, out + odd * LANES + l, 2 * LANES);
#else
  // Bytes are looked up in whole vectors; low and high halves of both lanes are interleaved, first
  // of the even weights, then of the odd ones.
  for (int h = 0; h < 2; h++)
    for (int lane = 0; lane < 2; lane++) {
      float four_[16];
      transpose4(x + 32 * lane + 16 * h, 4, four_, 4);
      for (int i = 0; i < 4; i++)
        memcpy(out + (h + 2 * (i % 2)) * 2 * LANES + i / 2 * LANES + 4 * lane, four_ + 4 * i, 16);
    }
#endif
}

/// Rounds one chunk to words; gives the factor that undoes it, NaN where a number is not finite.
INLINE float fixed_chunk(tk_format format, const float *x, int32_t *out) {
  float ordered[CHUNK];
  order_words(format, x, ordered);
  vec peak = splat(0), bad = splat(0);
  for (int i = 0; i < CHUNK; i += LANES) {
    vec v = load(ordered + i);
    peak = max_(peak, max_(v, -v));
    bad += v - v;
  }
  float most = peak_(peak), up = most > 1e-30f ? FIXED_PEAK / most : 0;
  for (int i = 0; i < WORD_VECTORS; i++) {
    // Whole numbers in the low bits: this is how large a float must be to have no fraction.
    const vec whole = splat(12582912.f);
    ivec even = (ivec)fma_(load(ordered + 2 * i * LANES), splat(up), whole);
    ivec odd = (ivec)fma_(load(ordered + (2 * i + 1) * LANES), splat(up), whole);
    ivec both = (even & 0xffff) | (odd << 16);
    memcpy(out + i * LANES, &both, sizeof both);
  }
  return most / FIXED_PEAK + sum_(bad);
}

static void arrangeFixed(tk_format format, const float *x, size_t depth, void *out) {
  int32_t *to = out;
  float *factors = (float *)(uintptr_t)fixed_factors(out, depth);
  for (size_t k = 0; k < depth; k += CHUNK, to += WORD_VECTORS * LANES) {
    float tail[CHUNK] = {0};
    const float *from = x + k;
    if (depth - k < CHUNK) from = memcpy(tail, from, (depth - k) * sizeof *x);
    *factors++ = fixed_chunk(format, from, to);
  }
}

// MARK: - Weights

/// Sixteen whole numbers of which four bits pick one, and what one of them is worth.
typedef struct {
#if LANES == 16
  __m512i all;
#else
  __m256i low, high;  // bytes, once for each half of a vector
#endif
  float unit;
} fixed_table;

INLINE fixed_table fixed_table_of(const int16_t *numbers, float unit) {
  fixed_table t = {.unit = unit};
#if LANES == 16
  t.all = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)numbers));
#else
  uint8_t low[16], high[16];
  for (int i = 0; i < 16; i++) low[i] = (uint8_t)numbers[i], high[i] = (uint8_t)(numbers[i] >> 8);
  t.low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)low));
  t.high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)high));
#endif
  return t;
}

/// A palette against a power of two, so that large entries stay exact; `NaN` where one is not finite.
INLINE fixed_table fixed_palette(const uint8_t *halves) {
  typedef uint16_t stored __attribute__((vector_size(16)));
  stored h[2], most = {0};
  int16_t numbers[16];
  memcpy(h, halves, sizeof h);
  for (int i = 0; i < 2; i++) most = __builtin_elementwise_max(most, h[i] & 0x7fff);
  uint16_t peak = 0;
  for (int i = 0; i < 8; i++) peak = most[i] > peak ? most[i] : peak;
  // The largest entry lies below 2^(e - 14), e its exponent field, and becomes less than 2^13.
  int exponent = peak < 0x400 ? 1 : peak >> 10;
  if (peak >= 0x7c00) return fixed_table_of(memset(numbers, 0, sizeof numbers), NAN);
  uint32_t up = (uint32_t)(127 + TABLE_BITS + 14 - exponent) << 23;
  uint32_t unit = (uint32_t)(127 - TABLE_BITS - 14 + exponent) << 23;
  float factor, worth;
  memcpy(&factor, &up, 4);
  memcpy(&worth, &unit, 4);
  for (int i = 0; i < 16; i += LANES) {
    vec whole = splat(12582912.f);
    ivec rounded = (ivec)fma_(widen_f16_((const uint16_t *)halves + i), splat(factor), whole);
    hvec low = __builtin_convertvector((uvec)rounded, hvec);
    memcpy(numbers + i, &low, sizeof low);
  }
  return fixed_table_of(numbers, worth);
}

static fixed_table fixed_steps(void) {
  int16_t numbers[16];
  for (int i = 0; i < 16; i++) numbers[i] = (int16_t)(i - 8);
  return fixed_table_of(numbers, 1);
}

/// The words of one chunk of four-bit weights.
INLINE void words_of(const fixed_table *t, const uint8_t *w, ivec out[WORD_VECTORS]) {
#if LANES == 16
  __m512i packed = _mm512_loadu_si512(w);
  out[0] = (ivec)_mm512_permutexvar_epi16(packed, t->all);
  out[1] = (ivec)_mm512_permutexvar_epi16(_mm512_srli_epi16(packed, 4), t->all);
  out[2] = (ivec)_mm512_permutexvar_epi16(_mm512_srli_epi16(packed, 8), t->all);
  out[3] = (ivec)_mm512_permutexvar_epi16(_mm512_srli_epi16(packed, 12), t->all);
#else
  const __m256i mask = _mm256_set1_epi8(15);
  __m256i packed = _mm256_loadu_si256((const __m256i *)w);
  UNROLL for (int odd = 0; odd < 2; odd++) {
    __m256i index = _mm256_and_si256(odd ? _mm256_srli_epi16(packed, 4) : packed, mask);
    __m256i low = _mm256_shuffle_epi8(t->low, index), high = _mm256_shuffle_epi8(t->high, index);
    out[2 * odd] = (ivec)_mm256_unpacklo_epi8(low, high);
    out[2 * odd + 1] = (ivec)_mm256_unpackhi_epi8(low, high);
  }
#endif
}

// MARK: - Products

typedef struct {
  const uint8_t *w;
  const uint8_t *scales;  // of blocks of 32; NULL for palettes
  const char *x;
  size_t stride;  // bytes of one arranged row
  const char *factors;
  size_t depth;
} fixed_problem;

INLINE void fixed_int4_chunk(const fixed_table *table, const int rows, const fixed_problem *p,
                             size_t chunk, const uint8_t *w, const uint8_t *scales, vec s[4]) {
  ivec words_[WORD_VECTORS];
  words_of(table, w, words_);
  UNROLL for (int r = 0; r < rows; r++) {
    const char *x = p->x + (size_t)r * p->stride + chunk * CHUNK * 2;
    ivec sum = {0};
    UNROLL for (int i = 0; i < WORD_VECTORS; i++)
      sum = add_products(sum, words_[i], (ivec)load((const float *)x + i * LANES));
    float factor;
    memcpy(&factor, p->factors + (size_t)r * p->stride + chunk * 4, 4);
    vec scale = scales ? scales_of(scales) * splat(factor) : splat(factor);
    s[r] = fma_(__builtin_convertvector(sum, vec), scale, s[r]);
  }
}

INLINE void fixed_int8_chunk(const int rows, const fixed_problem *p, size_t chunk,
                             const uint8_t *w, const uint8_t *scales, vec s[4]) {
  uint64_t halves = 0;
  memcpy(&halves, scales, CHUNK / 16);
  four worth = halves_(&halves);
  UNROLL for (int block = 0; block < CHUNK / 32; block++) {
    UNROLL for (int r = 0; r < rows; r++) {
      const char *x = p->x + (size_t)r * p->stride + chunk * CHUNK * 2 + block * 64;
      ivec sum = {0};
      UNROLL for (int i = 0; i < 32; i += 2 * LANES)
        sum = add_products(sum, widen_words_(w + block * 32 + i),
                           (ivec)load((const float *)(x + 2 * i)));
      float factor;
      memcpy(&factor, p->factors + (size_t)r * p->stride + chunk * 4, 4);
      s[r] = fma_(__builtin_convertvector(sum, vec), splat(worth[block] * factor), s[r]);
    }
  }
}

/// One weight row with up to four rows of activations.
INLINE void fixed_row(const int format, const fixed_table *table, const int rows,
                      const fixed_problem *p, float *y, size_t yStride) {
  const size_t half = format == TK_INT8_BLOCK32 ? 1 : 2;  // weights of a byte
  vec s[4];
  UNROLL for (int r = 0; r < rows; r++) s[r] = splat(0);
  size_t chunk = 0, whole = p->depth / CHUNK, left = p->depth % CHUNK;
  for (; chunk < whole; chunk++) {
    const uint8_t *w = p->w + chunk * CHUNK / half;
    const uint8_t *scales = p->scales ? p->scales + chunk * CHUNK / 16 : NULL;
    ahead(w, CHUNK / half, rows > 1);
    if (format == TK_INT8_BLOCK32) fixed_int8_chunk(rows, p, chunk, w, scales, s);
    else fixed_int4_chunk(table, rows, p, chunk, w, scales, s);
  }
  if (left) {
    // Weights beyond the end meet zeros.
    uint8_t w[CHUNK] = {0}, scales[CHUNK / 16] = {0};
    memcpy(w, p->w + chunk * CHUNK / half, left / half);
    if (p->scales) memcpy(scales, p->scales + chunk * CHUNK / 16, left / 16);
    if (format == TK_INT8_BLOCK32) fixed_int8_chunk(rows, p, chunk, w, scales, s);
    else fixed_int4_chunk(table, rows, p, chunk, w, p->scales ? scales : NULL, s);
  }
  float unit = table ? table->unit : 1;
  UNROLL for (int r = 0; r < rows; r++) y[(size_t)r * yStride] = sum_(s[r]) * unit;
}

INLINE void fixed_rows(const int format, const int rows, const tk_matrix *w, size_t first,
                       size_t count, fixed_problem p, float *y, size_t yStride) {
  const uint8_t *data = w->data;
  const size_t rowBytes = format == TK_INT8_BLOCK32 ? w->columns : w->columns / 2;
  const uint8_t *after = data + w->rows * rowBytes;
  fixed_table table = fixed_steps();
  for (size_t n = first; n < first + count; n++, y++) {
    p.w = data + n * rowBytes;
    if (format != TK_INT4_PALETTE32) p.scales = after + n * (w->columns / 16);
    else if (n == first || n % 32 == 0) table = fixed_palette(after + n / 32 * 32);
    fixed_row(format, format == TK_INT8_BLOCK32 ? NULL : &table, rows, &p, y, yStride);
  }
}

static void dotFixed(const void *x, size_t stride, size_t rows, const tk_matrix *w, size_t first,
                     size_t count, float *y, size_t yStride) {
  fixed_problem p = {.x = x, .stride = stride, .depth = w->columns};
  p.factors = (const char *)fixed_factors(x, w->columns);
#define FORMAT(f)                                                     \
  case f:                                                             \
    switch (rows) {                                                   \
      case 1: fixed_rows(f, 1, w, first, count, p, y, yStride); break; \
      case 2: fixed_rows(f, 2, w, first, count, p, y, yStride); break; \
      case 3: fixed_rows(f, 3, w, first, count, p, y, yStride); break; \
      default: fixed_rows(f, 4, w, first, count, p, y, yStride);       \
    }                                                                 \
    break;
  switch (w->format) {
    FORMAT(TK_INT8_BLOCK32) FORMAT(TK_INT4_BLOCK32) FORMAT(TK_INT4_PALETTE32)
    default: break;
  }
#undef FORMAT
}

#define FIXED .fixedBytes = fixedBytes, .arrangeFixed = arrangeFixed, .dotFixed = dotFixed,
#else
// Without instructions for pairs of 16-bit products f32 is no slower.
#define FIXED
#endif
