// Attention of a few queries over many keys: keys and values are read where they are, a range of
// keys is a task, and the ranges' results are combined afterwards.
#include <math.h>
#include <string.h>

#include "attention.h"

enum { RANGE_KEYS = 128, HEADS_AT_ONCE = 4 };

typedef struct {
  const tk_kernels *kernels;
  const tk_attention *p;
  size_t heads;       // of one group
  size_t ranges;      // of one token's keys
  float *query;       // [tokens][heads of all groups][size], scaled
  float *partial;     // [token][group][range][head of the group][size]
  float *peaks;       // [token][group][range][head of the group][peak, sum]
  float *perWorker;   // scores [4][keys], weights [keys][4], widened keys and values
} few_job;

static size_t worker_floats(const tk_attention *p) {
  size_t wide = p->pastIsHalf ? 2 * RANGE_KEYS * p->size : 0;
  return 2 * HEADS_AT_ONCE * RANGE_KEYS + wide;
}


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

/// Rows that lie one after the other at some stride.
typedef struct {
  const float *first;
  size_t stride;
} run;

/// Keys or values of a range: as they are, or widened ahead of time.
typedef struct {
  const void *past;
  const float *new;
  const float *wide;  // [keys][size] from the range's first position, NULL where nothing was widened
} run_source;

/// Rows from `position` on that lie one after the other, at most `count`.
static run run_at(const tk_attention *p, const run_source *from, size_t group, int64_t start,
                  int64_t position, size_t *count) {
  size_t stride = p->groups * p->size, offset = group * p->size;
  if (position >= p->position)
    return (run){from->new + (size_t)(position - p->position) * stride + offset, stride};
  size_t row = (size_t)(position % (int64_t)p->pastRows);
  *count = min_size(*count, (size_t)(p->position - position));
  if (from->wide) return (run){from->wide + (size_t)(position - start) * p->size, p->size};
  *count = min_size(*count, p->pastRows - row);
  return (run){(const float *)from->past + row * stride + offset, stride};
}

/// Widens the past rows of a range.
static void widen(const few_job *job, run_source *rows, size_t group, int64_t from, size_t keys,
                  float *wide) {
  const tk_attention *p = job->p;
  size_t stride = p->groups * p->size;
  for (size_t k = 0; k < keys && from + (int64_t)k < p->position; k++) {
    size_t row = (size_t)((from + (int64_t)k) % (int64_t)p->pastRows);
    const uint16_t *half = (const uint16_t *)rows->past + row * stride + group * p->size;
    job->kernels->rows.widenHalf(half, wide + k * p->size, p->size);
  }
  rows->wide = wide;
}

static void score(const few_job *job, const run_source *k, const run_source *v, const float *query,
                  size_t heads, size_t group, int64_t from, size_t keys, float *scores) {
  const tk_attention *p = job->p;
  for (size_t done = 0; done < keys;) {
    size_t count = keys - done, same = count;
    int64_t position = from + (int64_t)done;
    run key = run_at(p, k, group, from, position, &count);
    run value = run_at(p, v, group, from, position, &same);
    job->kernels->dotRows(query, p->size, heads, key.first, key.stride, count, p->size, value.first,
                          scores + done, RANGE_KEYS);
    done += count;
  }
}

/// Sums of the values of some keys, weighted for up to four heads.
static void gather(const few_job *job, const run_source *v, const float *weights, size_t heads,
                   size_t group, int64_t from, size_t keys, float *out) {
  const tk_attention *p = job->p;
  for (size_t done = 0; done < keys;) {
    size_t count = keys - done;
    run value = run_at(p, v, group, from, from + (int64_t)done, &count);
    for (size_t e = 0; e < p->size; e += (size_t)job->kernels->tileColumns)
      job->kernels->tile((int)heads, count, weights + done * HEADS_AT_ONCE, HEADS_AT_ONCE,
                         value.first + e, value.stride, out + e, p->size, done > 0);
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
  from += (int64_t)(range * RANGE_KEYS);
  size_t keys = from < to ? min_size(RANGE_KEYS, (size_t)(to - from)) : 0;
  float *scores = job->perWorker + (size_t)worker * worker_floats(p);
  float *weights = scores + HEADS_AT_ONCE * RANGE_KEYS;
  float *wide = weights + HEADS_AT_ONCE * RANGE_KEYS;
  run_source k = {p->pastKeys, p->keys, NULL}, v = {p->pastValues, p->values, NULL};
  if (p->pastIsHalf) {
    widen(job, &k, group, from, keys, wide);
    widen(job, &v, group, from, keys, wide + RANGE_KEYS * p->size);
  }
  for (size_t h = 0; h < job->heads; h += HEADS_AT_ONCE) {
    size_t heads = min_size(HEADS_AT_ONCE, job->heads - h);
    size_t first = (size_t)task * job->heads + h;
    float *peaks = job->peaks + first * 2;
    for (size_t i = 0; i < heads; i++) {
      peaks[2 * i] = -INFINITY;
      peaks[2 * i + 1] = 0;
    }
    if (!keys) continue;
    const float *query = job->query + (token * p->heads + group * job->heads + h) * p->size;
    score(job, &k, &v, query, heads, group, from, keys, scores);
    if (p->mask) {
      const float *mask = p->mask + token * p->maskStride + from;
      for (size_t i = 0; i < heads; i++)
        for (size_t k = 0; k < keys; k++) scores[i * RANGE_KEYS + k] += mask[k];
    }
    for (size_t i = 0; i < heads; i++)
      job->kernels->exponents(scores + i * RANGE_KEYS, keys, peaks + 2 * i, peaks + 2 * i + 1);
    for (size_t k = 0; k < keys; k++)
      for (size_t i = 0; i < heads; i++)
        weights[k * HEADS_AT_ONCE + i] = scores[i * RANGE_KEYS + k];
    gather(job, &v, weights, heads, group, from, keys, job->partial + first * p->size);
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
  job.ranges = (keys + RANGE_KEYS - 1) / RANGE_KEYS;
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
  return (floats + (size_t)tk_pool_threads(pool) * worker_floats(p)) * sizeof(float);
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
  tk_pool_run(pool, (int)(p->tokens * p->heads), combine_task, &job);
}
