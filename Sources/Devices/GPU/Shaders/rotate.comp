#version 450
// Rotates half-split pairs of each head's parts.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(binding = 0) uniform samplerBuffer x;
layout(binding = 1) uniform samplerBuffer angles;
layout(binding = 2) writeonly buffer Wide { vec4 wide[]; };
layout(binding = 2) writeonly buffer Narrow { float narrow[]; };

layout(push_constant) uniform Push {
  uint count; // texels of half the tensor
  uint heads;
  uint width; // texels of a head
  uint part; // texels of half a part
};

void put(uint index, vec4 value) {
  if (WIDE != 0) wide[index] = stored(value);
  else narrow[index] = stored(value.x);
}

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= count) return;
  uint halfWidth = width / 2;
  uint row = index / halfWidth, pair = index % halfWidth;
  uint column = pair / part * 2 * part + pair % part;
  uint first = row * width + column, angle = row / heads * width + column;
  vec4 a = texelFetch(x, int(first)), b = texelFetch(x, int(first + part));
  vec4 c = texelFetch(angles, int(angle)), s = texelFetch(angles, int(angle + part));
  put(first, a * c - b * s);
  put(first + part, b * c + a * s);
}
