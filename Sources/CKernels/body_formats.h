// Stored weights turned into numbers, for one instruction set.

typedef int8_t bvec __attribute__((vector_size(LANES)));
typedef uint8_t nibbles __attribute__((vector_size(16)));
typedef uint8_t unpacked __attribute__((vector_size(32)));

INLINE four halves_(const void *p) {
  _Float16 __attribute__((vector_size(8))) h;
  memcpy(&h, p, sizeof h);
  return __builtin_convertvector(h, four);
}
INLINE vec widen_int8_(const void *p) {
  bvec b;
  memcpy(&b, p, sizeof b);
  return __builtin_convertvector(__builtin_convertvector(b, ivec), vec);
}

INLINE vec load_weight(const int format, const void *w, size_t k) {
  if (format == TK_F16) return widen_f16_((const uint16_t *)w + k);
  if (format == TK_BF16) return widen_bf16_((const uint16_t *)w + k);
  if (format == TK_F32) return load((const float *)w + k);
  return widen_int8_((const int8_t *)w + k);
}
INLINE float weight_at(const int format, const void *w, size_t k) {
  if (format == TK_F16) return half_((const uint16_t *)w + k);
  if (format == TK_F32) return ((const float *)w)[k];
  if (format != TK_BF16) return ((const int8_t *)w)[k];
  uint32_t wide = (uint32_t)((const uint16_t *)w)[k] << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/// Sixteen stored halves, of which the low four bits of each element pick one.
typedef struct {
#if LANES == 16
  vec all;
#elif LANES == 8
  vec low, high;
  __m256i lowBytes, highBytes;  // of the halves, once for each half of a vector
#else
  float all[16];
#endif
} lookup;

INLINE lookup lookup_of(const uint8_t *halves) {
  lookup t;
#if LANES == 16
  t.all = widen_f16_((const uint16_t *)halves);
#elif LANES == 8
  t.low = widen_f16_((const uint16_t *)halves);
  t.high = widen_f16_((const uint16_t *)halves + 8);
  __m128i sort = _mm_set_epi8(15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0);
  __m128i a = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)halves), sort);
  __m128i b = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)halves + 1), sort);
  t.lowBytes = _mm256_broadcastsi128_si256(_mm_unpacklo_epi64(a, b));
  t.highBytes = _mm256_broadcastsi128_si256(_mm_unpackhi_epi64(a, b));
#else
  for (int i = 0; i < 16; i++) t.all[i] = half_(halves + i * 2);
#endif
  return t;
}
INLINE vec pick(lookup t, ivec index) {
#if LANES == 16
  return (vec)_mm512_permutexvar_ps((__m512i)index, (__m512)t.all);
#elif LANES == 8
  __m256 low = _mm256_permutevar8x32_ps((__m256)t.low, (__m256i)index);
  __m256 high = _mm256_permutevar8x32_ps((__m256)t.high, (__m256i)index);
  return (vec)_mm256_blendv_ps(low, high, (__m256)(index << 28));
#else
  vec v;
  for (int i = 0; i < LANES; i++) v[i] = t.all[index[i] & 15];
  return v;
#endif
}

/// The 32 numbers of 16 bytes in order.
INLINE void unpack_(const uint8_t *p, uint8_t *out) {
  nibbles b;
  memcpy(&b, p, sizeof b);
  nibbles low = b & 15, high = b >> 4;
  unpacked all = __builtin_shufflevector(
      low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11,
      27, 12, 28, 13, 29, 14, 30, 15, 31);
  memcpy(out, &all, sizeof all);
}

INLINE void expand_int4(const uint8_t *packed, size_t count, const uint8_t *scales,
                        const lookup *table, float *out) {
  for (size_t i = 0; i < count; i += 32) {
    float scale = table ? 0 : half_(scales + i / 16), whole[32];
    size_t left = count - i < 32 ? count - i : 32;
    uint8_t bytes[16] = {0};
    const uint8_t *p = packed + i / 2;
    if (left < 32) p = memcpy(bytes, p, (left + 1) / 2);
    uint8_t values[32];
    unpack_(p, values);
    float *to = left < 32 ? whole : out + i;
#pragma clang loop unroll(full)
    for (int j = 0; j < 32; j += LANES) {
      bvec b;
      memcpy(&b, values + j, sizeof b);
      ivec index = __builtin_convertvector(b, ivec);
      if (table) store(to + j, pick(*table, index));
      else store(to + j, __builtin_convertvector(index - 8, vec) * splat(scale));
    }
    if (left < 32) memcpy(out + i, whole, left * sizeof *out);
  }
}

INLINE void expand_int8(const int8_t *values, size_t count, float scale, float *out) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) store(out + i, widen_int8_(values + i) * splat(scale));
  for (; i < count; i++) out[i] = (float)values[i] * scale;
}

static void expand(const tk_matrix *m, size_t row, size_t column, size_t count, float *out) {
  size_t first = row * m->columns + column, all = m->rows * m->columns;
  const uint8_t *data = m->data;
  lookup table;
  switch (m->format) {
    case TK_F32: memcpy(out, (const float *)m->data + first, count * sizeof(float)); break;
    case TK_F16: widen_f16((const uint16_t *)m->data + first, out, count); break;
    case TK_BF16: widen_bf16((const uint16_t *)m->data + first, out, count); break;
    case TK_INT8_ROW:
      expand_int8((const int8_t *)data + first, count, half_(data + all + row * 2), out);
      break;
    case TK_INT8_BLOCK32:
      for (size_t i = 0; i < count; i += 32)
        expand_int8((const int8_t *)data + first + i, count - i < 32 ? count - i : 32,
                    half_(data + all + (first + i) / 32 * 2), out + i);
      break;
    case TK_INT4_BLOCK32:
      expand_int4(data + first / 2, count, data + all / 2 + first / 32 * 2, NULL, out);
      break;
    case TK_INT4_PALETTE32:
      table = lookup_of(data + all / 2 + row / 32 * 32);
      expand_int4(data + first / 2, count, NULL, &table, out);
      break;
  }
}
