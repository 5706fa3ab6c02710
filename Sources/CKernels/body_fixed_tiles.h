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

const tk_pair_tiles tk_pairs_vnni = {.round = roundPairs, .tile = pairTile};
