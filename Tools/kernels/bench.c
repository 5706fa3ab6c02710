// Times the kernels against this machine's limits and against OpenBLAS, one line per measurement.
// Run it through bench.sh.
#include <cblas.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "CKernels.h"

void openblas_set_num_threads(int threads);

/// Processor time of one thread, wall time of several: other work on the machine then matters less.
static clockid_t watch = CLOCK_MONOTONIC;

static double now(void) {
  struct timespec t;
  clock_gettime(watch, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *reserve(size_t bytes) {
  size_t size = (bytes + (2u << 20)) >> 21 << 21;
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(1);
  madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

static float noise(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (float)(int32_t)(*state >> 32) * 0x1p-31f;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef void (*work)(void *);
static double timed(work body, void *context) {
  double start = now();
  body(context);
  return now() - start;
}

/// Seconds of the best run of at least so many, and of at least a third of a second, after one that
/// warms up: other work comes and goes within that time.
static double best(work body, void *context, int runs) {
  double least = 1e9;
  body(context);
  double total = 0;
  for (int i = 0; i < runs || total < 0.33; i++) {
    double seconds = timed(body, context);
    total += seconds;
    if (seconds < least) least = seconds;
  }
  return least;
}

/// Median of the times of `other` over those of `body`, run in turn.
static double ratio(work body, work other, void *context, int runs) {
  double ratios[64];
  body(context);
  other(context);
  for (int i = 0; i < runs; i++) {
    double seconds = timed(body, context);
    ratios[i] = timed(other, context) / seconds;
  }
  qsort(ratios, (size_t)runs, sizeof *ratios, ascending);
  return ratios[runs / 2];
}

// MARK: - Limits

enum { PEAK_STEPS = 4 << 20 };
static volatile float sink;

__attribute__((target("avx2,fma"))) static void peak_avx2(void) {
  __m256 s[12], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-3f);
  for (int i = 0; i < 12; i++) s[i] = y;
  for (int k = 0; k < PEAK_STEPS; k++)
    for (int i = 0; i < 12; i++) s[i] = _mm256_fmadd_ps(s[i], x, y);
  for (int i = 1; i < 12; i++) s[0] = _mm256_add_ps(s[0], s[i]);
  sink = s[0][0];
}

__attribute__((target("avx512f"))) static void peak_avx512(void) {
  __m512 s[12], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f);
  for (int i = 0; i < 12; i++) s[i] = y;
  for (int k = 0; k < PEAK_STEPS; k++)
    for (int i = 0; i < 12; i++) s[i] = _mm512_fmadd_ps(s[i], x, y);
  for (int i = 1; i < 12; i++) s[0] = _mm512_add_ps(s[0], s[i]);
  sink = s[0][0];
}

__attribute__((target("avx2"))) static void read_run(const char *p, size_t bytes) {
  __m256i s[8] = {0};
  for (size_t i = 0; i < bytes; i += 256) {
    for (int j = 0; j < 4; j++) _mm_prefetch(p + i + 8192 + j * 64, _MM_HINT_T0);
    for (int j = 0; j < 8; j++)
      s[j] = _mm256_add_epi32(s[j], _mm256_load_si256((const __m256i *)(p + i + j * 32)));
  }
  for (int j = 1; j < 8; j++) s[0] = _mm256_add_epi32(s[0], s[j]);
  sink = (float)_mm256_extract_epi32(s[0], 0);
}

typedef struct {
  tk_pool *pool;
  char *memory;
  bool wide;
} limit;
static void peak_task(void *context, int task, int worker) {
  (void)task, (void)worker;
  if (((limit *)context)->wide) peak_avx512();
  else peak_avx2();
}
static void peak_all(void *context) {
  limit *l = context;
  tk_pool_run(l->pool, tk_pool_threads(l->pool), peak_task, l);
}
static void read_task(void *context, int task, int worker) {
  (void)worker;
  read_run(((limit *)context)->memory + ((size_t)task << 22), (size_t)1 << 22);
}
static void read_all(void *context) {
  limit *l = context;
  tk_pool_run(l->pool, 256, read_task, l);
}
static void nothing(void *context, int task, int worker) {
  (void)context, (void)task, (void)worker;
}
static void empty_loops(void *context) {
  limit *l = context;
  for (int i = 0; i < 1000; i++) tk_pool_run(l->pool, 64, nothing, l);
}

static void limits(tk_pool *pool, bool wide) {
  limit l = {pool, reserve((size_t)1 << 30), wide};
  memset(l.memory, 1, (size_t)1 << 30);
  double flops = 2.0 * (wide ? 16 : 8) * 12 * PEAK_STEPS * tk_pool_threads(pool);
  printf("limits fma %.1f GFLOP/s", flops / best(peak_all, &l, 5) * 1e-9);
  printf("  read %.1f GB/s", 0x1p30 / best(read_all, &l, 7) * 1e-9);
  printf("  empty loop %.2f us\n", best(empty_loops, &l, 5) * 1e3);
  munmap(l.memory, (size_t)1 << 30);
}

// MARK: - Linear layers

typedef struct {
  tk_pool *pool;
  float *x, *y;
  tk_matrix w;
  size_t rows, copies, turn;
  void *scratch;
  size_t bytes;
} linear;

static size_t matrix_bytes(tk_format format, size_t rows, size_t columns) {
  size_t count = rows * columns;
  switch (format) {
    case TK_F32: return count * 4;
    case TK_F16:
    case TK_BF16: return count * 2;
    case TK_INT8_BLOCK32: return count + count / 16;
    case TK_INT8_ROW: return count + rows * 2;
    case TK_INT4_BLOCK32: return count / 2 + count / 16;
    case TK_INT4_PALETTE32: return count / 2 + (rows + 31) / 32 * 32;
  }
  return 0;
}

/// Whether quantised weights meet activations in fixed point.
static bool fixed;

static void linear_run(void *context) {
  linear *l = context;
  tk_matrix w = l->w;
  w.data = (const char *)w.data + l->turn++ % l->copies * l->bytes;
  (fixed ? tk_linear_fixed : tk_linear)(l->pool, l->x, l->rows, &w, NULL, l->y, l->scratch);
}
static void sgemm_run(void *context) {
  linear *l = context;
  int m = (int)l->rows, n = (int)l->w.rows, k = (int)l->w.columns;
  const float *w = (const float *)((const char *)l->w.data + l->turn++ % l->copies * l->bytes);
  if (m == 1)
    cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, w, k, l->x, 1, 0, l->y, 1);
  else
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, l->x, k, w, k, 0, l->y, n);
}

