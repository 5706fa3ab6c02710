#version 450
// Norms and softmax of rows, a workgroup each.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduction.glsl"

layout(constant_id = 4) const uint OPERATION = 0; // 0 RMS norm, 1 layer norm, 2 softmax
layout(constant_id = 5) const uint WEIGHTED = 0;
layout(constant_id = 6) const uint CLAMPS = 0;
layout(constant_id = 7) const uint ADDS = 0; // adds another tensor to the stored result

layout(binding = 0) uniform samplerBuffer x;
layout(binding = 1) uniform samplerBuffer weight;
layout(binding = 2) writeonly buffer Wide { vec4 wide[]; };
layout(binding = 2) writeonly buffer Narrow { float narrow[]; };
layout(binding = 3) uniform samplerBuffer other;

layout(push_constant) uniform Push {
  uint rows;
  uint width; // texels
  float epsilon;
  float lower, upper;
};

float sum(vec4 v) { return WIDE != 0 ? (v.x + v.y) + (v.z + v.w) : v.x; }
float peak(vec4 v) { return WIDE != 0 ? max(max(v.x, v.y), max(v.z, v.w)) : v.x; }

void put(uint index, vec4 value) {
  value = stored(CLAMPS != 0 ? clamp(value, lower, upper) : value);
  if (ADDS != 0) value = stored(value + texelFetch(other, int(index)));
  if (WIDE != 0) wide[index] = value;
  else narrow[index] = value.x;
}

vec4 weighted(uint column, vec4 value) {
  return WEIGHTED != 0 ? value * texelFetch(weight, int(column)) : value;
}

void main() {
  uint row = workgroup();
  if (row >= rows) return;
  uint start = row * width, lane = gl_LocalInvocationID.x, step = gl_WorkGroupSize.x;
  float count = float(width * (WIDE != 0 ? 4 : 1));
  if (OPERATION == 2) {
    float top = -3.4e38;
    for (uint i = lane; i < width; i += step) top = max(top, peak(texelFetch(x, int(start + i))));
    top = workgroupMax(top);
    float total = 0;
    for (uint i = lane; i < width; i += step) {
      total += sum(exp(texelFetch(x, int(start + i)) - top));
    }
    total = workgroupAdd(total);
    for (uint i = lane; i < width; i += step) {
      put(start + i, exp(texelFetch(x, int(start + i)) - top) / total);
    }
    return;
  }
  float mean = 0;
  if (OPERATION == 1) {
    for (uint i = lane; i < width; i += step) mean += sum(texelFetch(x, int(start + i)));
    mean = workgroupAdd(mean) / count;
  }
  vec4 squares = vec4(0);
  uint i = lane;
  for (; i + 3 * step < width; i += 4 * step) {
    [[unroll]] for (uint j = 0; j < 4; j++) {
      vec4 v = texelFetch(x, int(start + i + j * step)) - mean;
      squares = fma(v, v, squares);
    }
  }
  for (; i < width; i += step) {
    vec4 v = texelFetch(x, int(start + i)) - mean;
    squares = fma(v, v, squares);
  }
  float factor = 1 / sqrt(workgroupAdd(sum(squares)) / count + epsilon);
  i = lane;
  for (; i + 3 * step < width; i += 4 * step) {
    [[unroll]] for (uint j = 0; j < 4; j++) {
      uint column = i + j * step;
      put(start + column, weighted(column, (texelFetch(x, int(start + column)) - mean) * factor));
    }
  }
  for (; i < width; i += step) {
    put(start + i, weighted(i, (texelFetch(x, int(start + i)) - mean) * factor));
  }
}
