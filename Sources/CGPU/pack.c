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

void tg_pack_halves(const void *source, int format, size_t rows, size_t columns, size_t width,
                    size_t first, size_t last, uint16_t *target) {
  size_t each = width / 8, depth = (columns + 3) / 4;
  for (size_t tile = first; tile < last; tile++) {
    for (size_t place = 0; place < width; place++) {
      size_t row = tile * width + place, lane = place / each, v = place % each;
      uint16_t *out = target + ((tile * depth * each + v) * 8 + lane) * 4;
      for (size_t k = 0; k < depth; k++, out += each * 32) {
        for (size_t j = 0; j < 4; j++) {
          size_t column = 4 * k + j;
          out[j] = row < rows && column < columns
                       ? element(source, format, row * columns + column) : 0;
        }
      }
    }
  }
}

void tg_pack_bytes(const int8_t *source, size_t rows, size_t columns, size_t width, size_t first,
                   size_t last, int8_t *target) {
  size_t each = width / 8, depth = (columns + 3) / 4;
  for (size_t tile = first; tile < last; tile++) {
    for (size_t place = 0; place < width; place++) {
      size_t row = tile * width + place, lane = place / each, v = place % each;
      int8_t *out = target + ((tile * depth * each + v) * 8 + lane) * 4;
      for (size_t k = 0; k < depth; k++, out += each * 32) {
        for (size_t j = 0; j < 4; j++) {
          size_t column = 4 * k + j;
          out[j] = row < rows && column < columns ? source[row * columns + column] : 0;
        }
      }
    }
  }
}

void tg_pack_nibbles(const uint8_t *source, size_t rows, size_t columns, size_t width, size_t first,
                     size_t last, uint32_t *target) {
  size_t each = width / 8, depth = (columns + 3) / 4;
  for (size_t tile = first; tile < last; tile++) {
    for (size_t place = 0; place < width; place++) {
      size_t row = tile * width + place, lane = place / each, v = place % each;
      uint32_t *out = target + (tile * depth * each + v) * 8 + lane;
      for (size_t k = 0; k < depth; k++, out += each * 8) {
        uint32_t word = 0;
        for (size_t j = 0; j < 4 && row < rows && 4 * k + j < columns; j++) {
          size_t index = row * columns + 4 * k + j;
          word |= (uint32_t)(source[index / 2] >> index % 2 * 4 & 15) << 4 * j;
        }
        *out = word;
      }
    }
  }
}
