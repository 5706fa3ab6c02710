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
  size_t blockDepth;  // most of the depth that is summed at once
  tk_tile_tasks tiles;
} linear_job;

// MARK: - Few rows

static bool is_four_bit(const tk_matrix *w) {
  return w->format == TK_INT4_BLOCK32 || w->format == TK_INT4_PALETTE32;
}

static size_t arranged_floats(const tk_kernels *kernels, const tk_matrix *w) {
  return round_up(w->columns, 8 * (size_t)kernels->rows.lanes) / 8 * 9;
}

size_t tk_linear_dot_limit(void) { return TK_DOT_LIMIT; }

// What a worker's own second-level cache holds besides its other data.
enum { EXPECTED_BYTES = 512 << 10 };

void tk_linear_expect(tk_pool *pool, const tk_matrix *w) {
  if (!w || tk_pool_threads(pool) < 2) {
    tk_pool_expect(pool, NULL, 0, 0);
    return;
  }
  size_t share = tk_rows_of_run(pool, w) * tk_row_bytes(w);
  tk_pool_expect(pool, w->data, share, min_size(share, EXPECTED_BYTES));
}

static void dot_task(void *context, size_t first, size_t count) {
  const linear_job *job = context;
  bool arranged = is_four_bit(job->w);
  size_t stride = arranged ? arranged_floats(job->kernels, job->w) : job->w->columns;
  const float *x = arranged ? job->packedX : job->x;
  for (size_t r = 0; r < job->rows; r += TK_DOT_ROWS) {
    size_t rows = min_size(TK_DOT_ROWS, job->rows - r);
    job->kernels->dot(x + r * stride, stride, rows, job->w, first, count,
                      job->y + r * job->w->rows + first, job->w->rows);
  }
  if (!job->bias) return;
  for (size_t r = 0; r < job->rows; r++)
    for (size_t n = first; n < first + count; n++) job->y[r * job->w->rows + n] += job->bias[n];
}

static void dot_linear(tk_pool *pool, linear_job *job) {
  const tk_matrix *w = job->w;
  if (is_four_bit(w))
    for (size_t r = 0; r < job->rows; r++)
      job->kernels->arrange(w->format, job->x + r * w->columns, w->columns,
                            job->packedX + r * arranged_floats(job->kernels, w));
  tk_share_rows(pool, w, dot_task, job);
}

// MARK: - Many rows

// The weights of a task's columns stay packed while chunks of activation rows pass by. Results are
// written once for each block of the depth; both sides of a product then come from the second-level
// cache, which gives many times what a tile takes of them.
enum { CHUNK_ROWS = 96, DEPTH = 768 };

/// Most columns of a task, in whole tiles.
static size_t group_columns(const tk_kernels *kernels, const tk_matrix *w) {
  return min_size(TK_GROUP_COLUMNS, round_up(w->rows, (size_t)kernels->tileColumns));
}

static size_t chunk_rows(const tk_kernels *kernels) {
  return CHUNK_ROWS / (size_t)kernels->tileRows * (size_t)kernels->tileRows;
}

