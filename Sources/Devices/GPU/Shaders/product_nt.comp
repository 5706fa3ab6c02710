#version 450
// left · rightᵀ with four depths in a texel on both sides: one subgroup owns ROWS rows and
// COLUMNS columns a lane. A left texel holds a row in each lane and is handed round by shuffles.
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

const uint BLOCK = ROWS < 4 ? ROWS : 4;
const uint LEFTS = (ROWS + LANES - 1) / LANES;

void main() {
  const uint lane = gl_SubgroupInvocationID;
  const uint tile = gl_WorkGroupID.x, batch = gl_WorkGroupID.z;
  const uint row = gl_WorkGroupID.y * ROWS;
  const uint first = tile * LANES * COLUMNS + lane * COLUMNS;
  if (tile * LANES * COLUMNS >= visible(columns)) return;
  int lefts[LEFTS];
  [[unroll]] for (uint i = 0; i < LEFTS; i++) {
    uint own = min(row + (ROWS == 1 ? 0 : i * LANES + lane), rows - 1);
    lefts[i] = int(leftBase + batch * leftBatch + place(own, leftOuter, leftInner));
  }
#ifdef WEIGHT
  int index = int(tile * depth * COLUMNS * LANES + lane);
  float factors[COLUMNS];
  [[unroll]] for (uint v = 0; v < COLUMNS; v++) factors[v] = scale(first + v, 0, blocks);
#else
  int rights[COLUMNS];
  [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
    rights[v] = int(batch * rightBatch + min(first + v, blocks - 1) * rightRow);
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
      b[v] = weight(index + int(v * LANES), factors[v], first + v);
    }
    index += int(COLUMNS * LANES);
#else
    [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
      b[v] = texelFetch(right, rights[v] + int(k));
      if (ROUNDS_RIGHT != 0) b[v] = toHalf(b[v]);
    }
#endif
    // Rows go in blocks, so that a right texel is loaded once for a block.
    [[unroll]] for (uint r = 0; r < ROWS; r += BLOCK) {
      vec4 x[BLOCK];
      [[unroll]] for (uint j = 0; j < BLOCK; j++) {
        x[j] = ROWS == 1 ? a[0] : subgroupShuffle(a[(r + j) / LANES], (r + j) % LANES);
      }
      [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
        [[unroll]] for (uint j = 0; j < BLOCK; j++) {
          uint s = (r + j) * COLUMNS + v;
          sums[s] = fma(x[j].x, b[v].x, sums[s]);
          sums[s] = fma(x[j].y, b[v].y, sums[s]);
          sums[s] = fma(x[j].z, b[v].z, sums[s]);
          sums[s] = fma(x[j].w, b[v].w, sums[s]);
        }
      }
    }
  }
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    if (row + r >= rows) break;
    uint target = resultBase + batch * resultBatch + place(row + r, resultOuter, resultInner);
    [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
#ifdef WEIGHT
      if (BIASED != 0) {
        sums[r * COLUMNS + v] += texelFetch(bias, int(min(first + v, columns - 1))).x;
      }
#endif
    }
    if (WIDE != 0) {
      [[unroll]] for (uint v = 0; v < COLUMNS; v += 4) {
        if (first + v >= columns) break;
        uint s = r * COLUMNS + v;
        vec4 value = vec4(sums[s], sums[s + 1], sums[s + 2], sums[s + 3]) * factor;
        wide[(target + first + v) / 4] = finished(value);
      }
    } else {
      [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
        if (first + v >= columns) break;
        result[target + first + v] = finished(vec4(sums[r * COLUMNS + v] * factor)).x;
      }
    }
  }
}
