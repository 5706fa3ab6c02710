// 256-bit vectors with fused multiply-add: sixteen registers hold a 6 × 16 tile.
#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#define LANES 8
#define TILE_ROWS 6
#define FUSED 1
#define TABLE tk_avx2
#define TABLE_NAME "avx2"
#include "vector.h"
#include "body_rows.h"
#include "body_tiles.h"
#include "body_half.h"
#include "body_formats.h"
#include "body_dot.h"
#include "body_fixed.h"
#pragma clang attribute pop
#include "body_table.h"
