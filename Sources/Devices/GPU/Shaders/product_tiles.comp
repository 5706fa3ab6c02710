#version 450
// Matrix products for devices with shared memory of their own: a workgroup of 16 by 16 owns ROWS
// rows (16, 32 or 64) and 64 columns, each invocation every sixteenth of both, sixteen depths at a
// time.
// variant half: -DWEIGHT=0
// variant byte_block: -DWEIGHT=1
// variant byte_row: -DWEIGHT=2
// variant nibble_block: -DWEIGHT=3
// variant nibble_table: -DWEIGHT=4
// variant single: -DTRANSPOSED=1
// variant plain:
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "product.glsl"
#include "weights.glsl"
#ifdef WEIGHT
layout(binding = 5) uniform samplerBuffer bias;
#else
layout(binding = 1) uniform samplerBuffer right;
#ifndef TRANSPOSED
layout(binding = 4) uniform samplerBuffer totals;
layout(constant_id = 10) const uint DIVIDES = 0;
#endif
#endif

const uint OWN = ROWS / 16;

// Four depths of a row or column each, one more so that banks differ.
shared vec4 leftTile[4][65];
shared vec4 rightTile[4][65];

// Four depths of a column, or zeros where there are none.
vec4 rightTexel(uint column, uint k, uint batch, uint count) {
#ifdef WEIGHT
  if (k >= depth) return vec4(0);
  uint tile = column / 64, own = column % 64;
  int index = int(((tile * depth + k) * 8 + own % 8) * 8 + own / 8);
  return weight(index, scale(column, k, blocks), column);
#elif defined(TRANSPOSED)
  if (k >= depth) return vec4(0);
  vec4 x = texelFetch(right, int(batch * rightBatch + min(column, blocks - 1) * rightRow + k));
  return ROUNDS_RIGHT != 0 ? toHalf(x) : x;
#else
  vec4 x = vec4(0);
  [[unroll]] for (uint j = 0; j < 4; j++) {
    if (k * 4 + j < min(count, blocks)) {
      uint texel = min(column, columns - 1) / 4;
      x[j] = texelFetch(right, int(batch * rightBatch + (k * 4 + j) * rightRow + texel))[column % 4];
    }
  }
  return ROUNDS_RIGHT != 0 ? toHalf(x) : x;
#endif
}

void main() {
  const uint local = gl_LocalInvocationID.x;
  const uint batch = gl_WorkGroupID.z;
  const uint row = gl_WorkGroupID.y * ROWS, column = gl_WorkGroupID.x * 64;
#if defined(WEIGHT) || defined(TRANSPOSED)
  if (column >= visible(columns)) return;
  const uint count = 0, ends = depth;
#else
  const uint count = visible(blocks), ends = (count + 3) / 4;
#endif
  float sums[OWN * 4];
  [[unroll]] for (uint i = 0; i < OWN * 4; i++) sums[i] = 0;
  const uint place1 = local % 64, part = local / 64;
  const uint own = min(row + place1, rows - 1);
  const int from = int(leftBase + batch * leftBatch + place(own, leftOuter, leftInner));
  for (uint k = 0; k < ends; k += 4) {
    barrier();
    if (place1 < ROWS) {
      leftTile[part][place1] = k + part < ends ? texelFetch(left, from + int(k + part)) : vec4(0);
    }
    rightTile[part][place1] = rightTexel(column + place1, k + part, batch, count);
    barrier();
    [[unroll]] for (uint j = 0; j < 4; j++) {
      vec4 a[OWN], b[4];
      [[unroll]] for (uint i = 0; i < OWN; i++) a[i] = leftTile[j][local / 16 + i * 16];
      [[unroll]] for (uint i = 0; i < 4; i++) b[i] = rightTile[j][local % 16 + i * 16];
      [[unroll]] for (uint i = 0; i < OWN * 4; i++) sums[i] += dot(a[i / 4], b[i % 4]);
    }
  }
  [[unroll]] for (uint i = 0; i < OWN * 4; i++) {
    uint r = row + local / 16 + i / 4 * 16, c = column + local % 16 + i % 4 * 16;
    if (r >= rows || c >= columns) continue;
    float value = sums[i] * factor;
    uint target = resultBase + batch * resultBatch + place(r, resultOuter, resultInner) + c;
#ifdef WEIGHT
    if (BIASED != 0) value += texelFetch(bias, int(c)).x;
#elif !defined(TRANSPOSED)
    if (DIVIDES != 0) value /= texelFetch(totals, int(batch * rows + r)).x;
    if (ADDS != 0) value += result[target];
#endif
    result[target] = finished(vec4(value)).x;
  }
}
