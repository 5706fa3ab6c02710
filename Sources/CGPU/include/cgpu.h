// Vulkan compute as a few plain calls. The loader is opened when it is first needed, so that a
// machine without Vulkan runs everything else.
#ifndef CGPU_H
#define CGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tg_system tg_system;
typedef struct tg_device tg_device;
typedef struct tg_buffer tg_buffer;
typedef struct tg_view tg_view;
typedef struct tg_pipeline tg_pipeline;
typedef struct tg_recording tg_recording;

// What went wrong, from any call that returns a status.
enum tg_status {
  TG_OK = 0,
  TG_NO_LOADER = 1,
  TG_NO_DEVICE = 2,
  TG_OUT_OF_MEMORY = 3,
  TG_DEVICE_LOST = 4,
  TG_TIMEOUT = 5,
  TG_FAILED = 6,
};

// A device as it describes itself.
typedef struct {
  char name[256];
  char driver[256];
  char driver_info[256];
  uint8_t cache_id[16];
  uint32_t vendor_id, device_id, driver_version, api_version;
  uint32_t type; // VkPhysicalDeviceType
  uint64_t storage_range, texel_elements, allocation_limit, buffer_limit, memory_size;
  uint64_t memory_budget; // 0 where the driver does not say
  uint32_t storage_alignment, texel_alignment, import_alignment;
  uint32_t push_bytes, shared_bytes, invocations, local_size[3], groups[3];
  uint32_t subgroup_size, subgroup_operations;
  bool has_compute, has_timeline, has_subgroups, has_half_storage, has_half_arithmetic;
  bool has_byte_storage, has_import, has_cooperative_matrix, is_unified;
  // Rows, columns and depth of the largest cooperative matrices of f16 with f32 sums that a subgroup
  // multiplies and that divide 16 rows, 64 columns and 32 depths; zeros where there are none.
  uint32_t matrix[3];
} tg_info;

enum tg_format {
  TG_R32F = 0, TG_RGBA32F = 1, TG_R32I = 2, TG_R32U = 3, TG_RG32U = 4, TG_RGBA32U = 5,
  TG_RGBA16F = 6, TG_RGBA8I = 7, TG_R16F = 8,
};

enum tg_memory { TG_LOCAL = 0, TG_HOST = 1 };

// One descriptor of a dispatch: a view of texels, or a range of a storage buffer.
typedef struct {
  const tg_view *view;
  const tg_buffer *buffer;
  uint64_t offset, size;
} tg_binding;

// Opens the loader and an instance; `validate` turns on the Khronos layers, `synchronise` their
// synchronisation checks.
tg_system *tg_open(bool validate, bool synchronise, int *status);
void tg_close(tg_system *system);
// Messages that the validation layers have written so far, and the last of them.
uint32_t tg_messages(const tg_system *system, char *last, size_t size);
uint32_t tg_device_count(const tg_system *system);
void tg_device_info(const tg_system *system, uint32_t index, tg_info *info);

tg_device *tg_device_open(tg_system *system, uint32_t index, const void *cache, size_t cache_size,
                          int *status);
void tg_device_close(tg_device *device);
// Bytes of the pipeline cache; with a target, copies at most `size` of them.
size_t tg_cache_data(tg_device *device, void *target, size_t size);

tg_buffer *tg_buffer_create(tg_device *device, uint64_t size, int memory, int *status);
tg_buffer *tg_buffer_import(tg_device *device, void *pointer, uint64_t size, int *status);
void *tg_buffer_pointer(const tg_buffer *buffer);
void tg_buffer_destroy(tg_buffer *buffer);

tg_view *tg_view_create(tg_buffer *buffer, int format, uint64_t offset, uint64_t size,
                        int *status);
void tg_view_destroy(tg_view *view);

// `kinds[i]` is 0 for texels and 1 for storage; constants are 32-bit and numbered from 0. Subgroups
// may be asked to be full on devices whose `matrix` is not zeros.
tg_pipeline *tg_pipeline_create(tg_device *device, const uint32_t *words, size_t byte_count,
                                const uint8_t *kinds, uint32_t kind_count, uint32_t push_bytes,
                                const uint32_t *constants, uint32_t constant_count,
                                bool full_subgroups, int *status);
void tg_pipeline_destroy(tg_pipeline *pipeline);

// A command buffer that is written once and submitted any number of times, one at a time.
tg_recording *tg_recording_begin(tg_device *device, uint32_t dispatches, uint32_t texels,
                                 uint32_t storages, int *status);
int tg_record_dispatch(tg_recording *recording, const tg_pipeline *pipeline,
                       const tg_binding *bindings, const void *push, uint32_t x, uint32_t y,
                       uint32_t z);
void tg_record_barrier(tg_recording *recording);
void tg_record_copy(tg_recording *recording, const tg_buffer *source, uint64_t from,
                    const tg_buffer *target, uint64_t to, uint64_t size);
int tg_recording_end(tg_recording *recording);
void tg_recording_destroy(tg_recording *recording);

// Submits; the device's timeline reaches `*value` when it is over.
int tg_submit(tg_device *device, const tg_recording *recording, uint64_t *value);
// Submits work that never starts, until the device is released; for tests of the watchdog.
int tg_submit_stuck(tg_device *device, uint64_t *value);
void tg_release_stuck(tg_device *device);
// Waits until the timeline has reached `value`: TG_OK, TG_TIMEOUT or a failure.
int tg_wait(tg_device *device, uint64_t value, uint64_t nanoseconds);

#endif
