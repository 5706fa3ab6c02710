// What one instruction set provides beyond the public row functions.
#ifndef TROIKA_KERNELS_H
#define TROIKA_KERNELS_H

#include "CKernels.h"

/// Activation rows that meet a weight row at once in the dot-product form of a linear layer.
enum { TK_DOT_ROWS = 4 };
/// Most heads that share a pass over keys and values.
enum { TK_HEADS = 8 };
/// Most activation rows for which that form is the faster one: it reads the weights as they are.
enum { TK_DOT_LIMIT = 40 };

/// Activation rows that a tile of fp16 sums takes at once.
enum { TK_HALF_ROWS = 4 };

typedef struct {
  tk_rows rows;
  int tileRows;     // rows of a register tile
  int tileColumns;  // columns of a register tile
  int heads;        // heads that share a pass over keys and values, at most TK_HEADS
  void (*expand)(const tk_matrix *m, size_t row, size_t column, size_t count, float *out);
  /// `c[i, j] (+)= Σ_k a[k · aStride + i] · b[k · bStride + j]` for i below `rows`, j below
  /// `tileColumns`.
  void (*tile)(int rows, size_t depth, const float *a, size_t aStride, const float *b,
               size_t bStride, float *c, size_t cStride, bool accumulate);
  /// `tile` with halves for `b` and at most `heads` rows.
  void (*tileHalves)(int rows, size_t depth, const float *a, size_t aStride, const uint16_t *b,
                     size_t bStride, float *c, size_t cStride, bool accumulate);
  /// `out[k · tileRows + i] = x[i · stride + k]` for i below `rows`, zeros beyond.
  void (*packRows)(const float *x, size_t stride, size_t rows, size_t depth, float *out);
  /// `out[k · tileColumns + n] = x[n · stride + k]` for n below `columns`, zeros beyond.
  void (*transpose)(const float *x, size_t stride, size_t columns, size_t depth, float *out);
  /// Puts one row of activations in the order in which `dot` meets four-bit weights, zeros beyond:
  /// nine numbers for every eight, whole chunks of `8 · lanes`.
  void (*arrange)(tk_format format, const float *x, size_t depth, float *out);
  /// `y[r · yStride + n] = Σ_k x[r · stride + k] · w[first + n, k]` for up to TK_DOT_ROWS rows;
  /// `x` is arranged where the weights have four bits, and its stride is the depth otherwise.
  void (*dot)(const float *x, size_t stride, size_t rows, const tk_matrix *w, size_t first,
              size_t count, float *y, size_t yStride);
  /// Bytes of one row of activations in fixed point.
  size_t (*fixedBytes)(size_t depth);
  /// Rounds one row of activations to fixed point, in the order in which `dotFixed` meets weights.
  void (*arrangeFixed)(tk_format format, const float *x, size_t depth, void *out);
  /// `dot` with rows in fixed point, `stride` bytes apart; NULL where the set has none.
  void (*dotFixed)(const void *x, size_t stride, size_t rows, const tk_matrix *w, size_t first,
                   size_t count, float *y, size_t yStride);
  /// `y[r · yStride + n] = Σ_k x[r · stride + k] · w[n · wStride + k]` for up to `heads` rows, `w` of
  /// halves or floats.
  void (*dotRows)(const float *x, size_t stride, size_t rows, const void *w, bool half,
                  size_t wStride, size_t count, size_t depth, float *y, size_t yStride);
  /// `c[i, j]` continued in fp16 by `x[i · stride + k] · b[k · tileColumns + j]` for k in order, i
  /// below `rows`, at most TK_HALF_ROWS; c is `[rows, tileColumns]`.
  void (*halfTile)(int rows, size_t depth, const float *x, size_t stride, const float *b,
                   float *c);
  /// Turns numbers into `exp(x - peak)`; gives the peak, 0 where all are -∞, and the sum.
  void (*exponents)(float *x, size_t count, float *peak, float *sum);
  /// Softmax over the rows of `s [keys, tileColumns]`, one problem a column; 1 / sum in `inverse`.
  void (*columnSoftmax)(float *s, size_t keys, float *inverse);
  float (*product)(const float *a, const float *b, size_t count);
  /// `y += a · x`.
  void (*accumulate)(float *y, const float *x, float a, size_t count);
} tk_kernels;

