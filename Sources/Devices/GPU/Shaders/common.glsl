// What every shader shares: workgroup size, rounding to f16, texels and stores.
//
// Values lie in memory as f32 that f16 can hold. A texel is four numbers where WIDE is set, one
// where it is not; loads go through uniform texel buffers, stores through storage buffers.
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint ROUNDS = 1;
layout(constant_id = 2) const uint WIDE = 1;

// The nearest f16, ties to even, as f32: adding 2^13 units in the last place of an f16 and taking
// them away again leaves what f16 keeps.
vec4 toHalf(vec4 x) {
  uvec4 bits = floatBitsToUint(x);
  uvec4 magnitude = bits & 0x7FFFFFFFu;
  uvec4 exponent = clamp(magnitude & 0x7F800000u, uvec4(0x38800000u), uvec4(0x47800000u));
  vec4 shift = uintBitsToFloat(exponent + (13u << 23));
  precise vec4 sum = uintBitsToFloat(magnitude) + shift;
  precise vec4 kept = sum - shift;
  uvec4 rounded = floatBitsToUint(kept);
  rounded = mix(rounded, max(magnitude, uvec4(0x7F800000u)),
                greaterThanEqual(magnitude, uvec4(0x477FF000u)));
  rounded = mix(rounded, magnitude, greaterThan(magnitude, uvec4(0x7F800000u)));
  return uintBitsToFloat(rounded | (bits & 0x80000000u));
}

vec4 stored(vec4 x) { return ROUNDS != 0 ? toHalf(x) : x; }
float stored(float x) { return ROUNDS != 0 ? toHalf(vec4(x)).x : x; }

// Workgroups in rows of at most 65535.
uint workgroup() { return gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x; }

// tanh with a small relative error everywhere.
float tangent(float x) {
  float s = x * x;
  float series = x * (1 + s * (-0.33333334 + s * (0.13333334 - s * 0.053968254)));
  float wide = 1 - 2 / (exp(2 * x) + 1);
  return abs(x) < 0.125 ? series : wide;
}
