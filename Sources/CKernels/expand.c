// From stored weights to numbers, one run of a row at a time.
#include <string.h>

#include "CKernels.h"
#include "kernels.h"

void tk_expand(const tk_matrix *m, size_t row, size_t column, size_t count, float *out) {
  tk_best()->expand(m, row, column, count, out);
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
