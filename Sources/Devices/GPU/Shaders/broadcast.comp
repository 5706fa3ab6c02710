#version 450
// A function of two operands that repeat in any way, one number at a time.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint OPERATION = 0;

layout(binding = 0) uniform samplerBuffer a;
layout(binding = 1) uniform samplerBuffer b;
layout(binding = 2) writeonly buffer Narrow { float narrow[]; };

layout(push_constant) uniform Push {
  uint count;
  uint rank;
  uint extents[6];
  uint left[6];
  uint right[6];
};

float apply(float x, float y) {
  switch (OPERATION) {
  case 16: return x + y;
  case 17: return x - y;
  case 18: return x * y;
  case 19: return x / y;
  case 20: return isnan(x) || isnan(y) ? x + y : max(x, y);
  default: return isnan(x) || isnan(y) ? x + y : min(x, y);
  }
}

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= count) return;
  uint rest = index, l = 0, r = 0;
  for (uint axis = rank; axis-- > 0;) {
    uint place = rest % extents[axis];
    rest /= extents[axis];
    l += place * left[axis];
    r += place * right[axis];
  }
  narrow[index] = stored(apply(texelFetch(a, int(l)).x, texelFetch(b, int(r)).x));
}
