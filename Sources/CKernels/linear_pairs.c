// Linear layers of quantised weights with many rows: both sides rounded to 16 bits block by block of
// the depth, tiles of exact 32-bit sums, f32 across blocks.
#include <string.h>

#include "kernels.h"

// Numbers of a block are at most this large, so that sums over its depth fit 32 bits.
enum { DEPTH = TK_PAIR_DEPTH, PAIRS = DEPTH / 2 };
// Blocks that a tile of results takes one after another while it stays in the first-level cache.
enum { SPAN = 6 };
static const float MOST_ACTIVATION = 8191;  // times 2048, the most of a weight

// The weights of a task's columns stay packed in the second-level cache while chunks of activation
// rows pass by.
enum { CHUNK_TILES = 7 };

typedef struct {
  const tk_kernels *kernels;
  const tk_pair_tiles *tiles;
  const float *x;
  const tk_matrix *w;
  const float *bias;
  float *y;
  size_t rows, padded;  // activation rows, and in whole tiles
  int32_t *packed;      // [block][row tile][pair][tileRows]
  float *units;         // [block][padded rows]
  char *perWorker;      // scratch of one worker after another
  tk_tile_tasks tasks;
} pair_job;

/// Scratch of one worker: rows before they are interleaved, a group's panels, their units.
typedef struct {
  float expanded[DEPTH];
  int32_t rows[32][PAIRS + 16];
  float units[SPAN * TK_GROUP_COLUMNS];             // [column tile][block of the span][column]
  int32_t panels[SPAN * TK_GROUP_COLUMNS * PAIRS];  // the same with pairs before the columns
  float edge[16 * 32];
} worker_scratch;

static size_t blocks_of(const tk_matrix *w) { return (w->columns + DEPTH - 1) / DEPTH; }
static size_t padded_rows(const tk_kernels *kernels, size_t rows) {
  return round_up(rows, (size_t)kernels->tileRows);
}

bool tk_pairs_fit(const tk_kernels *kernels, size_t rows, const tk_matrix *w) {
  return tk_is_quantised(w) && rows > TK_DOT_LIMIT && tk_pairs_of(kernels);
}

size_t tk_pairs_scratch(const tk_pool *pool, size_t rows, const tk_matrix *w) {
  size_t padded = padded_rows(tk_pool_kernels(pool), rows);
  size_t numbers = blocks_of(w) * padded * (PAIRS + 1);
  return round_up(numbers * 4, 64) + (size_t)tk_pool_threads(pool) * sizeof(worker_scratch);
}

/// One tile of activation rows.
static void round_task(void *context, int task, int worker) {
  pair_job *job = context;
  worker_scratch *scratch = (worker_scratch *)job->perWorker + worker;
  size_t tileRows = (size_t)job->kernels->tileRows, depth = job->w->columns;
  size_t first = (size_t)task * tileRows, rows = min_size(tileRows, job->rows - first);
  for (size_t block = 0; block * DEPTH < depth; block++) {
    size_t at = block * DEPTH, count = min_size(DEPTH, depth - at);
    float *units = job->units + block * job->padded + first;
    for (size_t r = 0; r < tileRows; r++) units[r] = 0;
    for (size_t r = 0; r < rows; r++) {
      const float *x = job->x + (first + r) * depth + at;
      if (count < DEPTH) {
        memset(scratch->expanded, 0, sizeof scratch->expanded);
        x = memcpy(scratch->expanded, x, count * sizeof *x);
      }
      units[r] = job->tiles->round(x, DEPTH, MOST_ACTIVATION, scratch->rows[r]);
    }
    job->kernels->packRows((const float *)scratch->rows, PAIRS + 16, rows, PAIRS,
                           (float *)(job->packed + (block * job->padded + first) * PAIRS));
  }
}

typedef struct {
  size_t start, end;       // rows
  size_t first, columns;
  size_t block, blocks;    // depth
  int32_t *panel;          // [block of the span][pair][tileColumns]
  float *units;            // [block of the span][tileColumns]
} panel_work;

