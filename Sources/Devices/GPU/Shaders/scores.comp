#version 450
// Softmax of attention scores where they lie, hidden keys becoming zeros; a workgroup a row.
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

vec4 masked(uint texel, uint row) {
  vec4 x = texelFetch(scores, int(row * width + texel));
  uint key = texel * 4;
  const float none = -3.4e38;
  return vec4(sees(key) ? x.x : none, sees(key + 1) ? x.y : none, sees(key + 2) ? x.z : none,
              sees(key + 3) ? x.w : none);
}

// Texels that may hold visible keys: two ranges, the ring's and the step's.
uint live(uint which) {
  if (MODE != 2) return which == 0 ? 0 : width;
  if (which == 0) return (min(past, uint(max(start, 0))) + 3) / 4;
  return width;
}

void main() {
  uint row = workgroup();
  if (row >= rows) return;
  uint lane = gl_LocalInvocationID.x, step = gl_WorkGroupSize.x;
  start = MODE == 0 ? 0 : texelFetch(position, 0).x;
  if (MODE == 2) {
    uint index = query + row / group % queries;
    own = texelFetch(queryPosition, 0).x + int(index);
    int at = own - start;
    share = BLOCKS != 0 && at >= 0 && at < int(fresh) ? texelFetch(blocks, at).x : 0;
  }
  uint end = live(0), resume = MODE == 2 ? max(freshStart / 4, end) : 0;
  float top = -3.4e38;
  for (uint i = lane; i < end; i += step) {
    vec4 x = masked(i, row);
    top = max(top, max(max(x.x, x.y), max(x.z, x.w)));
  }
  for (uint i = resume + lane; i < width; i += step) {
    vec4 x = masked(i, row);
    top = max(top, max(max(x.x, x.y), max(x.z, x.w)));
  }
  top = workgroupMax(top);
  vec4 sums = vec4(0);
  for (uint i = lane; i < end; i += step) {
    vec4 x = masked(i, row);
    sums += mix(vec4(0), exp(x - top), greaterThan(x, vec4(-3.3e38)));
  }
  for (uint i = resume + lane; i < width; i += step) {
    vec4 x = masked(i, row);
    sums += mix(vec4(0), exp(x - top), greaterThan(x, vec4(-3.3e38)));
  }
  float total = workgroupAdd((sums.x + sums.y) + (sums.z + sums.w));
  float share1 = total > 0 ? 1 / total : 0;
  for (uint i = lane; i < end; i += step) {
    vec4 x = masked(i, row);
    wide[row * width + i] = mix(vec4(0), exp(x - top) * share1, greaterThan(x, vec4(-3.3e38)));
  }
  for (uint i = resume + lane; i < width; i += step) {
    vec4 x = masked(i, row);
    wide[row * width + i] = mix(vec4(0), exp(x - top) * share1, greaterThan(x, vec4(-3.3e38)));
  }
}
