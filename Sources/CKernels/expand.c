// From stored weights to numbers, one run of a row at a time.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "CKernels.h"
#include "kernels.h"

void tk_expand(const tk_matrix *m, size_t row, size_t column, size_t count, float *out) {
  tk_best()->expand(m, row, column, count, out);
}

// A fault in a mapped file reads far more than a row, and one row after another.
void tk_ask_rows(const tk_matrix *table, const int32_t *ids, size_t count) {
  size_t bytes = tk_row_bytes(table), page = (size_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = 0, to = 0;  // what was asked for last
  for (size_t i = 0; i < count; i++) {
    if (ids[i] < 0 || (size_t)ids[i] >= table->rows) continue;
    uintptr_t first = (uintptr_t)table->data + (size_t)ids[i] * bytes, end = first + bytes;
    if (first >= from && end <= to) continue;
    from = first / page * page;
    to = round_up(end, page);
    madvise((void *)from, end - from, MADV_WILLNEED);
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
