// Linear layers of quantised weights with activations in 16-bit fixed point.
#include "kernels.h"

typedef struct {
  const tk_kernels *kernels;
  const tk_matrix *w;
  const float *bias;
  char *x;  // arranged rows
  size_t stride;
  float *y;
  size_t rows;
} fixed_job;

static bool is_fixed(const tk_kernels *kernels, size_t rows, const tk_matrix *w) {
  return tk_is_quantised(w) && rows <= TK_DOT_LIMIT && kernels->dotFixed;
}

static void dot_task(void *context, size_t first, size_t count) {
  const fixed_job *job = context;
  size_t width = job->w->rows;
  for (size_t r = 0; r < job->rows; r += TK_DOT_ROWS) {
    size_t rows = job->rows - r < TK_DOT_ROWS ? job->rows - r : TK_DOT_ROWS;
    job->kernels->dotFixed(job->x + r * job->stride, job->stride, rows, job->w, first, count,
                           job->y + r * width + first, width);
  }
  for (size_t r = 0; job->bias && r < job->rows; r++) {
    float *y = job->y + r * width + first;
    job->kernels->rows.binary(TK_ADD, y, job->bias + first, y, count);
  }
}

size_t tk_linear_fixed_scratch(const tk_pool *pool, size_t rows, const tk_matrix *w) {
  const tk_kernels *kernels = tk_pool_kernels(pool);
  if (tk_pairs_fit(kernels, rows, w)) return tk_pairs_scratch(pool, rows, w);
  if (!is_fixed(kernels, rows, w)) return tk_linear_scratch(pool, rows, w);
  return rows * kernels->fixedBytes(w->columns);
}

void tk_linear_fixed(tk_pool *pool, const float *x, size_t rows, const tk_matrix *w,
                     const float *bias, float *y, void *scratch) {
  const tk_kernels *kernels = tk_pool_kernels(pool);
  if (tk_pairs_fit(kernels, rows, w)) {
    tk_pairs_linear(pool, x, rows, w, bias, y, scratch);
    return;
  }
  if (!is_fixed(kernels, rows, w)) {
    tk_linear(pool, x, rows, w, bias, y, scratch);
    return;
  }
  fixed_job job = {kernels, w, bias, scratch, kernels->fixedBytes(w->columns), y, rows};
  for (size_t r = 0; r < rows; r++)
    kernels->arrangeFixed(w->format, x + r * w->columns, w->columns, job.x + r * job.stride);
  tk_share_rows(pool, w, dot_task, &job);
}
