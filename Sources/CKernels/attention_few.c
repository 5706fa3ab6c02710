// Attention of a few queries over many keys: keys and values are read where they are, a range of
// keys is a task, and the ranges' results are combined afterwards.
#include <math.h>
#include <string.h>

#include "attention.h"

// Most keys of a range, and keys below which dividing them costs more than it gains.
enum { RANGE_KEYS = 128, FEW_KEYS = 32 };
// Keys whose values are summed at once: few enough to stay in the first-level cache.
enum { GATHERED_KEYS = 8 };
// Numbers below which the caller combines the ranges alone.
enum { FEW_NUMBERS = 1 << 15 };

typedef struct {
  const tk_kernels *kernels;
  const tk_attention *p;
  size_t heads;       // of one group
  size_t ranges;      // of one token's keys, an even number where there is more than one
  size_t rangeKeys;   // keys of a range
  float *query;       // [tokens][heads of all groups][size], scaled
  float *partial;     // [token][group][range][head of the group][size]
  float *peaks;       // [token][group][range][head of the group][peak, sum]
  float *perWorker;   // scores [heads at once][keys], weights [keys][heads at once]
} few_job;

enum { WORKER_FLOATS = 2 * TK_HEADS * RANGE_KEYS };

bool tk_attends_few(const tk_kernels *kernels, const tk_attention *p) {
  return p->tokens <= 4 && !p->blocks && p->size % (size_t)kernels->tileColumns == 0;
}

/// First and past-the-last position that a token sees.
static void seen(const tk_attention *p, size_t token, int64_t *from, int64_t *to) {
  *from = tk_first_position(p);
  *to = p->position + (int64_t)p->newRows;
  if (p->mask) {
    size_t low, high;
    tk_masked_range(p, token, &low, &high);
    *from = (int64_t)low;
    *to = (int64_t)high;
  }
  if (!p->causal) return;
  int64_t own = p->queryPosition + (int64_t)token;
  if (own + 1 < *to) *to = own + 1;
  if (p->window > 0 && own - p->window + 1 > *from) *from = own - p->window + 1;
  if (*from > *to) *from = *to;
}

/// Rows of keys or values that lie one after the other at some stride.
typedef struct {
  const void *first;
  size_t stride;
  bool half;
} run;

/// Rows from `position` on that lie one after the other, at most `count`.
static run run_at(const tk_attention *p, const void *past, const float *new, size_t group,
                  int64_t position, size_t *count) {
  size_t stride = p->groups * p->size, offset = group * p->size;
  if (position >= p->position)
    return (run){new + (size_t)(position - p->position) * stride + offset, stride, false};
  size_t row = (size_t)(position % (int64_t)p->pastRows), start = row * stride + offset;
  *count = min_size(*count, min_size((size_t)(p->position - position), p->pastRows - row));
  if (p->pastIsHalf) return (run){(const uint16_t *)past + start, stride, true};
  return (run){(const float *)past + start, stride, false};
}

static run values_at(const few_job *job, size_t group, int64_t position, size_t *count) {
  return run_at(job->p, job->p->pastValues, job->p->values, group, position, count);
}

/// Asks for the lines of numbers `at` to `end` of some rows that are read soon.
static void ask(run rows, size_t count, size_t at, size_t end) {
  size_t bytes = rows.half ? 2 : 4;
  for (size_t i = 0; i < count; i++) {
    const char *row = (const char *)rows.first + i * rows.stride * bytes;
    for (size_t k = round_up(at * bytes, 64); k < end * bytes; k += 64)
      __builtin_prefetch(row + k, 0, 3);
  }
}

static void score(const few_job *job, const float *query, size_t heads, size_t group, int64_t from,
                  size_t keys, float *scores) {
  const tk_attention *p = job->p;
  size_t few = min_size(GATHERED_KEYS, keys);
  run value = values_at(job, group, from, &few);
  ask(value, few, 0, p->size);
  for (size_t done = 0; done < keys;) {
    size_t count = keys - done;
    run key = run_at(p, p->pastKeys, p->keys, group, from + (int64_t)done, &count);
    job->kernels->dotRows(query, p->size, heads, key.first, key.half, key.stride, count, p->size,
                          scores + done, RANGE_KEYS);
    done += count;
  }
}

/// Sums of the values of some keys, weighted for some heads: a few keys at a time, while those
/// after them are asked for.
static void weigh(const few_job *job, const float *weights, size_t heads, size_t group,
                   int64_t from, size_t keys, float *out) {
  const tk_attention *p = job->p;
  const tk_kernels *kernels = job->kernels;
  const size_t width = (size_t)kernels->tileColumns;
  for (size_t done = 0; done < keys;) {
    size_t count = min_size(GATHERED_KEYS, keys - done);
    run value = values_at(job, group, from + (int64_t)done, &count);
    const float *own = weights + done * TK_HEADS;
    size_t after = done + count, few = min_size(GATHERED_KEYS, keys - after);
    run next = few ? values_at(job, group, from + (int64_t)after, &few) : value;
    for (size_t e = 0; e < p->size; e += width) {
      ask(next, few, e, e + width);
      if (value.half)
        kernels->tileHalves((int)heads, count, own, TK_HEADS, (const uint16_t *)value.first + e,
                            value.stride, out + e, p->size, done > 0);
      else
        kernels->tile((int)heads, count, own, TK_HEADS, (const float *)value.first + e,
                      value.stride, out + e, p->size, done > 0);
    }
    done += count;
  }
}

