// Linear layers: dot products for few activation rows, packed register tiles for many.
#include <string.h>

#include "kernels.h"

typedef struct {
  const tk_kernels *kernels;
  const float *x;
  const tk_matrix *w;
  const float *bias;
  float *y;
  size_t rows;
  float *packedX;    // [depth block][row tile][k][tileRows]
  float *perWorker;  // scratch of one worker after another
  size_t workerFloats;
  size_t columnsPerTask;
} linear_job;

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t round_up(size_t a, size_t b) { return (a + b - 1) / b * b; }

// MARK: - Few rows

enum { DOT_COLUMNS = 32 };

static void dot_task(void *context, int task, int worker) {
  linear_job *job = context;
  size_t first = (size_t)task * job->columnsPerTask;
  size_t count = min_size(job->columnsPerTask, job->w->rows - first);
  float *scratch = job->perWorker + (size_t)worker * job->workerFloats;
  for (size_t r = 0; r < job->rows; r += TK_DOT_ROWS) {
    size_t rows = min_size(TK_DOT_ROWS, job->rows - r);
    job->kernels->dot(job->x + r * job->w->columns, rows, job->w, first, count,
                      job->y + r * job->w->rows + first, job->w->rows, scratch);
  }
  if (!job->bias) return;
  for (size_t r = 0; r < job->rows; r++)
    for (size_t n = first; n < first + count; n++) job->y[r * job->w->rows + n] += job->bias[n];
}

// MARK: - Many rows

static void pack_task(void *context, int task, int worker) {
  (void)worker;
  linear_job *job = context;
  size_t tileRows = (size_t)job->kernels->tileRows, depth = job->w->columns;
  size_t first = (size_t)task * tileRows, rows = min_size(tileRows, job->rows - first);
  size_t padded = round_up(job->rows, tileRows);
  for (size_t block = 0; block < depth; block += TK_DEPTH) {
    size_t count = min_size(TK_DEPTH, depth - block);
    float *out = job->packedX + block * padded + first * count;
    for (size_t i = 0; i < tileRows; i++) {
      const float *row = job->x + (first + i) * depth + block;
      if (i < rows)
        for (size_t k = 0; k < count; k++) out[k * tileRows + i] = row[k];
      else
        for (size_t k = 0; k < count; k++) out[k * tileRows + i] = 0;
    }
  }
}

/// Expands and interleaves `columns` weight rows: `[k][tileColumns]`.
static void pack_weights(const linear_job *job, size_t first, size_t columns, size_t block,
                         size_t count, float *rows, float *out) {
  if (job->w->format == TK_F32) {
    const float *data = (const float *)job->w->data + first * job->w->columns + block;
    job->kernels->transpose(data, job->w->columns, columns, count, out);
    return;
  }
  // A stride that is no power of two keeps the rows in different cache sets.
  size_t stride = TK_DEPTH + 16;
  for (size_t n = 0; n < columns; n++)
    tk_expand(job->w, first + n, block, count, rows + n * stride);
  job->kernels->transpose(rows, stride, columns, count, out);
}

static void tile_columns(const linear_job *job, size_t first, size_t columns, size_t block,
                         size_t count, const float *b, float *edge) {
  size_t tileRows = (size_t)job->kernels->tileRows, width = job->w->rows;
  size_t padded = round_up(job->rows, tileRows);
  int tileColumns = job->kernels->tileColumns;
  bool whole = columns == (size_t)tileColumns;
  for (size_t r = 0; r < job->rows; r += tileRows) {
    size_t rows = min_size(tileRows, job->rows - r);
    const float *a = job->packedX + block * padded + r * count;
    float *c = job->y + r * width + first;
    if (whole) {
      job->kernels->tile((int)rows, count, a, tileRows, b, c, width, block > 0);
      continue;
    }
    job->kernels->tile((int)rows, count, a, tileRows, b, edge, (size_t)tileColumns, false);
    for (size_t i = 0; i < rows; i++)
      for (size_t n = 0; n < columns; n++)
        c[i * width + n] = edge[i * (size_t)tileColumns + n] + (block > 0 ? c[i * width + n] : 0);
  }
}

static void tile_task(void *context, int task, int worker) {
  linear_job *job = context;
  size_t tileColumns = (size_t)job->kernels->tileColumns;
  size_t start = (size_t)task * job->columnsPerTask;
  size_t end = min_size(start + job->columnsPerTask, job->w->rows);
  float *b = job->perWorker + (size_t)worker * job->workerFloats;
  float *rows = b + TK_DEPTH * tileColumns;
  float *edge = rows + (TK_DEPTH + 16) * tileColumns;
  for (size_t block = 0; block < job->w->columns; block += TK_DEPTH) {
    size_t count = min_size(TK_DEPTH, job->w->columns - block);
    for (size_t first = start; first < end; first += tileColumns) {
      size_t columns = min_size(tileColumns, end - first);
      pack_weights(job, first, columns, block, count, rows, b);
      tile_columns(job, first, columns, block, count, b, edge);
    }
  }
  if (!job->bias) return;
  for (size_t r = 0; r < job->rows; r++)
    for (size_t n = start; n < end; n++) job->y[r * job->w->rows + n] += job->bias[n];
}

// MARK: - Entry

static size_t worker_floats(const tk_kernels *kernels, size_t rows, const tk_matrix *w) {
  if (rows <= TK_DOT_ROWS) return round_up(w->columns, 16);
  size_t columns = (size_t)kernels->tileColumns;
  return TK_DEPTH * columns + (TK_DEPTH + 16) * columns + (size_t)kernels->tileRows * columns;
}

static size_t packed_floats(const tk_kernels *kernels, size_t rows, const tk_matrix *w) {
  if (rows <= TK_DOT_ROWS) return 0;
  return round_up(round_up(rows, (size_t)kernels->tileRows) * w->columns, 16);
}

size_t tk_linear_scratch(const tk_pool *pool, size_t rows, const tk_matrix *w) {
  const tk_kernels *kernels = tk_best();
  size_t workers = (size_t)tk_pool_threads(pool) * worker_floats(kernels, rows, w);
  return (packed_floats(kernels, rows, w) + workers) * sizeof(float);
}

void tk_linear(tk_pool *pool, const float *x, size_t rows, const tk_matrix *w, const float *bias,
               float *y, void *scratch) {
  const tk_kernels *kernels = tk_best();
  linear_job job = {kernels, x, w, bias, y, rows, scratch, NULL, 0, DOT_COLUMNS};
  job.workerFloats = worker_floats(kernels, rows, w);
  job.perWorker = job.packedX + packed_floats(kernels, rows, w);
  if (rows <= TK_DOT_ROWS) {
    tk_pool_run(pool, (int)((w->rows + DOT_COLUMNS - 1) / DOT_COLUMNS), dot_task, &job);
    return;
  }
  size_t tileRows = (size_t)kernels->tileRows;
  tk_pool_run(pool, (int)((rows + tileRows - 1) / tileRows), pack_task, &job);
  job.columnsPerTask = 2 * (size_t)kernels->tileColumns;
  int tasks = (int)((w->rows + job.columnsPerTask - 1) / job.columnsPerTask);
  tk_pool_run(pool, tasks, tile_task, &job);
}
