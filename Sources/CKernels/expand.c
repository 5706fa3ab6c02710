// From stored weights to numbers, one run of a row at a time.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "CKernels.h"
#include "kernels.h"

void tk_expand(const tk_matrix *m, size_t row, size_t column, size_t count, float *out) {
  tk_best()->expand(m, row, column, count, out);
}

/// Has the rows of a table that lie in a file read from it together, and no others: a fault reads far
/// more than a row, and one row after another.
static void ask(const tk_matrix *table, const int32_t *ids, size_t count) {
  size_t bytes = tk_row_bytes(table), page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < count; i++) {
    if (ids[i] < 0 || (size_t)ids[i] >= table->rows || (i > 0 && ids[i] == ids[i - 1])) continue;
    uintptr_t first = (uintptr_t)table->data + (size_t)ids[i] * bytes, start = first / page * page;
    madvise((void *)start, first + bytes - start, MADV_WILLNEED);
  }
}

void tk_gather(const tk_matrix *table, const int32_t *ids, size_t count, float *out) {
  ask(table, ids, count);
  for (size_t i = 0; i < count; i++) {
    float *row = out + i * table->columns;
    if (ids[i] < 0 || (size_t)ids[i] >= table->rows)
      memset(row, 0, table->columns * sizeof *row);
    else
      tk_expand(table, (size_t)ids[i], 0, table->columns, row);
  }
}
