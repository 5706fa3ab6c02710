// Linear layers whose sums are kept in fp16, term by term in order.
#include <string.h>

#include "kernels.h"

typedef struct {
  const tk_kernels *kernels;
  const float *x;
  const tk_matrix *w;
  const float *bias;
  float *y;
  size_t rows;
  float *perWorker;  // scratch of one worker after another
} half_job;

// A stride that is no power of two keeps the rows in different cache sets.
enum { DEPTH = 256, ROW_STRIDE = DEPTH + 16 };

static size_t worker_floats(const tk_kernels *kernels) {
  return (size_t)kernels->tileColumns * (DEPTH + ROW_STRIDE + TK_HALF_ROWS);
}

/// Expands weight rows to the numbers fp16 keeps and interleaves them: `[k][tileColumns]`.
static void pack(const half_job *job, size_t first, size_t columns, size_t block, size_t count,
                 float *rows, float *panel) {
  tk_health ignored = {0};
  for (size_t n = 0; n < columns; n++) {
    float *row = rows + n * ROW_STRIDE;
    job->kernels->expand(job->w, first + n, block, count, row);
    job->kernels->rows.roundHalf(row, row, count, false, &ignored);
  }
  job->kernels->transpose(rows, ROW_STRIDE, columns, count, panel);
}

static void half_task(void *context, int task, int worker) {
  half_job *job = context;
  const tk_kernels *kernels = job->kernels;
  size_t tile = (size_t)kernels->tileColumns, depth = job->w->columns, width = job->w->rows;
  size_t first = (size_t)task * tile, columns = width - first < tile ? width - first : tile;
  float *panel = job->perWorker + (size_t)worker * worker_floats(kernels);
  float *rows = panel + DEPTH * tile, *sums = rows + ROW_STRIDE * tile;
  for (size_t block = 0; block < depth; block += DEPTH) {
    size_t count = depth - block < DEPTH ? depth - block : DEPTH;
    pack(job, first, columns, block, count, rows, panel);
    for (size_t r = 0; r < job->rows; r += TK_HALF_ROWS) {
      size_t some = job->rows - r < TK_HALF_ROWS ? job->rows - r : TK_HALF_ROWS;
      float *y = job->y + r * width + first;
      memset(sums, 0, some * tile * sizeof *sums);
      for (size_t i = 0; block && i < some; i++)
        memcpy(sums + i * tile, y + i * width, columns * sizeof *sums);
      kernels->halfTile((int)some, count, job->x + r * depth + block, depth, panel, sums);
      for (size_t i = 0; i < some; i++)
        memcpy(y + i * width, sums + i * tile, columns * sizeof *sums);
    }
  }
  for (size_t r = 0; job->bias && r < job->rows; r++) {
    float *y = job->y + r * width + first;
    kernels->rows.binary(TK_ADD, y, job->bias + first, y, columns);
  }
}

size_t tk_linear_half_scratch(const tk_pool *pool) {
  return (size_t)tk_pool_threads(pool) * worker_floats(tk_pool_kernels(pool)) * sizeof(float);
}

void tk_linear_half(tk_pool *pool, const float *x, size_t rows, const tk_matrix *w,
                    const float *bias, float *y, void *scratch) {
  const tk_kernels *kernels = tk_pool_kernels(pool);
  half_job job = {.kernels = kernels, .x = x, .w = w, .bias = bias, .y = y, .rows = rows};
  job.perWorker = scratch;
  size_t tile = (size_t)kernels->tileColumns;
  tk_pool_run(pool, (int)((w->rows + tile - 1) / tile), half_task, &job);
}
