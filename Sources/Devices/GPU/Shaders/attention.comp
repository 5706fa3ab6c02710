#version 450
// Attention without a matrix of scores: one subgroup of 8 or 16 lanes owns ROWS queries of a
// head and goes through the keys, eight a lane at a time, keeping each query's largest score, sum
// and mixture.
//
// Lane l holds the scores of eight keys; for the mixture, scores go round the lanes one step at a
// time, and each lane owns TEXELS texels of the values' columns.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint LANES = gl_WorkGroupSize.x;
layout(constant_id = 3) const uint ROWS = 16;
layout(constant_id = 4) const uint TEXELS = 2;
layout(constant_id = 5) const uint COUNTED = 0;
layout(constant_id = 6) const uint CLAMPS = 0;

layout(binding = 0) uniform samplerBuffer query; // [tokens, heads, E]
layout(binding = 1) uniform samplerBuffer keys; // [groups, rows, E]
layout(binding = 2) uniform samplerBuffer values;
layout(binding = 3) uniform isamplerBuffer count;
layout(binding = 4) writeonly buffer Wide { vec4 wide[]; };

layout(push_constant) uniform Push {
  uint tokens, heads, group, rows;
  float factor, lower, upper;
};

const uint DEPTH = TEXELS * LANES; // texels of a head
const uint LEFTS = ROWS / LANES;
const float none = -3.4e38;

float acrossMax(float x) {
  x = max(x, subgroupShuffleXor(x, 1));
  x = max(x, subgroupShuffleXor(x, 2));
  x = max(x, subgroupShuffleXor(x, 4));
  return LANES > 8 ? max(x, subgroupShuffleXor(x, 8)) : x;
}
float acrossAdd(float x) {
  x += subgroupShuffleXor(x, 1);
  x += subgroupShuffleXor(x, 2);
  x += subgroupShuffleXor(x, 4);
  return LANES > 8 ? x + subgroupShuffleXor(x, 8) : x;
}

void main() {
  const uint lane = gl_SubgroupInvocationID;
  const uint row = gl_WorkGroupID.x * ROWS, head = gl_WorkGroupID.y;
  const uint limit = COUNTED != 0 ? min(rows, uint(max(texelFetch(count, 0).x, 1))) : rows;
  const int base = int(head / group * rows * DEPTH);
  int lefts[LEFTS];
  [[unroll]] for (uint i = 0; i < LEFTS; i++) {
    lefts[i] = int((min(row + i * LANES + lane, tokens - 1) * heads + head) * DEPTH);
  }
  float top[ROWS], total[ROWS];
  vec4 mixed[ROWS * TEXELS];
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    top[r] = none;
    total[r] = 0;
    [[unroll]] for (uint t = 0; t < TEXELS; t++) mixed[r * TEXELS + t] = vec4(0);
  }
  for (uint first = 0; first < limit; first += LANES * 8) {
    float scores[ROWS * 8];
    [[unroll]] for (uint i = 0; i < ROWS * 8; i++) scores[i] = 0;
    int rights[8];
    [[unroll]] for (uint v = 0; v < 8; v++) {
      rights[v] = base + int(min(first + lane * 8 + v, rows - 1) * DEPTH);
    }
    [[dont_unroll]] for (uint k = 0; k < DEPTH; k++) {
      vec4 a[LEFTS], b[8];
      [[unroll]] for (uint i = 0; i < LEFTS; i++) a[i] = texelFetch(query, lefts[i] + int(k));
      [[unroll]] for (uint v = 0; v < 8; v++) b[v] = texelFetch(keys, rights[v] + int(k));
      [[unroll]] for (uint r = 0; r < ROWS; r += 4) {
        vec4 x[4];
        [[unroll]] for (uint j = 0; j < 4; j++) {
          x[j] = subgroupShuffle(a[(r + j) / LANES], (r + j) % LANES);
        }
        [[unroll]] for (uint v = 0; v < 8; v++) {
          [[unroll]] for (uint j = 0; j < 4; j++) {
            uint s = (r + j) * 8 + v;
            scores[s] = fma(x[j].x, b[v].x, scores[s]);
            scores[s] = fma(x[j].y, b[v].y, scores[s]);
            scores[s] = fma(x[j].z, b[v].z, scores[s]);
            scores[s] = fma(x[j].w, b[v].w, scores[s]);
          }
        }
      }
    }
    if (first + LANES * 8 > limit) {
      [[unroll]] for (uint v = 0; v < 8; v++) {
        bool hidden = first + lane * 8 + v >= limit;
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
          scores[r * 8 + v] = hidden ? none : scores[r * 8 + v];
        }
      }
    }
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      float peak = scores[r * 8];
      [[unroll]] for (uint v = 1; v < 8; v++) peak = max(peak, scores[r * 8 + v]);
      peak = max(top[r], acrossMax(peak));
      float shrink = exp((top[r] - peak) * factor);
      top[r] = peak;
      total[r] *= shrink;
      [[unroll]] for (uint v = 0; v < 8; v++) {
        scores[r * 8 + v] = exp((scores[r * 8 + v] - peak) * factor);
        total[r] += scores[r * 8 + v];
      }
      [[unroll]] for (uint t = 0; t < TEXELS; t++) mixed[r * TEXELS + t] *= shrink;
    }
    [[dont_unroll]] for (uint turn = 0; turn < LANES; turn++) {
      vec4 b[8 * TEXELS];
      [[unroll]] for (uint v = 0; v < 8; v++) {
        int key = base + int(min(first + turn * 8 + v, rows - 1) * DEPTH + lane);
        [[unroll]] for (uint t = 0; t < TEXELS; t++) {
          b[v * TEXELS + t] = texelFetch(values, key + int(t * LANES));
        }
      }
      // Four rows and four keys at a time are what registers hold.
      [[unroll]] for (uint u = 0; u < 8; u += 4) {
        [[unroll]] for (uint r = 0; r < ROWS; r += 4) {
          float p[16];
          [[unroll]] for (uint i = 0; i < 16; i++) {
            p[i] = subgroupShuffle(scores[(r + i / 4) * 8 + u + i % 4], 0);
          }
          [[unroll]] for (uint c = 0; c < 4 * TEXELS; c++) {
            [[unroll]] for (uint j = 0; j < 4; j++) {
              uint m = (r + j) * TEXELS + c / 4;
              [[unroll]] for (uint v = 0; v < 4; v++) {
                float value = b[(u + v) * TEXELS + c / 4][c % 4];
                mixed[m][c % 4] = fma(p[j * 4 + v], value, mixed[m][c % 4]);
              }
            }
          }
        }
      }
      [[unroll]] for (uint i = 0; i < ROWS * 8; i++) {
        scores[i] = subgroupShuffle(scores[i], (lane + 1) % LANES);
      }
    }
  }
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    float share = 1 / acrossAdd(total[r]);
    if (row + r >= tokens) break;
    [[unroll]] for (uint t = 0; t < TEXELS; t++) {
      vec4 value = mixed[r * TEXELS + t] * share;
      if (CLAMPS != 0) value = clamp(value, lower, upper);
      wide[((row + r) * heads + head) * DEPTH + t * LANES + lane] = stored(value);
    }
  }
}
