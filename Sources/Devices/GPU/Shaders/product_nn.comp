#version 450
// left · right with four columns in a texel of the right side: one subgroup of 8 lanes owns ROWS
// rows and 32 * COLUMNS columns. A left texel holds four depths of a row in each lane.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "product.glsl"
layout(binding = 1) uniform samplerBuffer right;
layout(binding = 4) uniform samplerBuffer totals; // what each row is divided by

layout(constant_id = 10) const uint DIVIDES = 0;

const uint BLOCK = ROWS < 4 ? ROWS : 4;
const uint LEFTS = ROWS < 8 ? ROWS : ROWS / 8;

void main() {
  const uint lane = gl_SubgroupInvocationID;
  const uint tile = gl_WorkGroupID.x, batch = gl_WorkGroupID.z;
  const uint row = gl_WorkGroupID.y * ROWS;
  const uint texels = columns / 4;
  const uint first = tile * 8 * COLUMNS + lane;
  int lefts[LEFTS];
  [[unroll]] for (uint i = 0; i < LEFTS; i++) {
    uint own = min(row + (ROWS < 8 ? i : i * 8 + lane), rows - 1);
    lefts[i] = int(leftBase + batch * leftBatch + place(own, leftOuter, leftInner));
  }
  int rights[COLUMNS];
  [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
    rights[v] = int(batch * rightBatch + min(first + v * 8, texels - 1));
  }
  vec4 sums[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) sums[i] = vec4(0);
  // `blocks` is the number of rows on the right, of which the left side may have padded more.
  const uint count = visible(blocks);
  for (uint k = 0; k < count; k += 4) {
    vec4 a[LEFTS];
    [[unroll]] for (uint i = 0; i < LEFTS; i++) a[i] = texelFetch(left, lefts[i] + int(k / 4));
    vec4 b[4 * COLUMNS];
    [[unroll]] for (uint j = 0; j < 4; j++) {
      [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
        uint t = j * COLUMNS + v;
        b[t] = texelFetch(right, rights[v] + int(min(k + j, blocks - 1) * rightRow));
        if (ROUNDS_RIGHT != 0) b[t] = toHalf(b[t]);
      }
    }
    [[unroll]] for (uint r = 0; r < ROWS; r += BLOCK) {
      vec4 x[BLOCK];
      [[unroll]] for (uint i = 0; i < BLOCK; i++) {
        x[i] = ROWS < 8 ? a[r + i] : subgroupShuffle(a[(r + i) / 8], (r + i) % 8);
      }
      [[unroll]] for (uint c = 0; c < 4 * COLUMNS; c++) {
        [[unroll]] for (uint i = 0; i < BLOCK; i++) {
          uint s = (r + i) * COLUMNS + c / 4;
          [[unroll]] for (uint j = 0; j < 4; j++) {
            sums[s][c % 4] = fma(x[i][j], b[j * COLUMNS + c / 4][c % 4], sums[s][c % 4]);
          }
        }
      }
    }
  }
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    if (row + r >= rows) break;
    uint target = resultBase + batch * resultBatch + place(row + r, resultOuter, resultInner);
    float share = factor;
    if (DIVIDES != 0) share /= texelFetch(totals, int(batch * rows + row + r)).x;
    [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
      if (first + v * 8 >= texels) break;
      uint own = target / 4 + first + v * 8;
      vec4 value = sums[r * COLUMNS + v] * share;
      if (ADDS != 0) value += wide[own];
      wide[own] = finished(value);
    }
  }
}
