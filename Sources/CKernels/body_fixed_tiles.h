// Register tiles of products of 16-bit pairs, for processors that add them in one instruction.

/// Rounds to whole numbers of at most `most` against the largest; neighbours share 32 bits. Gives what
/// 1 is worth, NaN where a number is not finite. `count` is a multiple of 2 · LANES.
static float roundPairs(const float *x, size_t count, float most, int32_t *out) {
  vec peak = splat(0), bad = splat(0);
  for (size_t i = 0; i < count; i += LANES) {
    vec v = load(x + i);
    peak = max_(peak, max_(v, -v));
    bad += v - v;
  }
  float largest = peak_(peak), up = largest > 1e-30f ? most / largest : 0;
  for (size_t i = 0; i < count; i += 2 * LANES) {
    __m512i a = _mm512_cvtps_epi32((__m512)(load(x + i) * splat(up)));
    __m512i b = _mm512_cvtps_epi32((__m512)(load(x + i + LANES) * splat(up)));
    __m256i low = _mm512_cvtsepi32_epi16(a), high = _mm512_cvtsepi32_epi16(b);
    __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    memcpy(out + i / 2, &both, sizeof both);
  }
  return largest / most + sum_(bad);
}

enum { SCALED = 32 };  // weights that share a scale, in one vector of 16-bit numbers

/// 32 weights as whole numbers of at most 2048: bytes, and four bits around 8.
INLINE __m512i bytes_(const void *p) {
  __m256i b = _mm256_loadu_si256((const __m256i *)p);
  return _mm512_slli_epi16(_mm512_cvtepi8_epi16(b), 4);
}
INLINE __m512i fours_(const void *p) {
  __m512i b = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
  b = _mm512_or_si512(b, _mm512_slli_epi32(b, 12));
  return _mm512_and_si512(b, _mm512_set1_epi32(0x000f000f));
}
INLINE __m512i centred_(const void *p) {
  return _mm512_slli_epi16(_mm512_sub_epi16(fours_(p), _mm512_set1_epi16(8)), 8);
}

/// Blocks with a scale each as numbers of the largest scale; gives that, NaN where one is not finite.
INLINE float pack_blocks(const int format, const uint8_t *p, const uint8_t *scales, size_t count,
                         int32_t *out) {
  const size_t width = format == TK_INT8_BLOCK32 ? SCALED : SCALED / 2;
  float scale[TK_PAIR_DEPTH / SCALED], peak = 0, bad = 0;
  for (size_t i = 0; i * SCALED < count; i++) {
    scale[i] = half_(scales + i * 2);
    peak = fabsf(scale[i]) > peak ? fabsf(scale[i]) : peak;
    bad += scale[i] - scale[i];
  }
  float up = peak > 0 && bad == 0 ? 32767 / peak : 0;
  for (size_t i = 0; i * SCALED < count; i++, p += width) {
    __m512i factor = _mm512_set1_epi16((int16_t)rintf(bad == 0 ? scale[i] * up : 0));
    __m512i values = format == TK_INT8_BLOCK32 ? bytes_(p) : centred_(p);
    _mm512_storeu_si512(out + i * SCALED / 2, _mm512_mulhrs_epi16(values, factor));
  }
  return peak + bad;
}

/// The numbers of a palette against its largest; gives what 1 is worth, NaN where one is not finite.
INLINE float round_palette(const uint8_t *halves, __m512i *table) {
  vec entries = widen_f16_((const uint16_t *)halves);
  float largest = peak_(max_(entries, -entries)), up = largest > 0 ? 2047 / largest : 0;
  __m256i low = _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32((__m512)(entries * splat(up))));
  *table = _mm512_castsi256_si512(low);
  return largest / 2047 + sum_(entries - entries);
}

/// Numbers of weight rows `stride` apart as pairs of whole ones of at most 2048, and what 1 is worth
/// in each row. Where fewer than a block's depth are left, others follow that are of no account.
static void packWeights(const tk_matrix *m, size_t first, size_t rows, size_t at, size_t count,
                        int32_t *out, size_t stride, float *units) {
  size_t all = m->rows * m->columns, group = SIZE_MAX;
  const uint8_t *data = m->data;
  const bool isByte = m->format == TK_INT8_BLOCK32;
  const size_t used = isByte ? count : (count + 1) / 2;
  uint8_t rest[TK_PAIR_DEPTH] = {0};
  __m512i table;
  float unit = 0;
  for (size_t n = 0; n < rows; n++, out += stride) {
    size_t row = first + n, place = row * m->columns + at;
    const uint8_t *p = data + (isByte ? place : place / 2);
    const uint8_t *behind = data + (isByte ? all : all / 2);
    // The next block of the row is read when this one of all rows has been packed.
    for (size_t i = used; i < 2 * used; i += 64) __builtin_prefetch(p + i, 0, 2);
    if (count < TK_PAIR_DEPTH) p = memcpy(rest, p, used);
    if (m->format == TK_INT8_BLOCK32) {
      units[n] = pack_blocks(TK_INT8_BLOCK32, p, behind + place / 32 * 2, count, out) / 16;
    } else if (m->format == TK_INT4_BLOCK32) {
      units[n] = pack_blocks(TK_INT4_BLOCK32, p, behind + place / 32 * 2, count, out) / 256;
    } else {
      if (row / 32 != group) unit = round_palette(behind + row / 32 * 32, &table);
      group = row / 32;
      for (int i = 0; i < TK_PAIR_DEPTH; i += 32)
        _mm512_storeu_si512(out + i / 2, _mm512_permutexvar_epi16(fours_(p + i / 2), table));
      units[n] = unit;
    }
  }
}

INLINE void pair_tile(const int rows, size_t pairs, const int32_t *a, const float *aUnits,
                      const int32_t *b, const float *bUnits, float *c, size_t cStride,
                      bool accumulate) {
  __m512i s[TILE_ROWS][2];
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; i++) s[i][0] = s[i][1] = _mm512_setzero_si512();
  for (size_t k = 0; k < pairs; k++, a += TILE_ROWS, b += TILE_COLUMNS) {
    __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + LANES);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; i++) {
      __m512i x = _mm512_set1_epi32(a[i]);
      s[i][0] = _mm512_dpwssd_epi32(s[i][0], x, b0);
      s[i][1] = _mm512_dpwssd_epi32(s[i][1], x, b1);
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; i++)
#pragma clang loop unroll(full)
    for (int j = 0; j < 2; j++) {
      float *to = c + (size_t)i * cStride + j * LANES;
      vec unit = load(bUnits + j * LANES) * splat(aUnits[i]);
      vec sum = (vec)_mm512_cvtepi32_ps(s[i][j]);
      store(to, accumulate ? fma_(sum, unit, load(to)) : sum * unit);
    }
}

static void pairTile(int rows, size_t pairs, const int32_t *a, const float *aUnits,
                     const int32_t *b, const float *bUnits, float *c, size_t cStride,
                     bool accumulate) {
  switch (rows) {
#define ROWS(n) \
  case n: pair_tile(n, pairs, a, aUnits, b, bUnits, c, cStride, accumulate); break;
    ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6) ROWS(7)
    ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13)
    default: pair_tile(TILE_ROWS, pairs, a, aUnits, b, bUnits, c, cStride, accumulate);
#undef ROWS
  }
}

const tk_pair_tiles tk_pairs_vnni = {
    .round = roundPairs, .packWeights = packWeights, .tile = pairTile};
