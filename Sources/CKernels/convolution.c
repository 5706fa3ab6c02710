// Convolutions of the audio tower and rotary tables.
#include <math.h>
#include <string.h>

#include "kernels.h"

enum { CONV_ROWS = 8 };

static size_t conv_height(const tk_conv *p) {
  return (p->height + 2 * p->padding - p->kernelHeight) / p->stride + 1;
}
static size_t conv_width(const tk_conv *p) {
  return (p->width + 2 * p->padding - p->kernelWidth) / p->stride + 1;
}
static size_t conv_depth(const tk_conv *p) {
  return p->channels * p->kernelHeight * p->kernelWidth;
}
static tk_matrix conv_matrix(const tk_conv *p) {
  return (tk_matrix){p->weight, TK_F32, p->outputs, conv_depth(p)};
}

size_t tk_conv_scratch(const tk_pool *pool, const tk_conv *p) {
  size_t rows = CONV_ROWS * conv_width(p);
  tk_matrix w = conv_matrix(p);
  return rows * conv_depth(p) * sizeof(float) + tk_linear_scratch(pool, rows, &w);
}

typedef struct {
  const tk_conv *p;
  size_t firstRow;
  float *columns;
} unfold_job;

/// Lays out what each output position of one row sees.
static void unfold_task(void *context, int task, int worker) {
  (void)worker;
  const unfold_job *job = context;
  const tk_conv *p = job->p;
  size_t width = conv_width(p), depth = conv_depth(p), area = p->kernelHeight * p->kernelWidth;
  size_t row = job->firstRow + (size_t)task;
  for (size_t column = 0; column < width; column++) {
    float *out = job->columns + ((size_t)task * width + column) * depth;
    memset(out, 0, depth * sizeof *out);
    for (size_t i = 0; i < p->kernelHeight; i++)
      for (size_t j = 0; j < p->kernelWidth; j++) {
        size_t r = row * p->stride + i, c = column * p->stride + j;
        if (r < p->padding || c < p->padding) continue;
        r -= p->padding;
        c -= p->padding;
        if (r >= p->height || c >= p->width) continue;
        const float *x = p->x + (r * p->width + c) * p->channels;
        float *cell = out + i * p->kernelWidth + j;
        for (size_t channel = 0; channel < p->channels; channel++)
          cell[channel * area] = x[channel];
      }
  }
}

void tk_conv2d(tk_pool *pool, const tk_conv *p, void *scratch) {
  size_t height = conv_height(p), width = conv_width(p), depth = conv_depth(p);
  tk_matrix w = conv_matrix(p);
  for (size_t row = 0; row < height; row += CONV_ROWS) {
    size_t rows = height - row < CONV_ROWS ? height - row : CONV_ROWS;
    unfold_job job = {p, row, scratch};
    tk_pool_run(pool, (int)rows, unfold_task, &job);
    tk_linear(pool, scratch, rows * width, &w, NULL, p->y + row * width * p->outputs,
              (float *)scratch + CONV_ROWS * width * depth);
  }
}

typedef struct {
  const float *x;
  const float *weight;
  float *y;
  size_t channels, taps;
} depthwise_job;

static void depthwise_task(void *context, int task, int worker) {
  (void)worker;
  const depthwise_job *job = context;
  size_t row = (size_t)task, channels = job->channels;
  float *y = job->y + row * channels;
  memset(y, 0, channels * sizeof *y);
  for (size_t j = 0; j < job->taps; j++) {
    if (row + j + 1 < job->taps) continue;
    const float *x = job->x + (row + j + 1 - job->taps) * channels;
    for (size_t c = 0; c < channels; c++) y[c] += job->weight[c * job->taps + j] * x[c];
  }
}

void tk_depthwise(tk_pool *pool, const float *x, const float *weight, float *y, size_t rows,
                  size_t channels, size_t taps) {
  depthwise_job job = {x, weight, y, channels, taps};
  tk_pool_run(pool, (int)rows, depthwise_task, &job);
}

void tk_rotary_table(const int32_t *positions, size_t count, size_t axes, const float *rates,
                     size_t pairs, float *out) {
  for (size_t i = 0; i < count * axes; i++, out += 2 * pairs)
    for (size_t j = 0; j < pairs; j++) {
      double angle = (double)((float)positions[i] * rates[j]);
      out[j] = (float)cos(angle);
      out[pairs + j] = (float)sin(angle);
    }
}
