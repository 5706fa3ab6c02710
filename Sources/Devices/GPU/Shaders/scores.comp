#version 450
// Powers of attention scores where they lie, hidden keys becoming zeros, and their sums, by which
// the mixture is divided; a workgroup a row.
//
// Columns are the ring's `past` rows, then `fresh` rows of the step, then padding to whole texels.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduction.glsl"

layout(constant_id = 4) const uint MODE = 0; // 0 all, 1 the first numbers[0], 2 causal
layout(constant_id = 5) const uint BLOCKS = 0;

layout(binding = 0) uniform samplerBuffer scores;
layout(binding = 1) writeonly buffer Wide { vec4 wide[]; };
layout(binding = 2) uniform isamplerBuffer position; // or the count
layout(binding = 3) uniform isamplerBuffer queryPosition;
layout(binding = 4) uniform isamplerBuffer blocks;
layout(binding = 5) writeonly buffer Totals { float totals[]; };

layout(push_constant) uniform Push {
  uint rows;
  uint width; // texels
  uint past, freshStart, fresh;
  uint group; // rows of one query
  uint queries; // of a batch
  uint query; // first of them
  uint window; // 0 for none
};

int own, start, share;

bool sees(uint key) {
  if (MODE == 0) return key < fresh;
  if (MODE == 1) return key < min(fresh, uint(max(start, 1)));
  int place;
  bool together = false;
  if (key < past) {
    if (start <= 0) return false;
    place = start - 1 - (start - 1 - int(key) + int(past) * 2) % int(past);
    if (place < 0) return false;
  } else {
    int index = int(key) - int(freshStart);
    if (index < 0 || index >= int(fresh)) return false;
    place = start + index;
    together = BLOCKS != 0 && share > 0 && texelFetch(blocks, index).x == share;
  }
  return (place <= own || together) && (window == 0 || own - place < int(window));
}

const float none = -3.4e38;
uint base, lane, step;
float top = none;
vec4 powers = vec4(0);

vec4 score(uint texel) { return texelFetch(scores, int(base + texel)); }

vec4 masked(uint texel) {
  vec4 x = score(texel);
  uint key = texel * 4;
  return vec4(sees(key) ? x.x : none, sees(key + 1) ? x.y : none, sees(key + 2) ? x.z : none,
              sees(key + 3) ? x.w : none);
}

void raise(vec4 x) { top = max(top, max(max(x.x, x.y), max(x.z, x.w))); }

void put(uint texel, vec4 power) {
  wide[base + texel] = power;
  powers += power;
}

void putMasked(uint texel) {
  vec4 x = masked(texel);
  put(texel, mix(vec4(0), exp(x - top), greaterThan(x, vec4(-3.3e38))));
}

// Every key up to `full` texels is seen, and some of the next texel.
void whole(uint full, bool rest) {
  uint i = lane;
  for (; i + 3 * step < full; i += 4 * step) {
    [[unroll]] for (uint j = 0; j < 4; j++) raise(score(i + j * step));
  }
  for (; i < full; i += step) raise(score(i));
  if (rest && lane == 0) raise(masked(full));
  top = workgroupMax(top);
  i = lane;
  for (; i + 3 * step < full; i += 4 * step) {
    [[unroll]] for (uint j = 0; j < 4; j++) {
      put(i + j * step, exp(score(i + j * step) - top));
    }
  }
  for (; i < full; i += step) put(i, exp(score(i) - top));
  if (rest && lane == 0) putMasked(full);
}

// Keys of the ring up to `end` texels and of the step from `resume` on, each with its own answer.
void causal(uint end, uint resume) {
  for (uint i = lane; i < end; i += step) raise(masked(i));
  for (uint i = resume + lane; i < width; i += step) raise(masked(i));
  top = workgroupMax(top);
  for (uint i = lane; i < end; i += step) putMasked(i);
  for (uint i = resume + lane; i < width; i += step) putMasked(i);
}

void main() {
  uint row = workgroup();
  if (row >= rows) return;
  base = row * width;
  lane = gl_LocalInvocationID.x;
  step = gl_WorkGroupSize.x;
  start = MODE == 0 ? 0 : texelFetch(position, 0).x;
  if (MODE == 2) {
    uint index = query + row / group % queries;
    own = texelFetch(queryPosition, 0).x + int(index);
    int at = own - start;
    share = BLOCKS != 0 && at >= 0 && at < int(fresh) ? texelFetch(blocks, at).x : 0;
    uint end = (min(past, uint(max(start, 0))) + 3) / 4;
    causal(end, max(freshStart / 4, end));
  } else {
    uint limit = MODE == 0 ? fresh : min(fresh, uint(max(start, 1)));
    whole(limit / 4, limit % 4 != 0);
  }
  float total = workgroupAdd((powers.x + powers.y) + (powers.z + powers.w));
  if (lane == 0) totals[row] = total > 0 ? total : 1;
}