/// Depth of the blocks in which products of pairs are summed exactly.
enum { TK_PAIR_DEPTH = 128 };

/// Tiles of 16-bit pairs, for sets whose processor adds their products in one instruction.
typedef struct {
  /// Rounds `count` numbers to whole ones of at most `most` against the largest, two in 32 bits;
  /// gives what 1 is worth, NaN where a number is not finite.
  float (*round)(const float *x, size_t count, float most, int32_t *out);
  /// Turns `count` weights from column `at` on, at most TK_PAIR_DEPTH, of each of `rows` rows into
  /// whole numbers of at most 2048, `stride` pairs from row to row; gives what 1 is worth in each,
  /// NaN or infinite where a number that it comes from is not finite. What follows them up to that
  /// depth is of no account.
  void (*packWeights)(const tk_matrix *m, size_t first, size_t rows, size_t at, size_t count,
                      int32_t *out, size_t stride, float *units);
  /// `c[i, j] (+)= aUnits[i] · bUnits[j] · Σ_k a[k, i] · b[k, j]` over pairs.
  void (*tile)(int rows, size_t pairs, const int32_t *a, const float *aUnits, const int32_t *b,
               const float *bUnits, float *c, size_t cStride, bool accumulate);
} tk_pair_tiles;

/// The tiles that go with a set on this processor; NULL where it has none.
const tk_pair_tiles *tk_pairs_of(const tk_kernels *kernels);
/// Whether a linear layer is computed from pairs.
bool tk_pairs_fit(const tk_kernels *kernels, size_t rows, const tk_matrix *w);
size_t tk_pairs_scratch(const tk_pool *pool, size_t rows, const tk_matrix *w);
void tk_pairs_linear(tk_pool *pool, const float *x, size_t rows, const tk_matrix *w,
                     const float *bias, float *y, void *scratch);

extern const tk_kernels tk_portable, tk_avx2, tk_avx512;

/// The table in use where no pool says otherwise.
const tk_kernels *tk_best(void);
/// A table by name; NULL where this processor lacks it.
const tk_kernels *tk_named(const char *name);
static inline size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t round_up(size_t a, size_t b) { return (a + b - 1) / b * b; }

/// Most weight rows of a task of tiles: packed they are to stay near while activations pass by.
enum { TK_GROUP_COLUMNS = 128 };

/// How a linear layer's results are divided into tasks of tiles.
typedef struct {
  size_t rows, columns;  // of the result
  size_t rowsPerTask, columnsPerTask, splits;
  size_t count;  // of all tasks
} tk_tile_tasks;
/// Results of one task: rows `start` to `end`, columns `first` to `last`.
typedef struct {
  size_t start, end, first, last;
} tk_tile_range;
/// Enough tasks to keep all threads busy to the end; rows are divided at multiples of `chunk`.
tk_tile_tasks tk_divide_tiles(const tk_pool *pool, size_t rows, size_t columns, size_t chunk);
tk_tile_range tk_tiles_of(const tk_tile_tasks *tasks, size_t task);

/// Whether weights are int8 or four-bit ones in blocks or with palettes.
bool tk_is_quantised(const tk_matrix *w);
/// Bytes of one weight row, scales and palettes left out.
size_t tk_row_bytes(const tk_matrix *w);

/// Does some weight rows of a linear layer in the dot-product form.
typedef void (*tk_rows_task)(void *context, size_t first, size_t count);
/// Deals the rows of a weight out to the threads of a pool while they work: each has a run of its own,
/// and helps with the ends of others' when it is through.
void tk_share_rows(tk_pool *pool, const tk_matrix *w, tk_rows_task task, void *context);
/// Rows of a thread's own run.
size_t tk_rows_of_run(const tk_pool *pool, const tk_matrix *w);
/// Lets idle workers ask for what they read in the next loop: worker i `bytes` from
/// `data + i * stride` on; NULL for nothing.
void tk_pool_expect(tk_pool *pool, const void *data, size_t stride, size_t bytes);
/// The table of a pool.
const tk_kernels *tk_pool_kernels(const tk_pool *pool);

#endif
