#version 450
// Numbers that f16 can hold, as pairs of f16.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(binding = 0) uniform samplerBuffer source; // single numbers
layout(binding = 1) writeonly buffer Words { uint words[]; };

layout(push_constant) uniform Push {
  uint count; // numbers
};

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index * 2 >= count) return;
  int first = int(index * 2), last = min(first + 1, int(count) - 1);
  words[index] = packHalf2x16(vec2(texelFetch(source, first).x, texelFetch(source, last).x));
}
