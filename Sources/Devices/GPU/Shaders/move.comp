#version 450
// Copies a block of up to six axes from one place to another, both with strides.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint FILLS = 0; // writes zeros in place of the source

layout(binding = 0) uniform usamplerBuffer source;
layout(binding = 1) writeonly buffer Wide { uvec4 wide[]; };
layout(binding = 1) writeonly buffer Narrow { uint narrow[]; };

layout(push_constant) uniform Push {
  uint count; // texels
  uint rank;
  uint from, to;
  uint extents[6];
  uint read[6];
  uint write[6];
};

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= count) return;
  uint rest = index, s = from, t = to;
  for (uint axis = rank; axis-- > 0;) {
    uint place = rest % extents[axis];
    rest /= extents[axis];
    s += place * read[axis];
    t += place * write[axis];
  }
  uvec4 value = FILLS != 0 ? uvec4(0) : texelFetch(source, int(s));
  if (WIDE != 0) wide[t] = value;
  else narrow[t] = value.x;
}
