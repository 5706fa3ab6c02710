// Kernels for this machine's processor: plain C behind one table per instruction set, chosen when
// the process starts. All matrices are row-major; all activations are f32 unless said otherwise.
#ifndef TROIKA_CKERNELS_H
#define TROIKA_CKERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: - Threads

/// A fixed set of worker threads. One caller at a time; the caller works too.
typedef struct tk_pool tk_pool;

/// One task of a parallel loop; `worker` is below the number of threads.
typedef void (*tk_task)(void *context, int task, int worker);

/// Starts `threads - 1` workers, pinned to `cpus[1…]` where given. NULL where none can be had.
tk_pool *tk_pool_create(int threads, const int *cpus);
void tk_pool_destroy(tk_pool *pool);
int tk_pool_threads(const tk_pool *pool);
/// Makes everything that runs on this pool use one instruction set, by the name of its table;
/// false where this processor lacks it. A pool starts with the one in use when it is made.
bool tk_pool_use(tk_pool *pool, const char *name);

/// Runs tasks 0…count-1 on all threads and returns when all are over.
void tk_pool_run(tk_pool *pool, int count, tk_task task, void *context);

/// The processors that a thread may run on.
typedef struct {
  unsigned long bits[16];
} tk_processors;

/// Pins the calling thread to one processor; false where the system refuses. Notes where it might
/// run before, unless `before` is NULL.
bool tk_pin_thread(int cpu, tk_processors *before);
/// Lets the calling thread run where it might before it was pinned.
void tk_unpin_thread(const tk_processors *before);

// MARK: - Weights

/// How the numbers of a constant matrix are stored.
typedef enum {
  TK_F32,
  TK_F16,
  TK_BF16,
  TK_INT8_BLOCK32,
  TK_INT8_ROW,
  TK_INT4_BLOCK32,
  TK_INT4_PALETTE32
} tk_format;

/// A constant matrix `[rows, columns]`.
typedef struct {
  const void *data;
  tk_format format;
  size_t rows;
  size_t columns;
} tk_matrix;

/// `count` numbers of one row from `column` on; block formats start at a multiple of 32.
void tk_expand(const tk_matrix *matrix, size_t row, size_t column, size_t count, float *out);

// MARK: - Matrix products

/// Scratch bytes that `tk_linear` needs for `rows` rows of activations.
size_t tk_linear_scratch(const tk_pool *pool, size_t rows, const tk_matrix *weight);

/// `y[r, n] = Σ_k x[r, k] · weight[n, k] + bias[n]`; `bias` may be NULL.
void tk_linear(tk_pool *pool, const float *x, size_t rows, const tk_matrix *weight,
               const float *bias, float *y, void *scratch);

/// Scratch bytes that `tk_linear_fixed` needs.
size_t tk_linear_fixed_scratch(const tk_pool *pool, size_t rows, const tk_matrix *weight);

/// The same product with int8 blocks or four-bit weights in fixed point, and exact sums over 64 or
/// 128 of the depth. Few rows: activations are rounded to 16 bits against the largest of so many in a
/// row, palettes to 14 bits against their largest entry, other weights not at all. More rows, where
/// the processor adds pairs of 16-bit products in one instruction: activations to 14 bits against the
/// largest of 128 in a row, weights to 12 against the largest scale of so many or the largest entry of
/// their palette. Numbers that are not finite make the row's results NaN or not finite, those of
/// weights their column's. Other formats and processors: `tk_linear`.
void tk_linear_fixed(tk_pool *pool, const float *x, size_t rows, const tk_matrix *weight,
                     const float *bias, float *y, void *scratch);

/// Says which weights the next product with few rows reads: idle threads ask for their beginnings
/// meanwhile. NULL for none.
void tk_linear_expect(tk_pool *pool, const tk_matrix *weight);

/// Most rows of activations that meet weights as they are stored; more meet them unpacked.
size_t tk_linear_dot_limit(void);

/// Scratch bytes that `tk_linear_half` needs.
size_t tk_linear_half_scratch(const tk_pool *pool);

/// The same product with each sum kept in fp16: `s = fp16(fp32(x[r, k] · fp16(weight[n, k]) + s))`
/// for k in order; the bias is added in f32. `x` holds numbers that fp16 keeps.
void tk_linear_half(tk_pool *pool, const float *x, size_t rows, const tk_matrix *weight,
                    const float *bias, float *y, void *scratch);

// MARK: - Attention

/// Queries over one run of keys, or over a ring of past keys and a run of new ones.
typedef struct {
  const float *query;     // [tokens, heads, size]
  const float *keys;      // [newRows, groups, size]
  const float *values;    // [newRows, groups, size]
  const void *pastKeys;   // [pastRows, groups, size], NULL without a past
  const void *pastValues;
  bool pastIsHalf;        // the past is fp16, else f32
  const float *mask;      // [tokens, past and new rows], added to the scores; NULL without one
  size_t maskStride;      // of one token's row: 0 where all tokens share one
  const int32_t *blocks;  // [newRows], NULL where nothing sees its whole block
  float *out;             // [tokens, heads, size]
  size_t tokens, heads, groups, size, newRows, pastRows;
  int64_t position;       // of the first new row
  int64_t queryPosition;  // of the first query
  int64_t window;         // positions a query sees; 0: all
  bool causal;
  float scale;
} tk_attention;