static void range_task(void *context, int task, int worker) {
  few_job *job = context;
  const tk_attention *p = job->p;
  size_t range = (size_t)task % job->ranges, group = (size_t)task / job->ranges % p->groups;
  size_t token = (size_t)task / job->ranges / p->groups;
  int64_t from, to;
  seen(p, token, &from, &to);
  from += (int64_t)(range * job->rangeKeys);
  size_t keys = from < to ? min_size(job->rangeKeys, (size_t)(to - from)) : 0;
  float *scores = job->perWorker + (size_t)worker * WORKER_FLOATS;
  float *weights = scores + TK_HEADS * RANGE_KEYS;
  size_t atOnce = (size_t)job->kernels->heads;
  for (size_t h = 0; h < job->heads; h += atOnce) {
    size_t heads = min_size(atOnce, job->heads - h);
    size_t first = (size_t)task * job->heads + h;
    float *peaks = job->peaks + first * 2;
    for (size_t i = 0; i < heads; i++) {
      peaks[2 * i] = -INFINITY;
      peaks[2 * i + 1] = 0;
    }
    if (!keys) continue;
    const float *query = job->query + (token * p->heads + group * job->heads + h) * p->size;
    score(job, query, heads, group, from, keys, scores);
    if (p->mask) {
      const float *mask = p->mask + token * p->maskStride + from;
      for (size_t i = 0; i < heads; i++)
        for (size_t k = 0; k < keys; k++) scores[i * RANGE_KEYS + k] += mask[k];
    }
    for (size_t i = 0; i < heads; i++)
      job->kernels->exponents(scores + i * RANGE_KEYS, keys, peaks + 2 * i, peaks + 2 * i + 1);
    for (size_t k = 0; k < keys; k++)
      for (size_t i = 0; i < heads; i++)
        weights[k * TK_HEADS + i] = scores[i * RANGE_KEYS + k];
    weigh(job, weights, heads, group, from, keys, job->partial + first * p->size);
  }
}

/// Brings the ranges of one head of one token together.
static void combine_task(void *context, int task, int worker) {
  (void)worker;
  few_job *job = context;
  const tk_attention *p = job->p;
  size_t token = (size_t)task / p->heads, head = (size_t)task % p->heads;
  size_t group = head / job->heads, inner = head % job->heads;
  size_t first = (token * p->groups + group) * job->ranges;
  float *out = p->out + (size_t)task * p->size, peak = -INFINITY, sum = 0;
  for (size_t r = 0; r < job->ranges; r++) {
    float own = job->peaks[((first + r) * job->heads + inner) * 2];
    // NaN stays.
    if (!(own <= peak)) peak = own;
  }
  memset(out, 0, p->size * sizeof *out);
  for (size_t r = 0; r < job->ranges; r++) {
    size_t index = (first + r) * job->heads + inner;
    if (job->peaks[index * 2 + 1] == 0) continue;
    float factor = expf(job->peaks[index * 2] - peak);
    sum += factor * job->peaks[index * 2 + 1];
    job->kernels->accumulate(out, job->partial + index * p->size, factor, p->size);
  }
  job->kernels->rows.affine(out, out, 1 / sum, 0, p->size);
}

static few_job plan(const tk_pool *pool, const tk_attention *p, size_t keys, float *scratch) {
  few_job job = {.kernels = tk_pool_kernels(pool), .p = p, .heads = p->heads / p->groups};
  job.ranges = keys > FEW_KEYS ? round_up((keys + RANGE_KEYS - 1) / RANGE_KEYS, 2) : 1;
  job.rangeKeys = round_up((keys + job.ranges - 1) / job.ranges, 2);
  size_t parts = p->tokens * p->heads * job.ranges;
  job.query = scratch;
  job.partial = job.query + p->tokens * p->heads * p->size;
  job.peaks = job.partial + parts * p->size;
  job.perWorker = job.peaks + (parts * 2 + 15) / 16 * 16;
  return job;
}

size_t tk_few_scratch(const tk_pool *pool, const tk_attention *p) {
  few_job job = plan(pool, p, p->pastRows + p->newRows, NULL);
  size_t floats = (size_t)(job.perWorker - job.query);
  return (floats + (size_t)tk_pool_threads(pool) * WORKER_FLOATS) * sizeof(float);
}

void tk_attend_few(tk_pool *pool, const tk_attention *p, void *scratch) {
  size_t keys = 1;
  for (size_t token = 0; token < p->tokens; token++) {
    int64_t from, to;
    seen(p, token, &from, &to);
    if ((size_t)(to - from) > keys) keys = (size_t)(to - from);
  }
  few_job job = plan(pool, p, keys, scratch);
  job.kernels->rows.affine(p->query, job.query, p->scale, 0, p->tokens * p->heads * p->size);
  tk_pool_run(pool, (int)(p->tokens * p->groups * job.ranges), range_task, &job);
  int rows = (int)(p->tokens * p->heads);
  if ((size_t)rows * job.ranges * p->size > FEW_NUMBERS) {
    tk_pool_run(pool, rows, combine_task, &job);
    return;
  }
  for (int row = 0; row < rows; row++) combine_task(&job, row, 0);
}
