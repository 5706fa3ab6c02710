#ifndef TROIKA_CMEDIA_RESIZE_H
#define TROIKA_CMEDIA_RESIZE_H

#include <stdint.h>

/// One axis of a resampling: output `i` is the weighted sum of `count[i]` inputs from
/// `first[i]`, with weights at `weights + i * stride`, fixed point with `precision` bits.
typedef struct {
  int output_length;
  int stride;
  int precision;
  const int32_t *first;
  const int32_t *count;
  const int32_t *weights;
  /// The same weights where all of them fit 16 bits, else NULL.
  const int16_t *narrow;
} TroikaResampleAxis;

/// Resamples one row of `input_width` RGB pixels to `axis->output_length` pixels, rounding and
/// clamping to 8 bits. `scratch` holds `3 * input_width` 32-bit words.
void troika_resample_row(
  const uint8_t *input, int input_width, const TroikaResampleAxis *axis,
  uint8_t *output, int32_t *scratch);

/// Writes output row `row` of a vertical resampling; `rows` holds `axis->count[row]` pointers
/// to input rows of `width_bytes` bytes. `scratch` holds `width_bytes` 32-bit words.
void troika_resample_column(
  const uint8_t *const *rows, int width_bytes, const TroikaResampleAxis *axis, int row,
  uint8_t *output, int32_t *scratch);

#endif
