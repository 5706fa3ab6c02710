// How linear layers are divided into tasks.
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

// One long run of rows for each thread, since memory serves few long streams best, and what is left
// in short ones for whoever comes first.
enum { SHORT_TASKS = 3, SHORT_BYTES = 16 << 10, DOT_ALIGNMENT = 4 };

tk_dot_tasks tk_divide_rows(const tk_pool *pool, const tk_matrix *w) {
  size_t threads = (size_t)tk_pool_threads(pool), shorts = threads * SHORT_TASKS;
  tk_dot_tasks tasks = {.rows = w->rows};
  size_t few = w->rows / (16 * threads) / DOT_ALIGNMENT * DOT_ALIGNMENT;
  if (threads > 1 && few * tk_row_bytes(w) >= SHORT_BYTES) tasks.shortRows = few;
  size_t rest = w->rows - shorts * tasks.shortRows;
  tasks.longRows = round_up((rest + threads - 1) / threads, DOT_ALIGNMENT);
  size_t longs = (rest + tasks.longRows - 1) / tasks.longRows;
  tasks.longs = longs;
  size_t left = w->rows - min_size(longs * tasks.longRows, w->rows);
  tasks.count = longs + (tasks.shortRows ? (left + tasks.shortRows - 1) / tasks.shortRows : 0);
  return tasks;
}

size_t tk_rows_of(const tk_dot_tasks *tasks, size_t task, size_t *first) {
  size_t rows = task < tasks->longs ? tasks->longRows : tasks->shortRows;
  size_t behind = tasks->longs * tasks->longRows;
  *first = task < tasks->longs ? task * rows : behind + (task - tasks->longs) * rows;
  return min_size(rows, tasks->rows - *first);
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
