// 512-bit vectors with sums of 16-bit products in one instruction.
#include <immintrin.h>
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), \
    apply_to = function)
#define LANES 16
#define TILE_ROWS 14
#define TILE_COLUMNS 32
#define FUSED 1
#include "vector.h"
#include "body_fixed_tiles.h"
#pragma clang attribute pop
