// How linear layers are divided into tasks.
#include <stdatomic.h>

#include "kernels.h"

bool tk_is_quantised(const tk_matrix *w) {
  return w->format == TK_INT8_BLOCK32 || w->format == TK_INT4_BLOCK32 ||
         w->format == TK_INT4_PALETTE32;
}

size_t tk_row_bytes(const tk_matrix *w) {
  switch (w->format) {
    case TK_F32: return w->columns * 4;
    case TK_F16:
    case TK_BF16: return w->columns * 2;
    case TK_INT8_BLOCK32:
    case TK_INT8_ROW: return w->columns;
    default: return (w->columns + 1) / 2;
  }
}

// Memory serves few long streams best: a thread goes through a run of neighbouring rows, and takes them
// a piece at a time, so that others can help at its end without either waiting long for the last.
enum { MOST_RUNS = 64, PIECE_BYTES = 16 << 10, ALIGNMENT = 4 };

/// Rows that nobody has taken yet: the first in the upper half, past the last in the lower.
typedef struct {
  _Alignas(64) _Atomic(uint64_t) left;
} row_run;

typedef struct {
  row_run runs[MOST_RUNS];
  size_t count, piece;
  tk_rows_task task;
  void *context;
} shared_rows;

/// Takes a quarter of what is left of a run, a piece at least; 0 where nothing is.
static size_t take(row_run *run, size_t piece, bool fromFront, size_t *first) {
  uint64_t left = atomic_load_explicit(&run->left, memory_order_relaxed), rest;
  size_t count;
  do {
    size_t front = left >> 32, back = (uint32_t)left, all = back - front;
    if (!all) return 0;
    count = min_size(all, round_up(all / 4 > piece ? all / 4 : piece, ALIGNMENT));
    *first = fromFront ? front : back - count;
    rest = fromFront ? (uint64_t)(front + count) << 32 | back : left - count;
  } while (!atomic_compare_exchange_weak_explicit(&run->left, &left, rest, memory_order_relaxed,
                                                  memory_order_relaxed));
  return count;
}

static void run_task(void *context, int own, int worker) {
  (void)worker;
  shared_rows *job = context;
  for (size_t i = 0; i < job->count; i++) {
    row_run *run = &job->runs[((size_t)own + i) % job->count];
    for (size_t first, count; (count = take(run, job->piece, i == 0, &first));)
      job->task(job->context, first, count);
  }
}

static size_t run_count(const tk_pool *pool) {
  return min_size((size_t)tk_pool_threads(pool), MOST_RUNS);
}

size_t tk_rows_of_run(const tk_pool *pool, const tk_matrix *w) {
  size_t runs = run_count(pool);
  return round_up((w->rows + runs - 1) / runs, ALIGNMENT);
}

void tk_share_rows(tk_pool *pool, const tk_matrix *w, tk_rows_task task, void *context) {
  shared_rows job;  // of the runs only those that are used have values
  job.count = run_count(pool);
  if (job.count == 1) {
    task(context, 0, w->rows);
    return;
  }
  size_t length = tk_rows_of_run(pool, w);
  job.task = task;
  job.context = context;
  job.piece = PIECE_BYTES / (tk_row_bytes(w) + 1) + 1;
  for (size_t i = 0; i < job.count; i++) {
    uint64_t first = min_size(i * length, w->rows), end = min_size((i + 1) * length, w->rows);
    atomic_init(&job.runs[i].left, first << 32 | end);
  }
  tk_pool_run(pool, (int)job.count, run_task, &job);
}

// Rows below which dividing them would pack weights again for too little.
enum { SPLIT_ROWS = 192 };

tk_tile_tasks tk_divide_tiles(const tk_pool *pool, size_t rows, size_t columns, size_t chunk) {
  size_t threads = (size_t)tk_pool_threads(pool);
  size_t tileColumns = (size_t)tk_pool_kernels(pool)->tileColumns;
  tk_tile_tasks tasks = {.rows = rows, .columns = columns};
  size_t share = round_up((columns + 4 * threads - 1) / (4 * threads), tileColumns);
  tasks.columnsPerTask = min_size(TK_GROUP_COLUMNS, share < 64 ? 64 : share);
  size_t groups = (columns + tasks.columnsPerTask - 1) / tasks.columnsPerTask;
  size_t wanted = threads > 1 && groups < 8 * threads ? 8 * threads / groups : 1;
  size_t most = rows / SPLIT_ROWS ? rows / SPLIT_ROWS : 1;
  size_t splits = min_size(wanted ? wanted : 1, most);
  tasks.rowsPerTask = round_up((rows + splits - 1) / splits, chunk);
  tasks.splits = (rows + tasks.rowsPerTask - 1) / tasks.rowsPerTask;
  tasks.count = groups * tasks.splits;
  return tasks;
}

tk_tile_range tk_tiles_of(const tk_tile_tasks *tasks, size_t task) {
  size_t first = task / tasks->splits * tasks->columnsPerTask;
  size_t start = task % tasks->splits * tasks->rowsPerTask;
  return (tk_tile_range){start, min_size(start + tasks->rowsPerTask, tasks->rows), first,
                         min_size(first + tasks->columnsPerTask, tasks->columns)};
}
