#version 450
// Writes the first rows of a step into a ring, as f32 or as pairs of f16.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint HALVES = 0;

layout(binding = 0) uniform samplerBuffer fresh; // single numbers
layout(binding = 1) writeonly buffer Cache { uint cache[]; };
layout(binding = 2) uniform isamplerBuffer position;
layout(binding = 3) uniform isamplerBuffer count;

layout(push_constant) uniform Push {
  uint rows; // of the step
  uint width; // words of a row
  uint ring;
};

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint row = index / width, word = index % width;
  uint real = min(rows, uint(max(texelFetch(count, 0).x, 0)));
  // Where more rows come than the ring holds, the last ones stay.
  if (row >= real || row + ring < real) return;
  uint target = (uint(texelFetch(position, 0).x) + row) % ring * width + word;
  if (HALVES != 0) {
    int first = int((row * width + word) * 2);
    cache[target] = packHalf2x16(vec2(texelFetch(fresh, first).x, texelFetch(fresh, first + 1).x));
  } else {
    cache[target] = floatBitsToUint(texelFetch(fresh, int(index)).x);
  }
}
