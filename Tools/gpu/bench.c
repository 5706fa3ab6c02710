// Times product and attention shaders: wall and processor time of the third of three runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cgpu.h"

static tg_device *device;
static tg_buffer *kept[16];
static int keptCount;

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
                                         constantCount, &status);
  if (!made) {
    fprintf(stderr, "bench: %s does not compile\n", name);
    exit(70);
  }
  return made;
}

static void run(const char *label, tg_pipeline *made, const tg_binding *bindings, const void *push,
                const uint32_t *groups, double operations) {
  int status;
  tg_recording *recording = tg_recording_begin(device, 1, 8, 8, &status);
  tg_record_dispatch(recording, made, bindings, push, groups[0], groups[1], groups[2]);
  tg_record_barrier(recording);
  tg_recording_end(recording);
  double seconds = 0, used = 0;
  for (int i = 0; i < 3; i++) {
    uint64_t value;
    used = processor();
    seconds = wall();
    tg_submit(device, recording, &value);
    tg_wait(device, value, 100000000000ull);
    seconds = wall() - seconds;
    used = processor() - used;
  }
  printf("%-44s %8.2f ms %7.1f GFLOP/s, %7.1f a core of processor time\n", label, seconds * 1e3,
         operations / seconds * 1e-9, operations / used * 1e-9);
  tg_recording_destroy(recording);
  while (keptCount) tg_buffer_destroy(kept[--keptCount]);
}

static void product(const char *name, uint32_t rows, uint32_t depth, uint32_t columns) {
  int half = !strcmp(name, "half"), plain = !strcmp(name, "plain"), status;
  uint32_t tileRows = rows > 24 ? (half ? 32 : 24) : rows, tileColumns = plain ? 2 : 8;
  uint32_t constants[11] = {8, half, 1, tileRows, tileColumns};
  uint8_t kinds[6] = {0, 0, 1, 0, 0, 0};
  tg_pipeline *made = pipeline(name, kinds, half ? 6 : plain ? 5 : 4, 72, constants, plain ? 11 : 10);
  uint64_t padded = (columns + 63) / 64 * 64;
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
  uint32_t groups[3] = {(columns + 63) / 64, (rows + tileRows - 1) / tileRows, 1};
  char label[64];
  snprintf(label, sizeof label, "%s [%u x %u] x [%u]", name, rows, depth, columns);
  run(label, made, bindings, push, groups, 2.0 * rows * depth * columns);
}

static void attention(uint32_t tokens, uint32_t heads) {
  uint32_t constants[7] = {8, 1, 1, 16, 2, 0, 0};
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
  uint32_t groups[3] = {(tokens + 15) / 16, heads, 1};
  char label[64];
  snprintf(label, sizeof label, "attention, %u tokens, %u heads of 64", tokens, heads);
  run(label, made, bindings, push, groups, 4.0 * tokens * tokens * heads * 64);
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
  if (info.subgroup_size != 8) {
    fprintf(stderr, "bench: expected subgroups of 8, %s has %u\n", info.name, info.subgroup_size);
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
  return 0;
}
