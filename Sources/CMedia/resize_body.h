// Compiled once for every machine and once with AVX2; BODY, INLINE and ENTRY are set by the
// including file. Integer sums are exact, so every compilation gives the same bytes.

INLINE uint8_t BODY(clamp)(int32_t value) {
  return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

INLINE int32_t BODY(dot16)(const int16_t *values, const int16_t *weights, int count) {
  int32_t sum = 0;
  for (int i = 0; i < count; i++) sum += (int32_t)values[i] * weights[i];
  return sum;
}

INLINE int32_t BODY(dot32)(const int32_t *values, const int32_t *weights, int count) {
  int32_t sum = 0;
  for (int i = 0; i < count; i++) sum += values[i] * weights[i];
  return sum;
}

ENTRY void BODY(row16)(
    const uint8_t *input, int width, const TroikaResampleAxis *axis, uint8_t *output,
    int16_t *planes) {
  int16_t *red = planes, *green = planes + width, *blue = planes + 2 * (size_t)width;
  for (int x = 0; x < width; x++) {
    red[x] = input[3 * x];
    green[x] = input[3 * x + 1];
    blue[x] = input[3 * x + 2];
  }
  int32_t half = (int32_t)1 << (axis->precision - 1);
  for (int x = 0; x < axis->output_length; x++) {
    const int16_t *weights = axis->narrow + (size_t)x * axis->stride;
    int first = axis->first[x], count = axis->count[x];
    output[3 * x] =
      BODY(clamp)((half + BODY(dot16)(red + first, weights, count)) >> axis->precision);
    output[3 * x + 1] =
      BODY(clamp)((half + BODY(dot16)(green + first, weights, count)) >> axis->precision);
    output[3 * x + 2] =
      BODY(clamp)((half + BODY(dot16)(blue + first, weights, count)) >> axis->precision);
  }
}

ENTRY void BODY(row)(
    const uint8_t *input, int width, const TroikaResampleAxis *axis, uint8_t *output,
    int32_t *scratch) {
  if (axis->narrow) {
    BODY(row16)(input, width, axis, output, (int16_t *)scratch);
    return;
  }
  int32_t *red = scratch, *green = scratch + width, *blue = scratch + 2 * (size_t)width;
  for (int x = 0; x < width; x++) {
    red[x] = input[3 * x];
    green[x] = input[3 * x + 1];
    blue[x] = input[3 * x + 2];
  }
  int32_t half = (int32_t)1 << (axis->precision - 1);
  for (int x = 0; x < axis->output_length; x++) {
    const int32_t *weights = axis->weights + (size_t)x * axis->stride;
    int first = axis->first[x], count = axis->count[x];
    output[3 * x] =
      BODY(clamp)((half + BODY(dot32)(red + first, weights, count)) >> axis->precision);
    output[3 * x + 1] =
      BODY(clamp)((half + BODY(dot32)(green + first, weights, count)) >> axis->precision);
    output[3 * x + 2] =
      BODY(clamp)((half + BODY(dot32)(blue + first, weights, count)) >> axis->precision);
  }
}

ENTRY void BODY(column)(
    const uint8_t *const *rows, int width_bytes, const TroikaResampleAxis *axis, int row,
    uint8_t *output, int32_t *scratch) {
  const int32_t *weights = axis->weights + (size_t)row * axis->stride;
  int32_t half = (int32_t)1 << (axis->precision - 1);
  for (int x = 0; x < width_bytes; x++) scratch[x] = half;
  for (int tap = 0; tap < axis->count[row]; tap++) {
    const uint8_t *from = rows[tap];
    int32_t weight = weights[tap];
    for (int x = 0; x < width_bytes; x++) scratch[x] += weight * from[x];
  }
  for (int x = 0; x < width_bytes; x++) {
    output[x] = BODY(clamp)(scratch[x] >> axis->precision);
  }
}
