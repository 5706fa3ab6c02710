#version 450
// One function of a, or of a and b, where b has a's shape, repeats along rows or is one number.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint OPERATION = 0;
layout(constant_id = 4) const uint REPEATS = 0;
layout(constant_id = 5) const uint CLAMPS = 0;

layout(binding = 0) uniform samplerBuffer a;
layout(binding = 1) uniform samplerBuffer b;
layout(binding = 2) writeonly buffer Wide { vec4 wide[]; };
layout(binding = 2) writeonly buffer Narrow { float narrow[]; };

layout(push_constant) uniform Push {
  uint count; // texels
  uint width; // texels of a row
  float first, second;
  float lower, upper;
};

float gelu(float x) {
  return 0.5 * x * (1 + tangent(0.7978845608 * (x + 0.044715 * x * x * x)));
}
vec4 gelu(vec4 x) { return vec4(gelu(x.x), gelu(x.y), gelu(x.z), gelu(x.w)); }
vec4 sigmoid(vec4 x) { return 1 / (1 + exp(-x)); }
// log(1 + e) for e in 0...1, exact enough for small e too.
vec4 logOnePlus(vec4 e) {
  vec4 u = 1 + e;
  precise vec4 lost = u - 1;
  return mix(log(u) * e / max(lost, 1e-30), e, equal(lost, vec4(0)));
}

// NaN where either operand is.
vec4 whole(vec4 result, vec4 x, vec4 y) {
  return mix(result, x + y, notEqual(uvec4(isnan(x)) + uvec4(isnan(y)), uvec4(0)));
}

vec4 apply(vec4 x, vec4 y) {
  switch (OPERATION) {
  case 0: return x;
  case 1: return gelu(x);
  case 2: return x * sigmoid(x);
  case 3: return sigmoid(x);
  case 4: return max(x, 0);
  case 5: return vec4(tangent(x.x), tangent(x.y), tangent(x.z), tangent(x.w));
  case 6: return max(x, 0) + logOnePlus(exp(-abs(x)));
  case 7: return exp(x);
  case 8: return first * x + second;
  case 9: return min(max(x, first), second);
  case 10: {
    vec4 t = x / first;
    return first * vec4(tangent(t.x), tangent(t.y), tangent(t.z), tangent(t.w));
  }
  case 11: return stored(gelu(x)) * y;
  case 16: return x + y;
  case 17: return x - y;
  case 18: return x * y;
  case 19: return x / y;
  case 20: return whole(max(x, y), x, y);
  case 21: return whole(min(x, y), x, y);
  default: return x;
  }
}

vec4 right(uint index) {
  switch (REPEATS) {
  case 1: return texelFetch(b, int(index));
  case 2: return texelFetch(b, int(index % width));
  case 3: return texelFetch(b, int(index / width)).xxxx;
  case 4: return texelFetch(b, 0).xxxx;
  default: return vec4(0);
  }
}

void one(uint index) {
  vec4 result = apply(texelFetch(a, int(index)), right(index));
  result = stored(CLAMPS != 0 ? clamp(result, lower, upper) : result);
  if (WIDE != 0) wide[index] = result;
  else narrow[index] = result.x;
}

void main() {
  const uint each = 8;
  uint start = workgroup() * gl_WorkGroupSize.x * each + gl_LocalInvocationID.x;
  if (start + gl_WorkGroupSize.x * (each - 1) < count) {
    [[unroll]] for (uint i = 0; i < each; i++) one(start + i * gl_WorkGroupSize.x);
  } else {
    for (uint i = 0; i < each; i++) {
      uint index = start + i * gl_WorkGroupSize.x;
      if (index < count) one(index);
    }
  }
}
