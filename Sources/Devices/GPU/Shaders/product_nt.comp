#version 450
// left · rightᵀ with four depths in a texel on both sides: one subgroup of 8 lanes owns ROWS rows
// and 8 * COLUMNS columns. A left texel holds a row in each lane and is handed round by shuffles.
// variant half: -DWEIGHT=0
// variant byte_block: -DWEIGHT=1
// variant byte_row: -DWEIGHT=2
// variant nibble_block: -DWEIGHT=3
// variant nibble_table: -DWEIGHT=4
// variant single:
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "product.glsl"
#include "weights.glsl"
#ifdef WEIGHT
layout(binding = 5) uniform samplerBuffer bias;
#else
layout(binding = 1) uniform samplerBuffer right;
#endif

const uint LEFTS = ROWS < 8 ? ROWS : ROWS / 8;

void main() {
  const uint lane = gl_SubgroupInvocationID;
  const uint tile = gl_WorkGroupID.x, batch = gl_WorkGroupID.z;
  const uint row = gl_WorkGroupID.y * ROWS;
  const uint first = tile * 8 * COLUMNS + lane * COLUMNS;
  if (tile * 8 * COLUMNS >= visible(columns)) return;
  int lefts[LEFTS];
  [[unroll]] for (uint i = 0; i < LEFTS; i++) {
    uint own = min(row + (ROWS < 8 ? i : i * 8 + lane), rows - 1);
    lefts[i] = int(leftBase + batch * leftBatch + place(own, leftOuter, leftInner));
  }
#ifdef WEIGHT
  int index = int(tile * depth * COLUMNS * 8 + lane);
  float factors[COLUMNS];
  [[unroll]] for (uint v = 0; v < COLUMNS; v++) factors[v] = scale(first + v, 0, blocks);
#else
  int rights[COLUMNS];
  [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
    rights[v] = int(batch * rightBatch + min(first + v, columns - 1) * rightRow);
  }
#endif
  float sums[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) sums[i] = 0;
  for (uint k = 0; k < depth; k++) {
    vec4 a[LEFTS];
    [[unroll]] for (uint i = 0; i < LEFTS; i++) a[i] = texelFetch(left, lefts[i] + int(k));
    vec4 b[COLUMNS];
#ifdef WEIGHT
#if WEIGHT == 1 || WEIGHT == 3
    if (k % 8 == 0) {
      [[unroll]] for (uint v = 0; v < COLUMNS; v++) factors[v] = scale(first + v, k, blocks);
    }
#endif
    [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
      b[v] = weight(index + int(v * 8), factors[v], first + v);
    }
    index += int(COLUMNS * 8);
#else
    [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
      b[v] = texelFetch(right, rights[v] + int(k));
      if (ROUNDS_RIGHT != 0) b[v] = toHalf(b[v]);
    }
#endif
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      vec4 x = ROWS < 8 ? a[r] : subgroupShuffle(a[r / 8], r % 8);
      [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
        uint s = r * COLUMNS + v;
        sums[s] = fma(x.x, b[v].x, sums[s]);
        sums[s] = fma(x.y, b[v].y, sums[s]);
        sums[s] = fma(x.z, b[v].z, sums[s]);
        sums[s] = fma(x.w, b[v].w, sums[s]);
      }
    }
  }
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    if (row + r >= rows) break;
    uint target = resultBase + batch * resultBatch + place(row + r, resultOuter, resultInner);
    [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
      if (first + v >= columns) break;
      float value = sums[r * COLUMNS + v] * factor;
#ifdef WEIGHT
      if (BIASED != 0) value += texelFetch(bias, int(first + v)).x;
#endif
      result[target + first + v] = stored(value);
    }
  }
}