/// Up to `tileColumns` weight rows of the blocks of a span.
static void pack_panel(const pair_job *job, worker_scratch *scratch, panel_work to) {
  size_t tileColumns = (size_t)job->kernels->tileColumns;
  for (size_t i = 0; i < to.blocks; i++) {
    size_t at = (to.block + i) * DEPTH, count = min_size(DEPTH, job->w->columns - at);
    float *units = to.units + i * tileColumns;
    job->tiles->packWeights(job->w, to.first, to.columns, at, count, scratch->rows[0], PAIRS + 16,
                            units);
    for (size_t n = to.columns; n < tileColumns; n++) units[n] = 0;
    job->kernels->transpose((const float *)scratch->rows, PAIRS + 16, to.columns, PAIRS,
                            (float *)(to.panel + i * PAIRS * tileColumns));
  }
}

static void tile_panel(const pair_job *job, panel_work at, float *edge) {
  size_t tileRows = (size_t)job->kernels->tileRows, width = job->w->rows;
  size_t tileColumns = (size_t)job->kernels->tileColumns;
  bool whole = at.columns == tileColumns;
  for (size_t r = at.start; r < at.end; r += tileRows) {
    size_t rows = min_size(tileRows, at.end - r);
    float *y = job->y + r * width + at.first, *c = whole ? y : edge;
    for (size_t i = 0; i < at.blocks; i++) {
      size_t row = (at.block + i) * job->padded + r;
      job->tiles->tile((int)rows, PAIRS, job->packed + row * PAIRS, job->units + row,
                       at.panel + i * PAIRS * tileColumns, at.units + i * tileColumns, c,
                       whole ? width : tileColumns, whole ? at.block + i > 0 : i > 0);
    }
    for (size_t i = 0; !whole && i < rows; i++)
      for (size_t n = 0; n < at.columns; n++)
        y[i * width + n] = edge[i * tileColumns + n] + (at.block > 0 ? y[i * width + n] : 0);
  }
}

static void tile_task(void *context, int task, int worker) {
  pair_job *job = context;
  worker_scratch *scratch = (worker_scratch *)job->perWorker + worker;
  size_t tileColumns = (size_t)job->kernels->tileColumns;
  size_t chunk = CHUNK_TILES * (size_t)job->kernels->tileRows;
  const tk_tile_range mine = tk_tiles_of(&job->tasks, (size_t)task);
  const size_t start = mine.start, end = mine.end, first = mine.first, last = mine.last;
  for (size_t block = 0; block < blocks_of(job->w); block += SPAN)
    for (size_t r = start; r < end; r += chunk)
      for (size_t n = first; n < last; n += tileColumns) {
        size_t offset = (n - first) * SPAN;
        panel_work at = {r, min_size(r + chunk, end), n, min_size(tileColumns, last - n),
                          block, min_size(SPAN, blocks_of(job->w) - block),
                          scratch->panels + offset * PAIRS, scratch->units + offset};
        if (r == start) pack_panel(job, scratch, at);
        tile_panel(job, at, scratch->edge);
      }
  for (size_t r = start; job->bias && r < end; r++) {
    float *y = job->y + r * job->w->rows + first;
    job->kernels->rows.binary(TK_ADD, y, job->bias + first, y, last - first);
  }
}

void tk_pairs_linear(tk_pool *pool, const float *x, size_t rows, const tk_matrix *w,
                     const float *bias, float *y, void *scratch) {
  const tk_kernels *kernels = tk_pool_kernels(pool);
  pair_job job = {.kernels = kernels, .tiles = tk_pairs_of(kernels), .x = x, .w = w};
  job.bias = bias;
  job.y = y;
  job.rows = rows;
  job.padded = padded_rows(kernels, rows);
  job.packed = scratch;
  job.units = (float *)(job.packed + blocks_of(w) * job.padded * PAIRS);
  job.perWorker = (char *)scratch + round_up(blocks_of(w) * job.padded * (PAIRS + 1) * 4, 64);
  size_t tileRows = (size_t)kernels->tileRows;
  tk_pool_run(pool, (int)((rows + tileRows - 1) / tileRows), round_task, &job);
  job.tasks = tk_divide_tiles(pool, rows, w->rows, CHUNK_TILES * tileRows);
  tk_pool_run(pool, (int)job.tasks.count, tile_task, &job);
}