static const char *names[] = {"f32", "f16", "bf16", "int8b", "int8r", "int4b", "int4p"};

static void fill(linear *l, size_t total) {
  uint64_t state = 7;
  size_t count = l->w.rows * l->w.columns;
  char *data = (char *)(uintptr_t)l->w.data;
  if (l->w.format == TK_F32)
    for (size_t i = 0; i < count * l->copies; i++) ((float *)data)[i] = noise(&state) * 0.05f;
  else {
    // 0x2c in every byte is a small number in all the formats; four-bit codes vary.
    memset(data, 0x2c, total);
    bool codes = l->w.format == TK_INT4_BLOCK32 || l->w.format == TK_INT4_PALETTE32;
    for (size_t copy = 0; codes && copy < l->copies; copy++)
      for (size_t i = 0; i < count / 2; i += 4) {
        float value = noise(&state);
        memcpy(data + copy * l->bytes + i, &value, sizeof value);
      }
  }
}

static void linears(tk_pool *pool, size_t rows, size_t n, size_t k, int format, bool cold,
                    int runs) {
  linear l = {pool, reserve(rows * k * 4), reserve(rows * n * 4), {0}, rows, 1, 0, NULL, 0};
  l.w = (tk_matrix){NULL, (tk_format)format, n, k};
  l.bytes = matrix_bytes(l.w.format, n, k);
  if (cold) l.copies = ((size_t)768 << 20) / l.bytes;
  size_t total = l.bytes * l.copies;
  l.w.data = reserve(total);
  uint64_t state = 3;
  for (size_t i = 0; i < rows * k; i++) l.x[i] = noise(&state);
  fill(&l, total);
  size_t scratch = (fixed ? tk_linear_fixed_scratch : tk_linear_scratch)(pool, rows, &l.w);
  l.scratch = reserve(scratch + 64);
  double flops = 2.0 * (double)rows * (double)n * (double)k;
  double seconds = best(linear_run, &l, runs);
  printf("linear %-5s %4zu x %5zu x %5zu  %7.1f GFLOP/s  %6.1f GB/s", names[format], rows, n, k,
         flops / seconds * 1e-9, (double)l.bytes / seconds * 1e-9);
  if (format == TK_F32) {
    printf("   %.2f x openblas", ratio(linear_run, sgemm_run, &l, runs < 9 ? 9 : runs));
  }
  printf("\n");
  fflush(stdout);
  munmap(l.x, rows * k * 4);
  munmap(l.y, rows * n * 4);
  munmap((void *)(uintptr_t)l.w.data, total);
  munmap(l.scratch, scratch + 64);
}