/// Scratch bytes that `tk_attend` needs.
size_t tk_attention_scratch(const tk_pool *pool, const tk_attention *problem);
void tk_attend(tk_pool *pool, const tk_attention *problem, void *scratch);

/// Local attention with relative keys: `q, k, v [tokens, heads, size]`,
/// `relative [window + 1, heads, size]`; keys from `count` on are hidden.
typedef struct {
  const float *query, *keys, *values, *relative;
  float *out;
  size_t tokens, heads, size, window, count;
  float softcap;
} tk_banded;
void tk_attend_banded(tk_pool *pool, const tk_banded *problem);

// MARK: - Rows and elements, one thread

/// Functions of one number.
typedef enum {
  TK_GELU,
  TK_SILU,
  TK_SIGMOID,
  TK_RELU,
  TK_TANH,
  TK_SOFTPLUS,
  TK_EXP
} tk_unary;

/// Functions of two numbers.
typedef enum { TK_ADD, TK_SUBTRACT, TK_MULTIPLY, TK_DIVIDE, TK_MAXIMUM, TK_MINIMUM } tk_binary;

/// What happened while numbers were rounded to fp16.
typedef struct {
  float largest;       // magnitude, infinities left out
  uint32_t overflows;  // infinite numbers
  uint32_t nans;
  uint32_t flushed;    // subnormals that became zero
} tk_health;

/// What one instruction set offers.
typedef struct {
  const char *name;
  int lanes;
  void (*unary)(tk_unary kind, const float *x, float *y, size_t count);
  void (*binary)(tk_binary kind, const float *a, const float *b, float *y, size_t count);
  /// `b` is one number for all.
  void (*binaryScalar)(tk_binary kind, const float *a, float b, float *y, size_t count);
  void (*affine)(const float *x, float *y, float scale, float offset, size_t count);
  void (*clamp)(const float *x, float *y, float lower, float upper, size_t count);
  void (*softcap)(const float *x, float *y, float cap, size_t count);
  void (*gatedGelu)(const float *gate, const float *up, float *y, size_t count);
  void (*rmsNorm)(const float *x, const float *weight, float *y, size_t rows, size_t width,
                  float epsilon);
  void (*layerNorm)(const float *x, const float *weight, float *y, size_t rows, size_t width,
                    float epsilon);
  void (*softmax)(const float *x, float *y, size_t rows, size_t width);
  /// `x [rows, heads, size]`, `table [rows, size]`.
  void (*rotate)(const float *x, const float *table, float *y, size_t rows, size_t heads,
                 size_t size, size_t axes);
  /// `y` = `x` as fp16 keeps it, nearest even; `flush` makes fp16 subnormals zero. Adds to `health`.
  void (*roundHalf)(const float *x, float *y, size_t count, bool flush, tk_health *health);
  /// fp16 to f32 and back, nearest even.
  void (*widenHalf)(const uint16_t *x, float *y, size_t count);
  void (*narrowHalf)(const float *x, uint16_t *y, size_t count);
  /// The norms and the softmax with sums kept in fp16, one term after another; they give how many
  /// sums left its range.
  uint32_t (*rmsNormHalf)(const float *x, const float *weight, float *y, size_t rows,
                          size_t width, float epsilon);
  uint32_t (*layerNormHalf)(const float *x, const float *weight, float *y, size_t rows,
                            size_t width, float epsilon);
  uint32_t (*softmaxHalf)(const float *x, float *y, size_t rows, size_t width);
  /// `sum += x`, rounded to fp16.
  void (*halfAdd)(float *sum, const float *x, size_t count);
} tk_rows;

/// The best table this processor runs.
const tk_rows *tk_rows_best(void);
/// A table by name (`avx512`, `avx2`, `portable`); NULL where this processor lacks it.
const tk_rows *tk_rows_named(const char *name);
/// Changes the best table, for pools made from now on too; false where this processor lacks it.
bool tk_use(const char *name);

// MARK: - Movement

/// Has the system read rows of a mapped table that are not in memory yet, those of all ids side by
/// side and, scales left out, nothing else; ids outside the table are left out.
void tk_ask_rows(const tk_matrix *table, const int32_t *ids, size_t count);
/// Rows of a table by id; an id outside gives zeros.
void tk_gather(const tk_matrix *table, const int32_t *ids, size_t count, float *out);
/// `[rows, columns] → f32` of positions and rates; see the rotaryTable operation.
void tk_rotary_table(const int32_t *positions, size_t count, size_t axes, const float *rates,
                     size_t pairs, float *out);
/// Two-dimensional convolution, channels last; `weight [outputs, channels · kh · kw]` f32.
typedef struct {
  const float *x;
  const float *weight;
  float *y;
  size_t height, width, channels, outputs, kernelHeight, kernelWidth, stride, padding;
} tk_conv;
size_t tk_conv_scratch(const tk_pool *pool, const tk_conv *problem);
void tk_conv2d(tk_pool *pool, const tk_conv *problem, void *scratch);
/// `y[t, c] = Σ_j w[c, j] · x[t - taps + 1 + j, c]`.
void tk_depthwise(tk_pool *pool, const float *x, const float *weight, float *y, size_t rows,
                  size_t channels, size_t taps);

#endif
