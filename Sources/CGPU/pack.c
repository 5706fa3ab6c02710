#include "cgpu_pack.h"

#include <string.h>

static uint16_t half_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00);
  if (magnitude >= 0x477FF000) return (uint16_t)(sign | 0x7C00);
  if (magnitude < 0x38800000) {
    // Adding a half leaves the multiples of 2^-24 in the last bits.
    float positive;
    memcpy(&positive, &magnitude, 4);
    float sum = positive + 0.5f;
    uint32_t kept;
    memcpy(&kept, &sum, 4);
    return (uint16_t)(sign | (kept - 0x3F000000));
  }
  uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
  return (uint16_t)(sign | (rounded - 0x38000000) >> 13);
}

static uint16_t element(const void *source, int format, size_t index) {
  if (format == 1) return ((const uint16_t *)source)[index];
  float value;
  if (format == 0) {
    memcpy(&value, (const char *)source + 4 * index, 4);
  } else {
    uint32_t bits = (uint32_t)((const uint16_t *)source)[index] << 16;
    memcpy(&value, &bits, 4);
  }
  return half_of(value);
}

// A matrix that is packed.
struct matrix {
  const void *elements;
  int format;
  size_t rows, columns, width;
};

// Writes the texel of four columns, from `column` on, of a row that exists.
typedef void put_texel(const struct matrix *matrix, size_t row, size_t column, void *out);

// Goes through the texels of some tiles; those of rows that do not exist are zeros.
static inline __attribute__((always_inline)) void pack(const struct matrix *matrix, size_t first,
                                                       size_t last, char *target, size_t texel,
                                                       put_texel *put) {
  size_t lanes = matrix->width / 8, depth = (matrix->columns + 3) / 4;
  for (size_t tile = first; tile < last; tile++) {
    for (size_t place = 0; place < matrix->width; place++) {
      size_t row = tile * matrix->width + place;
      char *out = target + ((tile * depth * 8 + place % 8) * lanes + place / 8) * texel;
      for (size_t k = 0; k < depth; k++, out += 8 * lanes * texel) {
        if (row < matrix->rows) {
          put(matrix, row, 4 * k, out);
        } else {
          memset(out, 0, texel);
        }
      }
    }
  }
}

static inline void put_halves(const struct matrix *m, size_t row, size_t column, void *out) {
  uint16_t *halves = out;
  for (size_t j = 0; j < 4; j++, column++) {
    halves[j] =
        column < m->columns ? element(m->elements, m->format, row * m->columns + column) : 0;
  }
}

static inline void put_bytes(const struct matrix *m, size_t row, size_t column, void *out) {
  int8_t *bytes = out;
  const int8_t *elements = m->elements;
  for (size_t j = 0; j < 4; j++, column++) {
    bytes[j] = column < m->columns ? elements[row * m->columns + column] : 0;
  }
}

static inline void put_nibbles(const struct matrix *m, size_t row, size_t column, void *out) {
  const uint8_t *elements = m->elements;
  uint32_t word = 0;
  for (size_t j = 0; j < 4 && column + j < m->columns; j++) {
    size_t index = row * m->columns + column + j;
    word |= (uint32_t)(elements[index / 2] >> index % 2 * 4 & 15) << 4 * j;
  }
  *(uint32_t *)out = word;
}

void tg_pack_halves(const void *source, int format, size_t rows, size_t columns, size_t width,
                    size_t first, size_t last, uint16_t *target) {
  struct matrix matrix = {source, format, rows, columns, width};
  pack(&matrix, first, last, (char *)target, 8, put_halves);
}

void tg_pack_bytes(const int8_t *source, size_t rows, size_t columns, size_t width, size_t first,
                   size_t last, int8_t *target) {
  struct matrix matrix = {source, 0, rows, columns, width};
  pack(&matrix, first, last, (char *)target, 4, put_bytes);
}

void tg_pack_nibbles(const uint8_t *source, size_t rows, size_t columns, size_t width, size_t first,
                     size_t last, uint32_t *target) {
  struct matrix matrix = {source, 0, rows, columns, width};
  pack(&matrix, first, last, (char *)target, 4, put_nibbles);
}
