#version 450
// Products with weights in f16 on devices with cooperative matrices: a workgroup of 256 owns ROWS
// rows and 64 columns, its subgroups share the M by N tiles of them, 32 depths at a time.
//
// Operands go through shared memory as f16, which loses nothing: stored values are numbers that f16
// can hold. Sums are f32, in an order that is the device's.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define WEIGHT 0
#include "common.glsl"
#include "product.glsl"
#include "weights.glsl"
layout(binding = 5) uniform samplerBuffer bias;

layout(constant_id = 10) const uint M = 16;
layout(constant_id = 11) const uint N = 16;
layout(constant_id = 12) const uint K = 16;
layout(constant_id = 13) const uint SUBGROUP = 32;

const uint SUBGROUPS = 256 / SUBGROUP;
const uint ACROSS = 64 / N, TILES = ROWS / M * ACROSS;
const uint OWN = (TILES + SUBGROUPS - 1) / SUBGROUPS;
// Numbers between rows: a few more than there are, so that banks differ.
const uint PITCH = 40, WIDTH = 68;

shared f16vec4 leftTile[ROWS * PITCH / 4];
shared f16vec4 rightTile[64 * PITCH / 4];
shared float sums[ROWS * WIDTH];

// Four depths of a column, or zeros where there are none.
vec4 rightTexel(uint column, uint k) {
  if (k >= depth) return vec4(0);
  int index = int(((column / 64 * depth + k) * 8 + column % 8) * 8 + column % 64 / 8);
  return weight(index, 1, column);
}

void main() {
  const uint local = gl_LocalInvocationID.x;
  const uint row = gl_WorkGroupID.y * ROWS, column = gl_WorkGroupID.x * 64;
  const uint batch = gl_WorkGroupID.z;
  coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> own[OWN];
  [[unroll]] for (uint i = 0; i < OWN; i++) {
    own[i] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
  }
  for (uint k = 0; k < depth; k += 8) {
    barrier();
    for (uint i = local; i < ROWS * 8; i += 256) {
      uint at = min(row + i / 8, rows - 1);
      int from = int(leftBase + batch * leftBatch + place(at, leftOuter, leftInner) + k + i % 8);
      vec4 x = k + i % 8 < depth ? texelFetch(left, from) : vec4(0);
      leftTile[i / 8 * (PITCH / 4) + i % 8] = f16vec4(x);
    }
    for (uint i = local; i < 64 * 8; i += 256) {
      rightTile[i / 8 * (PITCH / 4) + i % 8] = f16vec4(rightTexel(column + i / 8, k + i % 8));
    }
    barrier();
    for (uint j = 0; j < 32; j += K) {
      [[unroll]] for (uint i = 0; i < OWN; i++) {
        uint tile = gl_SubgroupID + i * SUBGROUPS;
        if (tile >= TILES) break;
        coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> a;
        coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> b;
        coopMatLoad(a, leftTile, (tile / ACROSS * M * PITCH + j) / 4, PITCH / 4,
                    gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(b, rightTile, (tile % ACROSS * N * PITCH + j) / 4, PITCH / 4,
                    gl_CooperativeMatrixLayoutColumnMajor);
        own[i] = coopMatMulAdd(a, b, own[i]);
      }
    }
  }
  [[unroll]] for (uint i = 0; i < OWN; i++) {
    uint tile = gl_SubgroupID + i * SUBGROUPS;
    if (tile >= TILES) break;
    coopMatStore(own[i], sums, tile / ACROSS * M * WIDTH + tile % ACROSS * N, WIDTH,
                 gl_CooperativeMatrixLayoutRowMajor);
  }
  barrier();
  for (uint i = local; i < ROWS * 64; i += 256) {
    uint r = row + i / 64, c = column + i % 64;
    if (r >= rows || c >= columns) continue;
    float value = sums[i / 64 * WIDTH + i % 64] * factor;
    if (BIASED != 0) value += texelFetch(bias, int(c)).x;
    result[resultBase + batch * resultBatch + place(r, resultOuter, resultInner) + c] =
        finished(vec4(value)).x;
  }
}
