#version 450
// Cosines and sines of positions times rates.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(binding = 0) uniform isamplerBuffer positions;
layout(binding = 1) uniform samplerBuffer rates;
layout(binding = 2) writeonly buffer Narrow { float narrow[]; };

layout(push_constant) uniform Push {
  uint count; // numbers of the result
  uint rateCount;
};

// Cosine and sine by reduction to an eighth of a turn: shaders promise them only near 0.
vec2 turn(float angle) {
  float quarter = round(angle * 0.6366197723675814);
  precise float r = fma(-quarter, 1.5703125, angle);
  r = fma(-quarter, 4.837512969970703125e-4, r);
  r = fma(-quarter, 7.54978995489188216e-8, r);
  float s = r * r;
  float sine = r + r * s * (-1.6666654611e-1 + s * (8.3321608736e-3 - s * 1.9515295891e-4));
  float cosine =
      1 - 0.5 * s + s * s * (4.166664568298827e-2 + s * (-1.388731625493765e-3 + s * 2.443315711809948e-5));
  int which = int(quarter) & 3;
  vec2 pair = which % 2 == 0 ? vec2(cosine, sine) : vec2(sine, cosine);
  return vec2(which == 1 || which == 2 ? -pair.x : pair.x, which >= 2 ? -pair.y : pair.y);
}

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= count) return;
  uint place = index % (2 * rateCount);
  float rate = texelFetch(rates, int(place % rateCount)).x;
  vec2 pair = turn(float(texelFetch(positions, int(index / (2 * rateCount))).x) * rate);
  narrow[index] = stored(place < rateCount ? pair.x : pair.y);
}
