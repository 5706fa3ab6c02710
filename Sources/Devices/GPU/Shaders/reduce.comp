#version 450
// Folds one axis: [outer, extent, inner] to [outer, inner].
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint OPERATION = 0; // 0 sum, 1 mean, 2 maximum

layout(binding = 0) uniform samplerBuffer x;
layout(binding = 1) writeonly buffer Wide { vec4 wide[]; };
layout(binding = 1) writeonly buffer Narrow { float narrow[]; };

layout(push_constant) uniform Push {
  uint count;
  uint extent;
  uint inner; // texels
};

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= count) return;
  uint start = index / inner * extent * inner + index % inner;
  vec4 result = texelFetch(x, int(start));
  for (uint i = 1; i < extent; i++) {
    vec4 next = texelFetch(x, int(start + i * inner));
    result = OPERATION == 2 ? max(result, next) : result + next;
  }
  if (OPERATION == 1) result /= float(extent);
  if (WIDE != 0) wide[index] = stored(result);
  else narrow[index] = stored(result.x);
}
