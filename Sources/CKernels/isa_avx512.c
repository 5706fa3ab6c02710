// 512-bit vectors: thirty-two registers hold a 14 × 32 tile.
#include <immintrin.h>
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))),  \
    apply_to = function)
#define LANES 16
#define TILE_ROWS 14
#define FUSED 1
#define TABLE tk_avx512
#define TABLE_NAME "avx512"
#include "vector.h"
#include "body_rows.h"
#include "body_tiles.h"
#include "body_half.h"
#include "body_formats.h"
#include "body_dot.h"
#include "body_fixed.h"
#pragma clang attribute pop
#include "body_table.h"
