// Times the shaders of software devices: wall and processor time of the median of nine runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cgpu.h"

static tg_device *device;
static tg_buffer *kept[16];
static int keptCount;
static uint32_t lanes;

static double wall(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static double processor(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_utime.tv_sec + u.ru_utime.tv_usec * 1e-6;
}

static tg_buffer *buffer(uint64_t size) {
  int status;
  tg_buffer *made = tg_buffer_create(device, size, TG_HOST, &status);
  if (!made) {
    fprintf(stderr, "bench: cannot allocate %llu bytes\n", (unsigned long long)size);
    exit(70);
  }
  kept[keptCount++] = made;
  return made;
}

static tg_view *numbers(uint64_t count) {
  tg_buffer *made = buffer(count * 4);
  float *x = tg_buffer_pointer(made);
  for (uint64_t i = 0; i < count; i++) x[i] = (i * 2654435761u >> 16 & 255) / 128.0f - 1;
  int status;
  return tg_view_create(made, TG_RGBA32F, 0, count * 4, &status);
}

static tg_pipeline *pipeline(const char *name, const uint8_t *kinds, uint32_t count, uint32_t push,
                             const uint32_t *constants, uint32_t constantCount) {
  char path[64];
  snprintf(path, sizeof path, "%s.spv", name);
  FILE *file = fopen(path, "rb");
  static uint32_t words[1 << 16];
  size_t size = file ? fread(words, 1, sizeof words, file) : 0;
  if (file) fclose(file);
  int status;
  tg_pipeline *made = tg_pipeline_create(device, words, size, kinds, count, push, constants,
                                         constantCount, false, &status);
  if (!made) {
    fprintf(stderr, "bench: %s does not compile\n", name);
    exit(70);
  }
  return made;
}

static int later(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Medians of nine runs after one in which the driver compiles.
static void run(const char *label, tg_pipeline *made, const tg_binding *bindings, const void *push,
                const uint32_t *groups, double amount, int isElements) {
  int status;
  tg_recording *recording = tg_recording_begin(device, 1, 8, 8, &status);
  tg_record_dispatch(recording, made, bindings, push, groups[0], groups[1], groups[2]);
  tg_record_barrier(recording);
  tg_recording_end(recording);
  double seconds[10], used[10];
  for (int i = 0; i < 10; i++) {
    uint64_t value;
    used[i] = processor();
    seconds[i] = wall();
    tg_submit(device, recording, &value);
    tg_wait(device, value, 100000000000ull);
    seconds[i] = wall() - seconds[i];
    used[i] = processor() - used[i];
  }
  qsort(seconds + 1, 9, sizeof *seconds, later);
  qsort(used + 1, 9, sizeof *used, later);
  printf("%-44s %8.2f ms ", label, seconds[5] * 1e3);
  if (isElements) {
    printf("%7.2f ns an element of processor time\n", used[5] / amount * 1e9);
  } else {
    printf("%7.1f GFLOP/s, %7.1f a core of processor time\n", amount / seconds[5] * 1e-9,
           amount / used[5] * 1e-9);
  }
  tg_recording_destroy(recording);
  tg_pipeline_destroy(made);
  while (keptCount) tg_buffer_destroy(kept[--keptCount]);
}

static void product(const char *name, uint32_t rows, uint32_t depth, uint32_t columns) {
  int half = !strcmp(name, "half"), plain = !strcmp(name, "plain"), status;
  uint32_t most = half || lanes == 16 ? 32 : 24;
  uint32_t tileRows = rows > 24 ? most : rows, tileColumns = plain ? 16 / lanes : 8;
  uint32_t constants[11] = {lanes, half, 1, tileRows, tileColumns};
  uint8_t kinds[6] = {0, 0, 1, 0, 0, 0};
  tg_pipeline *made = pipeline(name, kinds, half ? 6 : plain ? 5 : 4, 72, constants, plain ? 11 : 10);
  uint32_t tile = 8 * lanes;
  uint64_t padded = (columns + tile - 1) / tile * tile;
  tg_view *left = numbers((uint64_t)rows * depth), *right, *zeros = numbers(16);
  if (half) {
    tg_buffer *weights = buffer(padded * depth * 2);
    memset(tg_buffer_pointer(weights), 0x2C, padded * depth * 2);
    right = tg_view_create(weights, TG_RG32U, 0, padded * depth * 2, &status);
  } else {
    right = numbers((uint64_t)columns * depth);
  }
  tg_buffer *words = buffer(64), *result = buffer((uint64_t)rows * padded * 4);
  tg_view *integers = tg_view_create(words, TG_R32I, 0, 64, &status);
  tg_binding bindings[6] = {{left, NULL, 0, 0},     {right, NULL, 0, 0},
                            {NULL, result, 0, (uint64_t)rows * columns * 4},
                            {integers, NULL, 0, 0}, {zeros, NULL, 0, 0},
                            {zeros, NULL, 0, 0}};
  uint32_t push[18] = {rows, columns, depth / 4, 1, 0, depth / 4, 0, 0,
                       plain ? columns / 4 : depth / 4, 0, 0, columns, 0, 0, 0,
                       plain ? depth : columns, 0, 0};
  float one = 1;
  memcpy(&push[14], &one, 4);
  uint32_t owned = plain ? 64 : tile;
  uint32_t groups[3] = {(columns + owned - 1) / owned, (rows + tileRows - 1) / tileRows, 1};
  char label[64];
  snprintf(label, sizeof label, "%s [%u x %u] x [%u]", name, rows, depth, columns);
  run(label, made, bindings, push, groups, 2.0 * rows * depth * columns, 0);
}

static void attention(uint32_t tokens, uint32_t heads) {
  uint32_t rows = 2 * lanes, constants[7] = {lanes, 1, 1, rows, 16 / lanes, 0, 0};
  uint8_t kinds[5] = {0, 0, 0, 0, 1};
  tg_pipeline *made = pipeline("attention", kinds, 5, 28, constants, 7);
  uint64_t count = (uint64_t)tokens * heads * 64;
  tg_view *query = numbers(count), *keys = numbers(count), *values = numbers(count);
  int status;
  tg_buffer *words = buffer(64), *result = buffer(count * 4);
  tg_view *integers = tg_view_create(words, TG_R32I, 0, 64, &status);
  tg_binding bindings[5] = {{query, NULL, 0, 0},
                            {keys, NULL, 0, 0},
                            {values, NULL, 0, 0},
                            {integers, NULL, 0, 0},
                            {NULL, result, 0, count * 4}};
  uint32_t push[7] = {tokens, heads, 1, tokens};
  float factor = 0.125f;
  memcpy(&push[4], &factor, 4);
  uint32_t groups[3] = {(tokens + rows - 1) / rows, heads, 1};
  char label[64];
  snprintf(label, sizeof label, "attention, %u tokens, %u heads of 64", tokens, heads);
  run(label, made, bindings, push, groups, 4.0 * tokens * tokens * heads * 64, 0);
}

// An elementwise function, two operands of one shape where it takes two.
static void function(const char *name, uint32_t operation, int isBinary) {
  const uint32_t rows = 2520, width = 768, texels = rows * width / 4;
  uint32_t constants[6] = {lanes, 1, 1, operation, isBinary};
  uint8_t kinds[3] = {0, 0, 1};
  tg_pipeline *made = pipeline("elementwise", kinds, 3, 24, constants, 6);
  tg_view *left = numbers(texels * 4), *right = numbers(texels * 4);
  tg_buffer *result = buffer(texels * 16);
  tg_binding bindings[3] = {
      {left, NULL, 0, 0}, {right, NULL, 0, 0}, {NULL, result, 0, texels * 16}};
  uint32_t push[6] = {texels, width / 4};
  uint32_t count = (texels + lanes * 8 - 1) / (lanes * 8);
  uint32_t groups[3] = {(count + 1) / 2, 2, 1};
  run(name, made, bindings, push, groups, texels * 4.0, 1);
}

// A norm or softmax of rows, without weights.
static void ofRows(const char *name, uint32_t operation) {
  const uint32_t rows = 2520, width = 768;
  uint32_t constants[8] = {lanes, 1, 1, 1, operation};
  uint8_t kinds[4] = {0, 0, 1, 0};
  tg_pipeline *made = pipeline("rows", kinds, 4, 20, constants, 8);
  tg_view *x = numbers(rows * width);
  tg_buffer *result = buffer(rows * width * 4);
  tg_binding bindings[4] = {
      {x, NULL, 0, 0}, {x, NULL, 0, 0}, {NULL, result, 0, rows * width * 4}, {x, NULL, 0, 0}};
  float epsilon = 1e-6f;
  uint32_t push[5] = {rows, width / 4};
  memcpy(&push[2], &epsilon, 4);
  uint32_t groups[3] = {rows, 1, 1};
  run(name, made, bindings, push, groups, (double)rows * width, 1);
}

int main(void) {
  int status;
  tg_system *system = tg_open(false, false, &status);
  if (!system || !tg_device_count(system)) {
    fprintf(stderr, "bench: no Vulkan device (apt install mesa-vulkan-drivers)\n");
    return 69;
  }
  tg_info info;
  tg_device_info(system, 0, &info);
  lanes = info.subgroup_size;
  if (lanes != 8 && lanes != 16) {
    fprintf(stderr, "bench: expected subgroups of 8 or 16, %s has %u\n", info.name, lanes);
    return 69;
  }
  device = tg_device_open(system, 0, NULL, 0, &status);
  if (!device) return 70;
  printf("%s, %s %s\n", info.name, info.driver, info.driver_info);
  product("half", 2520, 768, 3072);
  product("half", 2520, 3072, 768);
  product("half", 2520, 768, 768);
  product("half", 1, 1536, 6144);
  product("half", 8, 1536, 6144);
  product("transposed", 264, 64, 2520);
  product("plain", 264, 2520, 64);
  attention(2520, 12);
  function("add, 2520 x 768", 16, 1);
  function("GELU, 2520 x 768", 1, 0);
  ofRows("RMSNorm, 2520 x 768", 0);
  ofRows("softmax, 2520 x 768", 2);
  return 0;
}
