// Attention as two tiled products with the softmax between them, keys down and queries across:
// each column of the score matrix is one query, so the softmax never folds a vector.
#include <math.h>
#include <string.h>

#include "attention.h"

typedef struct {
  const tk_kernels *kernels;
  const tk_attention *p;
  int64_t first;      // position of the first packed key
  size_t keys;        // packed keys
  size_t keyTiles;
  float *packedKeys;  // [group][tile][size][tileRows]
  float *values;      // [group][key][size]
  float *perWorker;
  size_t workerFloats;
} attention_job;

static int64_t max_int(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t tk_first_position(const tk_attention *p) {
  if (!p->pastRows) return p->position;
  int64_t oldest = max_int(p->position - (int64_t)p->pastRows, 0);
  if (p->window > 0) oldest = max_int(oldest, p->queryPosition - p->window + 1);
  return oldest < p->position ? oldest : p->position;
}

static size_t key_count(const tk_attention *p) {
  return (size_t)(p->position - tk_first_position(p)) + p->newRows;
}

/// Rows of neighbouring positions, from the ring of the past or from the new ones.
static void copy_rows(const attention_job *job, const void *past, const float *new, size_t first,
                      size_t count, size_t group, float *out) {
  const tk_attention *p = job->p;
  size_t stride = p->groups * p->size, from = group * p->size;
  for (size_t i = 0; i < count; i++, out += p->size) {
    int64_t position = job->first + (int64_t)(first + i);
    bool isNew = position >= p->position;
    size_t row = (size_t)(isNew ? position - p->position : position % (int64_t)p->pastRows);
    if (!isNew && p->pastIsHalf)
      job->kernels->rows.widenHalf((const uint16_t *)past + row * stride + from, out, p->size);
    else
      memcpy(out, (isNew ? new : (const float *)past) + row * stride + from,
             p->size * sizeof *out);
  }
}

/// A tile of keys of every group, spread, and their values.
static void pack_keys(void *context, int task, int worker) {
  (void)worker;
  attention_job *job = context;
  const tk_attention *p = job->p;
  size_t tileRows = (size_t)job->kernels->tileRows, size = p->size;
  size_t first = (size_t)task * tileRows, count = min_size(tileRows, job->keys - first);
  for (size_t group = 0; group < p->groups; group++) {
    float *rows = job->values + (group * job->keys + first) * size;
    float *out = job->packedKeys + (group * job->keyTiles + (size_t)task) * size * tileRows;
    // The values' place holds the keys until they have been spread.
    copy_rows(job, p->pastKeys, p->keys, first, count, group, rows);
    job->kernels->packRows(rows, size, count, size, out);
    copy_rows(job, p->pastValues, p->values, first, count, group, rows);
  }
}

void tk_masked_range(const tk_attention *p, size_t token, size_t *from, size_t *to) {
  const float *mask = p->mask + token * p->maskStride;
  size_t keys = p->pastRows + p->newRows, first = 0, last = keys;
  while (first < keys && mask[first] < TK_HIDDEN) first++;
  while (last > first && mask[last - 1] < TK_HIDDEN) last--;
  bool seesNone = first == keys;
  *from = seesNone ? 0 : first;
  *to = seesNone ? keys : last;
}

/// Adds a mask: column c of the scores is query `first + c`.
static void add_mask(const attention_job *job, float *scores, size_t from, size_t keys,
                     size_t first, size_t columns) {
  const tk_attention *p = job->p;
  size_t heads = p->heads / p->groups, width = (size_t)job->kernels->tileColumns;
  for (size_t c = 0; c < columns; c++) {
    const float *mask = p->mask + (first + c) / heads * p->maskStride + from;
    for (size_t k = 0; k < keys; k++) scores[k * width + c] += mask[k];
  }
}

/// Hides what a query must not see: column c of the scores is query `first + c`.
static void mask(const attention_job *job, float *scores, size_t from, size_t keys, size_t first,
                 size_t columns) {
  const tk_attention *p = job->p;
  size_t heads = p->heads / p->groups, width = (size_t)job->kernels->tileColumns;
  for (size_t c = 0; c < columns; c++) {
    int64_t own = p->queryPosition + (int64_t)((first + c) / heads);
    int64_t row = own - p->position;
    int32_t block = p->blocks && row >= 0 && row < (int64_t)p->newRows ? p->blocks[row] : 0;
    int64_t start = job->first + (int64_t)from;
    int64_t oldest = p->window > 0 ? own - p->window + 1 : INT64_MIN;
    for (size_t k = 0; k < keys; k++) {
      int64_t position = start + (int64_t)k, index = position - p->position;
      bool seen = position <= own || (block > 0 && index >= 0 && p->blocks[index] == block);
      if (!seen || position < oldest) scores[k * width + c] = -INFINITY;
      if (position >= oldest && position <= own) {
        // Everything up to the query itself is visible: go on behind it.
        int64_t skip = own - position;
        k += (size_t)skip < keys - k ? (size_t)skip : keys - k - 1;
      }
    }
  }
}

/// Keys that the queries of one block of columns may see.
static void visible(const attention_job *job, size_t first, size_t columns, size_t *from,
                    size_t *to) {
  const tk_attention *p = job->p;
  size_t heads = p->heads / p->groups;
  *from = 0;
  *to = job->keys;
  if (p->mask) {
    *from = job->keys;
    *to = 0;
    for (size_t token = first / heads; token <= (first + columns - 1) / heads; token++) {
      size_t low, high;
      tk_masked_range(p, token, &low, &high);
      *from = min_size(*from, low);
      if (high > *to) *to = high;
    }
  }
  if (!p->causal) return;
  int64_t lowest = p->queryPosition + (int64_t)(first / heads);
  int64_t highest = p->queryPosition + (int64_t)((first + columns - 1) / heads);
  if (p->window > 0) *from = (size_t)max_int(lowest - p->window + 1 - job->first, 0);
  if (!p->blocks) *to = min_size(job->keys, (size_t)max_int(highest - job->first + 1, 0));
  if (*from > *to) *from = *to;
}

/// Where the row of one of a group's queries begins, in the queries and in the result.
static size_t row_of(const tk_attention *p, size_t group, size_t index) {
  size_t heads = p->heads / p->groups;
  return (index / heads * p->heads + group * heads + index % heads) * p->size;
}

/// Queries across, scaled: `[size][width]`; `rows` is room for as many numbers.
static void queries_across(const attention_job *job, size_t group, size_t first, size_t columns,
                           float *rows, float *out) {
  const tk_attention *p = job->p;
  size_t width = (size_t)job->kernels->tileColumns, size = p->size;
  for (size_t c = 0; c < columns; c++)
    job->kernels->rows.affine(p->query + row_of(p, group, first + c), rows + c * size, p->scale, 0,
                              size);
  for (size_t c = columns; c < width; c++) memcpy(rows + c * size, rows, size * sizeof *rows);
  job->kernels->transpose(rows, size, width, size, out);
}

/// Results from across, each divided by its sum; `block` is room for width · width.
static void results_from(const attention_job *job, size_t group, size_t first, size_t columns,
                         const float *across, const float *inverse, float *block) {
  const tk_attention *p = job->p;
  size_t width = (size_t)job->kernels->tileColumns;
  for (size_t e = 0; e < p->size; e += width) {
    size_t count = min_size(width, p->size - e);
    job->kernels->transpose(across + e * width, width, count, width, block);
    for (size_t c = 0; c < columns; c++)
      job->kernels->rows.affine(block + c * width, p->out + row_of(p, group, first + c) + e,
                                inverse[c], 0, count);
  }
}

static void attend_task(void *context, int task, int worker) {
  attention_job *job = context;
  const tk_attention *p = job->p;
  const tk_kernels *kernels = job->kernels;
  size_t tileRows = (size_t)kernels->tileRows, width = (size_t)kernels->tileColumns;
  size_t heads = p->heads / p->groups, queries = p->tokens * heads, size = p->size;
  size_t blocks = (queries + width - 1) / width;
  size_t group = (size_t)task / blocks, first = (size_t)task % blocks * width;
  size_t columns = min_size(width, queries - first), from, to;
  visible(job, first, columns, &from, &to);
  from = from / tileRows * tileRows;

  float *query = job->perWorker + (size_t)worker * job->workerFloats;  // [size][width]
  float *out = query + size * width;                                   // [size][width]
  float *inverse = out + size * width;
  float *scores = inverse + width;  // [keys][width]
  queries_across(job, group, first, columns, out, query);
  for (size_t k = from; k < to; k += tileRows)
    kernels->tile((int)min_size(tileRows, to - k), size,
                  job->packedKeys + (group * job->keyTiles + k / tileRows) * size * tileRows,
                  tileRows, query, width, scores + (k - from) * width, width, false);
  if (p->causal) mask(job, scores, from, to - from, first, columns);
  if (p->mask) add_mask(job, scores, from, to - from, first, columns);
  kernels->columnSoftmax(scores, to - from, inverse);
  const float *values = job->values + (group * job->keys + from) * size;
  for (size_t e = 0; e < size; e += tileRows)
    kernels->tile((int)min_size(tileRows, size - e), to - from, values + e, size, scores,
                  width, out + e * width, width, false);
  results_from(job, group, first, columns, out, inverse, scores);
}

static attention_job plan(const tk_kernels *kernels, const tk_attention *p) {
  attention_job job = {.kernels = kernels, .p = p};
  job.first = tk_first_position(p);
  job.keys = key_count(p);
  size_t tileRows = (size_t)job.kernels->tileRows, width = (size_t)job.kernels->tileColumns;
  job.keyTiles = (job.keys + tileRows - 1) / tileRows;
  size_t scores = job.keyTiles * tileRows * width, block = width * width;
  job.workerFloats = 2 * p->size * width + width + (scores > block ? scores : block);
  return job;
}

static size_t packed_floats(const attention_job *job) {
  size_t keys = job->keyTiles * (size_t)job->kernels->tileRows * job->p->size * job->p->groups;
  return (keys + job->keys * job->p->size * job->p->groups + 15) / 16 * 16;
}

size_t tk_attention_scratch(const tk_pool *pool, const tk_attention *p) {
  size_t few = tk_attends_few(tk_pool_kernels(pool), p) ? tk_few_scratch(pool, p) : 0;
  // The most keys any position can bring.
  tk_attention worst = *p;
  worst.position = (int64_t)p->pastRows;
  worst.window = 0;
  attention_job job = plan(tk_pool_kernels(pool), &worst);
  size_t floats = packed_floats(&job) + (size_t)tk_pool_threads(pool) * job.workerFloats;
  return floats * sizeof(float) > few ? floats * sizeof(float) : few;
}

void tk_attend(tk_pool *pool, const tk_attention *p, void *scratch) {
  if (tk_attends_few(tk_pool_kernels(pool), p)) {
    tk_attend_few(pool, p, scratch);
    return;
  }
  attention_job job = plan(tk_pool_kernels(pool), p);
  size_t tileRows = (size_t)job.kernels->tileRows, width = (size_t)job.kernels->tileColumns;
  job.packedKeys = scratch;
  job.values = job.packedKeys + job.keyTiles * tileRows * p->size * p->groups;
  job.perWorker = job.packedKeys + packed_floats(&job);
  tk_pool_run(pool, (int)job.keyTiles, pack_keys, &job);
  size_t blocks = (p->tokens * (p->heads / p->groups) + width - 1) / width;
  tk_pool_run(pool, (int)(p->groups * blocks), attend_task, &job);
}

// MARK: - Local attention with relative keys

typedef struct {
  const tk_kernels *kernels;
  const tk_banded *p;
} banded_job;

static void banded_task(void *context, int task, int worker) {
  (void)worker;
  const banded_job *job = context;
  const tk_banded *p = job->p;
  size_t row = (size_t)task, stride = p->heads * p->size;
  size_t first = row + 1 > p->window ? row + 1 - p->window : 0;
  for (size_t h = 0; h < p->heads; h++) {
    const float *q = p->query + row * stride + h * p->size;
    float *out = p->out + row * stride + h * p->size;
    float scores[p->window];
    size_t keys = 0;
    float peak = -INFINITY, sum = 0;
    for (size_t j = first; j <= row && j < p->count; j++, keys++) {
      float score = job->kernels->product(q, p->keys + j * stride + h * p->size, p->size) +
                    job->kernels->product(q, p->relative + (row - j) * stride + h * p->size,
                                          p->size);
      scores[keys] = p->softcap * tanhf(score / p->softcap);
      peak = fmaxf(peak, scores[keys]);
    }
    memset(out, 0, p->size * sizeof *out);
    for (size_t k = 0; k < keys; k++) sum += scores[k] = expf(scores[k] - peak);
    for (size_t k = 0; k < keys; k++)
      job->kernels->accumulate(out, p->values + (first + k) * stride + h * p->size,
                               scores[k] / sum, p->size);
  }
}

void tk_attend_banded(tk_pool *pool, const tk_banded *p) {
  banded_job job = {tk_pool_kernels(pool), p};
  tk_pool_run(pool, (int)p->tokens, banded_task, &job);
}
