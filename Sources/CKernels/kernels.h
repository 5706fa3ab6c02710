// What one instruction set provides beyond the public row functions.
#ifndef TROIKA_KERNELS_H
#define TROIKA_KERNELS_H

#include "CKernels.h"

/// Depth of the blocks in which long products are summed.
enum { TK_DEPTH = 256 };
/// Most activation rows that the dot-product form of a linear layer handles.
enum { TK_DOT_ROWS = 4 };

typedef struct {
  tk_rows rows;
  int tileRows;     // rows of a register tile
  int tileColumns;  // columns of a register tile
  void (*widen_f16)(const uint16_t *x, float *y, size_t count);
  void (*widen_bf16)(const uint16_t *x, float *y, size_t count);
  /// `c[i, j] (+)= Σ_k a[k · aStride + i] · b[k · tileColumns + j]` for i below `rows`.
  void (*tile)(int rows, size_t depth, const float *a, size_t aStride, const float *b, float *c,
               size_t cStride, bool accumulate);
  /// `out[k · tileRows + i] = x[i · stride + k]` for i below `rows`, zeros beyond.
  void (*packRows)(const float *x, size_t stride, size_t rows, size_t depth, float *out);
  /// `out[k · tileColumns + n] = x[n · stride + k]` for n below `columns`, zeros beyond.
  void (*transpose)(const float *x, size_t stride, size_t columns, size_t depth, float *out);
  /// `y[r · yStride + n] = Σ_k x[r, k] · w[first + n, k]` for up to TK_DOT_ROWS rows.
  void (*dot)(const float *x, size_t rows, const tk_matrix *w, size_t first, size_t count,
              float *y, size_t yStride, float *scratch);
  /// Softmax over the rows of `s [keys, tileColumns]`, one problem a column; 1 / sum in `inverse`.
  void (*columnSoftmax)(float *s, size_t keys, float *inverse);
  float (*product)(const float *a, const float *b, size_t count);
  /// `y += a · x`.
  void (*accumulate)(float *y, const float *x, float a, size_t count);
} tk_kernels;

extern const tk_kernels tk_portable, tk_avx2, tk_avx512;

/// The table in use.
const tk_kernels *tk_best(void);

#endif
