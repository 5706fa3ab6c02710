#include "CMediaResize.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#define FAST __attribute__((target("avx2"), always_inline)) static inline
#define FAST_ENTRY __attribute__((target("avx2"))) static
#define HAS_FAST __builtin_cpu_supports("avx2")
#else
#define HAS_FAST 0
#endif
#define PLAIN __attribute__((always_inline)) static inline

#define BODY(name) name##_plain
#define INLINE PLAIN
#define ENTRY static
#include "resize_body.h"
#undef BODY
#undef INLINE
#undef ENTRY

#if defined(__x86_64__)
#define BODY(name) name##_fast
#define INLINE FAST
#define ENTRY FAST_ENTRY
#include "resize_body.h"
#endif

void troika_resample_row(
    const uint8_t *input, int input_width, const TroikaResampleAxis *axis,
    uint8_t *output, int32_t *scratch) {
#if defined(__x86_64__)
  if (HAS_FAST) {
    row_fast(input, input_width, axis, output, scratch);
    return;
  }
#endif
  row_plain(input, input_width, axis, output, scratch);
}

void troika_resample_column(
    const uint8_t *const *rows, int width_bytes, const TroikaResampleAxis *axis, int row,
    uint8_t *output, int32_t *scratch) {
#if defined(__x86_64__)
  if (HAS_FAST) {
    column_fast(rows, width_bytes, axis, row, output, scratch);
    return;
  }
#endif
  column_plain(rows, width_bytes, axis, row, output, scratch);
}
