// From stored weights to numbers, one run of a row at a time.
#include <string.h>

#include "CKernels.h"
#include "kernels.h"

static float half(const uint8_t *bytes) {
  _Float16 value;
  memcpy(&value, bytes, sizeof value);
  return (float)value;
}

static void expand_int8(const tk_matrix *m, size_t row, size_t column, size_t count, float *out) {
  size_t first = row * m->columns + column;
  const int8_t *values = (const int8_t *)m->data + first;
  const uint8_t *scales = (const uint8_t *)m->data + m->rows * m->columns;
  if (m->format == TK_INT8_ROW) {
    float scale = half(scales + row * 2);
    for (size_t i = 0; i < count; i++) out[i] = (float)values[i] * scale;
    return;
  }
  for (size_t i = 0; i < count; i += 32) {
    float scale = half(scales + (first + i) / 32 * 2);
    for (size_t j = i; j < i + 32 && j < count; j++) out[j] = (float)values[j] * scale;
  }
}

static void expand_int4(const tk_matrix *m, size_t row, size_t column, size_t count, float *out) {
  size_t first = row * m->columns + column;
  const uint8_t *packed = (const uint8_t *)m->data + first / 2;
  const uint8_t *side = (const uint8_t *)m->data + m->rows * m->columns / 2;
  if (m->format == TK_INT4_PALETTE32) {
    float table[16];
    for (int i = 0; i < 16; i++) table[i] = half(side + row / 32 * 32 + (size_t)i * 2);
    for (size_t i = 0; i < count; i++) out[i] = table[packed[i / 2] >> (i & 1) * 4 & 15];
    return;
  }
  for (size_t i = 0; i < count; i += 32) {
    float scale = half(side + (first + i) / 32 * 2);
    for (size_t j = i; j < i + 32 && j < count; j++)
      out[j] = (float)((packed[j / 2] >> (j & 1) * 4 & 15) - 8) * scale;
  }
}

void tk_expand(const tk_matrix *m, size_t row, size_t column, size_t count, float *out) {
  size_t first = row * m->columns + column;
  switch (m->format) {
    case TK_F32: memcpy(out, (const float *)m->data + first, count * sizeof(float)); break;
    case TK_F16: tk_best()->widen_f16((const uint16_t *)m->data + first, out, count); break;
    case TK_BF16: tk_best()->widen_bf16((const uint16_t *)m->data + first, out, count); break;
    case TK_INT8_BLOCK32:
    case TK_INT8_ROW: expand_int8(m, row, column, count, out); break;
    case TK_INT4_BLOCK32:
    case TK_INT4_PALETTE32: expand_int4(m, row, column, count, out); break;
  }
}

void tk_gather(const tk_matrix *table, const int32_t *ids, size_t count, float *out) {
  for (size_t i = 0; i < count; i++) {
    float *row = out + i * table->columns;
    if (ids[i] < 0 || (size_t)ids[i] >= table->rows)
      memset(row, 0, table->columns * sizeof *row);
    else
      tk_expand(table, (size_t)ids[i], 0, table->columns, row);
  }
}
