// Weight matrices in the order in which shaders read them.
#ifndef CGPU_PACK_H
#define CGPU_PACK_H

#include <stddef.h>
#include <stdint.h>

// Numbers of a dense format as f16, nearest even: 0 f32, 1 f16, 2 bf16.
//
// `target` holds tiles of `width` rows of the source; within a tile four columns of the source at a
// time, then 8 texels of `width / 8` lanes, lane l holding rows l * 8 and on. Rows and columns that
// do not exist are zeros. Packs tiles from `first` up to `last`.
void tg_pack_halves(const void *source, int format, size_t rows, size_t columns, size_t width,
                    size_t first, size_t last, uint16_t *target);

// The same for bytes, and for nibbles of which two share a byte of the source (low first) and four
// a 32-bit word of the target.
void tg_pack_bytes(const int8_t *source, size_t rows, size_t columns, size_t width, size_t first,
                   size_t last, int8_t *target);
void tg_pack_nibbles(const uint8_t *source, size_t rows, size_t columns, size_t width, size_t first,
                     size_t last, uint32_t *target);

#endif
