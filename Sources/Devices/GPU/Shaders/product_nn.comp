#version 450
// left · right with four columns in a texel of the right side: one subgroup owns ROWS rows and
// 4 * COLUMNS columns a lane. A left texel holds four depths of a row in each lane.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "product.glsl"
layout(binding = 1) uniform samplerBuffer right;
layout(binding = 4) uniform samplerBuffer totals; // what each row is divided by

layout(constant_id = 10) const uint DIVIDES = 0;

const uint BLOCK = ROWS < 4 ? ROWS : 4;
const uint LEFTS = (ROWS + LANES - 1) / LANES;

void main() {
  const uint lane = gl_SubgroupInvocationID;
  const uint tile = gl_WorkGroupID.x, batch = gl_WorkGroupID.z;
  const uint row = gl_WorkGroupID.y * ROWS;
  const uint texels = columns / 4;
  const uint first = tile * LANES * COLUMNS + lane;
  int lefts[LEFTS];
  [[unroll]] for (uint i = 0; i < LEFTS; i++) {
    uint own = min(row + (ROWS == 1 ? 0 : i * LANES + lane), rows - 1);
    lefts[i] = int(leftBase + batch * leftBatch + place(own, leftOuter, leftInner));
  }
  int rights[COLUMNS];
  [[unroll]] for (uint v = 0; v < COLUMNS; v++) {
    rights[v] = int(batch * rightBatch + min(first + v * LANES, texels - 1));
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
        x[i] = ROWS == 1 ? a[0] : subgroupShuffle(a[(r + i) / LANES], (r + i) % LANES);
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
      if (first + v * LANES >= texels) break;
      uint own = target / 4 + first + v * LANES;
      vec4 value = sums[r * COLUMNS + v] * share;
      if (ADDS != 0) value += wide[own];
      wide[own] = finished(value);
    }
  }
}