static void pack_task(void *context, int task, int worker) {
  (void)worker;
  linear_job *job = context;
  size_t tileRows = (size_t)job->kernels->tileRows, depth = job->w->columns;
  size_t first = (size_t)task * tileRows, rows = min_size(tileRows, job->rows - first);
  size_t padded = round_up(job->rows, tileRows);
  for (size_t block = 0; block < depth; block += DEPTH) {
    size_t count = min_size(DEPTH, depth - block);
    job->kernels->packRows(job->x + first * depth + block, depth, rows, count,
                           job->packedX + block * padded + first * count);
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
  size_t stride = job->blockDepth + 16;
  for (size_t n = 0; n < columns; n++)
    job->kernels->expand(job->w, first + n, block, count, rows + n * stride);
  job->kernels->transpose(rows, stride, columns, count, out);
}

typedef struct {
  size_t start, end;  // rows
  size_t first, columns;
  size_t block, count;  // depth
} tile_range;

/// One panel of weights against some rows.
static void tile_panel(const linear_job *job, tile_range at, const float *b, float *edge) {
  size_t tileRows = (size_t)job->kernels->tileRows, width = job->w->rows;
  size_t padded = round_up(job->rows, tileRows), tileColumns = (size_t)job->kernels->tileColumns;
  for (size_t r = at.start; r < at.end; r += tileRows) {
    size_t rows = min_size(tileRows, at.end - r);
    const float *a = job->packedX + at.block * padded + r * at.count;
    float *c = job->y + r * width + at.first;
    if (at.columns == tileColumns) {
      job->kernels->tile((int)rows, at.count, a, tileRows, b, tileColumns, c, width,
                         at.block > 0);
      continue;
    }
    job->kernels->tile((int)rows, at.count, a, tileRows, b, tileColumns, edge, tileColumns,
                       false);
    for (size_t i = 0; i < rows; i++)
      for (size_t n = 0; n < at.columns; n++)
        c[i * width + n] = edge[i * tileColumns + n] + (at.block > 0 ? c[i * width + n] : 0);
  }
}

static void add_bias(const linear_job *job, size_t start, size_t end, size_t first,
                     size_t columns) {
  if (!job->bias) return;
  for (size_t r = start; r < end; r++) {
    float *y = job->y + r * job->w->rows + first;
    job->kernels->rows.binary(TK_ADD, y, job->bias + first, y, columns);
  }
}

static void tile_task(void *context, int task, int worker) {
  linear_job *job = context;
  size_t tileColumns = (size_t)job->kernels->tileColumns, chunk = chunk_rows(job->kernels);
  const tk_tile_range mine = tk_tiles_of(&job->tiles, (size_t)task);
  const size_t start = mine.start, end = mine.end, first = mine.first, last = mine.last;
  float *b = job->perWorker + (size_t)worker * job->workerFloats;
  float *rows = b + job->blockDepth * group_columns(job->kernels, job->w);
  float *edge = rows + (job->blockDepth + 16) * tileColumns;
  for (size_t block = 0; block < job->w->columns; block += DEPTH) {
    size_t count = min_size(DEPTH, job->w->columns - block);
    for (size_t r = start; r < end; r += chunk)
      for (size_t n = first; n < last; n += tileColumns) {
        tile_range at = {r, min_size(r + chunk, end), n, min_size(tileColumns, last - n), block,
                         count};
        float *panel = b + (n - first) * job->blockDepth;
        if (r == start) pack_weights(job, n, at.columns, block, count, rows, panel);
        tile_panel(job, at, panel, edge);
      }
  }
  add_bias(job, start, end, first, last - first);
}

// MARK: - Entry

static size_t worker_floats(const tk_kernels *kernels, size_t rows, const tk_matrix *w) {
  if (rows <= TK_DOT_LIMIT) return 0;
  size_t columns = (size_t)kernels->tileColumns, depth = min_size(DEPTH, w->columns);
  return round_up(depth * group_columns(kernels, w) + (depth + 16) * columns +
                  (size_t)kernels->tileRows * columns, 16);
}

static size_t packed_floats(const tk_kernels *kernels, size_t rows, const tk_matrix *w) {
  if (rows <= TK_DOT_LIMIT) return is_four_bit(w) ? rows * arranged_floats(kernels, w) : 0;
  return round_up(round_up(rows, (size_t)kernels->tileRows) * w->columns, 16);
}

size_t tk_linear_scratch(const tk_pool *pool, size_t rows, const tk_matrix *w) {
  const tk_kernels *kernels = tk_pool_kernels(pool);
  size_t workers = (size_t)tk_pool_threads(pool) * worker_floats(kernels, rows, w);
  return (packed_floats(kernels, rows, w) + workers) * sizeof(float);
}

void tk_linear(tk_pool *pool, const float *x, size_t rows, const tk_matrix *w, const float *bias,
               float *y, void *scratch) {
  const tk_kernels *kernels = tk_pool_kernels(pool);
  linear_job job = {.kernels = kernels, .x = x, .w = w, .bias = bias, .y = y, .rows = rows};
  job.packedX = scratch;
  job.blockDepth = min_size(DEPTH, w->columns);
  job.workerFloats = worker_floats(kernels, rows, w);
  job.perWorker = job.packedX + packed_floats(kernels, rows, w);
  if (rows <= TK_DOT_LIMIT) {
    dot_linear(pool, &job);
    return;
  }
  size_t tileRows = (size_t)kernels->tileRows;
  tk_pool_run(pool, (int)((rows + tileRows - 1) / tileRows), pack_task, &job);
  job.tiles = tk_divide_tiles(pool, rows, w->rows, chunk_rows(kernels));
  tk_pool_run(pool, (int)job.tiles.count, tile_task, &job);
}