static const size_t shapes[][2] = {{6144, 1536}, {1536, 6144}, {2048, 1536}, {1536, 2048},
                                   {256, 1536},  {1536, 256},  {12288, 1536}, {1536, 12288},
                                   {8960, 1536}, {3072, 768},  {768, 3072},  {768, 768}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void gemm(tk_pool *pool, bool quick) {
  for (int i = 0; i < SHAPES; i++) {
    bool vision = i >= 9;
    if (quick && i != 0 && i != 1 && i != 4 && i < 9) continue;
    linears(pool, vision ? 2304 : 256, shapes[i][0], shapes[i][1], TK_F32, false, 5);
  }
  for (int format = TK_F16; format <= TK_INT4_PALETTE32; format++) {
    linears(pool, 256, 6144, 1536, format, false, 5);
    if (quick) continue;
    linears(pool, 256, 1536, 6144, format, false, 5);
    linears(pool, 512, 6144, 1536, format, false, 5);
  }
}

static void gemv(tk_pool *pool) {
  for (int format = TK_F32; format <= TK_INT4_PALETTE32; format++) {
    linears(pool, 1, 6144, 1536, format, true, 63);
    linears(pool, 1, 1536, 6144, format, true, 63);
    linears(pool, 1, 256, 1536, format, true, 63);
    for (size_t rows = 2; rows <= 4; rows += 2) linears(pool, rows, 6144, 1536, format, true, 31);
  }
}

// MARK: - Attention

typedef struct {
  tk_pool *pool;
  tk_attention p;
  void *scratch;
  // Caches that are read in turn, so that none is in the processor's own.
  size_t copies, turn, cacheBytes;
} attention;
static void attend_run(void *context) {
  attention *a = context;
  tk_attention p = a->p;
  size_t offset = a->turn++ % a->copies * a->cacheBytes;
  if (p.pastKeys) p.pastKeys = (const char *)p.pastKeys + offset;
  if (p.pastValues) p.pastValues = (const char *)p.pastValues + offset;
  tk_attend(a->pool, &p, a->scratch);
}

static float *numbers(size_t count) {
  float *x = reserve(count * 4);
  uint64_t state = 5;
  for (size_t i = 0; i < count; i++) x[i] = noise(&state) * 0.3f;
  return x;
}

static uint16_t *halves(size_t count) {
  uint16_t *x = reserve(count * 2);
  for (size_t i = 0; i < count; i++) x[i] = (uint16_t)(0x3000 + (i * 7919 & 0x8fff));
  return x;
}

static void attend(tk_pool *pool, const char *name, tk_attention p, double pairs, int runs) {
  size_t row = p.groups * p.size;
  p.query = numbers(p.tokens * p.heads * p.size);
  p.keys = numbers(p.newRows * row);
  p.values = numbers(p.newRows * row);
  size_t width = p.pastIsHalf ? 2 : 4, cacheBytes = p.pastRows * row * width;
  size_t copies = p.pastIsHalf ? ((size_t)96 << 20) / cacheBytes + 1 : 1;
  size_t numbersOfPast = copies * p.pastRows * row;
  const void *past[2] = {NULL, NULL};
  for (int i = 0; p.pastRows && i < 2; i++)
    past[i] = p.pastIsHalf ? (const void *)halves(numbersOfPast) : numbers(numbersOfPast);
  p.pastKeys = past[0];
  p.pastValues = past[1];
  p.out = numbers(p.tokens * p.heads * p.size);
  p.scale = 1;
  attention a = {pool, p, reserve(tk_attention_scratch(pool, &p) + 64), copies, 0,
                 cacheBytes};
  double seconds = best(attend_run, &a, runs);
  double flops = 4.0 * pairs * (double)(p.heads * p.size);
  double bytes = 2.0 * (double)width * pairs / (double)p.tokens * (double)row;
  printf("attend %-22s %9.1f us  %7.1f GFLOP/s  %6.1f GB/s\n", name, seconds * 1e6,
         flops / seconds * 1e-9, bytes / seconds * 1e-9);
  fflush(stdout);
}

static void attentions(tk_pool *pool) {
  tk_attention vision = {.tokens = 2304, .heads = 12, .groups = 12, .size = 64, .newRows = 2304};
  attend(pool, "vision 2304", vision, 2304.0 * 2304, 3);
  tk_attention frame = {.tokens = 630, .heads = 12, .groups = 12, .size = 64, .newRows = 630};
  attend(pool, "vision 630", frame, 630.0 * 630, 7);
  for (size_t size = 256; size <= 512; size += 256) {
    tk_attention p = {.tokens = 256, .heads = 8, .groups = 1, .size = size, .newRows = 256,
                      .pastRows = size == 256 ? 512 : 4096, .causal = true,
                      .window = size == 256 ? 512 : 0};
    attend(pool, size == 256 ? "prefill local 256@0" : "prefill full 256@0", p, 256 * 257 / 2, 7);
    p.position = p.queryPosition = 1024;
    attend(pool, size == 256 ? "prefill local @1024" : "prefill full @1024", p,
           256.0 * (size == 256 ? 512 : 1024 + 128), 7);
  }
  size_t lengths[] = {512, 2048, 8192};
  for (int i = 0; i < 3; i++) {
    tk_attention p = {.tokens = 1, .heads = 8, .groups = 1, .size = i ? 512 : 256, .newRows = 1,
                      .pastRows = lengths[i], .causal = true, .window = i ? 0 : 512};
    p.position = p.queryPosition = (int64_t)lengths[i] + (i ? -1 : 333);
    attend(pool, i == 0 ? "decode 512" : i == 1 ? "decode 2048" : "decode 8192", p,
           (double)lengths[i], 31);
    p.pastIsHalf = true;
    attend(pool, i == 0 ? "decode f16 512" : i == 1 ? "decode f16 2048" : "decode f16 8192", p,
           (double)lengths[i], 301);
  }
  tk_attention p = {.tokens = 1, .heads = 8, .groups = 1, .size = 512, .newRows = 1, .pastRows = 2048,
                    .causal = true, .position = 540, .queryPosition = 540, .pastIsHalf = true};
  attend(pool, "decode f16 full 540", p, 541, 301);
}

// MARK: - Rows

typedef struct {
  int kind;
  const float *x, *z;
  float *y;
  size_t rows, width;
} row_job;
static void row_run(void *context) {
  row_job *j = context;
  const tk_rows *t = tk_rows_best();
  size_t count = j->rows * j->width;
  for (int repeat = 0; repeat < 20; repeat++) switch (j->kind) {
      case 0: t->rmsNorm(j->x, j->z, j->y, j->rows, j->width, 1e-6f); break;
      case 1: t->layerNorm(j->x, j->z, j->y, j->rows, j->width, 1e-6f); break;
      case 2: t->softmax(j->x, j->y, j->rows, j->width); break;
      case 3: t->unary(TK_GELU, j->x, j->y, count); break;
      case 4: t->gatedGelu(j->x, j->z, j->y, count); break;
      case 5: t->clamp(j->x, j->y, -1, 1, count); break;
      case 6: t->binary(TK_ADD, j->x, j->z, j->y, count); break;
      case 7: t->unary(TK_SOFTPLUS, j->x, j->y, count); break;
      case 8: t->softcap(j->x, j->y, 30, count); break;
      case 9: t->rotate(j->x, j->z, j->y, j->rows, j->width / 64, 64, 2); break;
    }
}

static void rows(void) {
  const char *kinds[] = {"rmsNorm", "layerNorm", "softmax",  "gelu",    "gatedGelu",
                         "clamp",   "add",       "softplus", "softcap", "rotate"};
  for (int kind = 0; kind < 10; kind++) {
    row_job j = {kind, numbers(64 * 1536), numbers(64 * 1536), numbers(64 * 1536), 16, 1536};
    double small = best(row_run, &j, 15) / 20 / (16 * 1536);
    printf("rows %-10s %.3f ns per element\n", kinds[kind], small * 1e9);
  }
}

int main(int count, char **arguments) {
  if (count < 4) return 1;
  const char *set = arguments[1];
  int threads = atoi(arguments[2]), cpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
  if (!tk_use(set)) return 1;
  tk_pool *pool = tk_pool_create(threads, cpus);
  if (threads > 1) tk_pin_thread(0, NULL);
  else watch = CLOCK_PROCESS_CPUTIME_ID;
  openblas_set_num_threads(threads);
  for (int i = 3; i < count; i++) {
    const char *what = arguments[i];
    printf("# %s, %d threads, %s\n", set, threads, what);
    if (!strcmp(what, "limits")) limits(pool, !strcmp(set, "avx512"));
    if (!strcmp(what, "gemm")) gemm(pool, false);
    if (!strcmp(what, "quick")) gemm(pool, true);
    if (!strcmp(what, "fixed")) fixed = true;
    if (!strcmp(what, "one") || !strcmp(what, "hot")) {
      size_t v[4];
      for (int j = 0; j < 4; j++) v[j] = (size_t)atol(arguments[++i]);
      linears(pool, v[0], v[1], v[2], (int)v[3], *what != 'h' && v[0] < 16, v[0] < 16 ? 63 : 9);
    }
    if (!strcmp(what, "gemv")) gemv(pool);
    if (!strcmp(what, "attention")) attentions(pool);
    if (!strcmp(what, "rows")) rows();
  }
  tk_pool_destroy(pool);
}
