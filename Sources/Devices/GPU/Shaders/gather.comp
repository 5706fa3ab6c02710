#version 450
// Rows of a table by number; numbers outside the table give zeros.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint FORMAT = 0; // 0 f32, 1 f16, 2 bf16, 3-6 quantised

layout(binding = 0) uniform usamplerBuffer table; // words
layout(binding = 1) uniform isamplerBuffer ids;
layout(binding = 2) writeonly buffer Narrow { float narrow[]; };

layout(push_constant) uniform Push {
  uint count; // numbers of the result
  uint width;
  uint rows;
};

uint word(uint i) { return texelFetch(table, int(i)).x; }
uint halfword(uint i) { return word(i >> 1) >> (i % 2 * 16) & 0xFFFFu; }
float half1(uint i) { return unpackHalf2x16(halfword(i)).x; }
float byteAt(uint i) { return float(int(word(i >> 2) << (24 - i % 4 * 8)) >> 24); }
uint nibble(uint i) { return word(i >> 3) >> (i % 8 * 4) & 15u; }

float element(uint row, uint column) {
  uint i = row * width + column, total = rows * width;
  switch (FORMAT) {
  case 0: return uintBitsToFloat(word(i));
  case 1: return half1(i);
  case 2: return uintBitsToFloat(halfword(i) << 16);
  case 3: return byteAt(i) * half1(total / 2 + i / 32);
  case 4: return byteAt(i) * half1(total / 2 + row);
  case 5: return (float(nibble(i)) - 8) * half1(total / 4 + i / 32);
  default: return half1(total / 4 + row / 32 * 16 + nibble(i));
  }
}

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= count) return;
  int row = texelFetch(ids, int(index / width)).x;
  bool exists = row >= 0 && row < int(rows);
  narrow[index] = exists ? stored(element(uint(row), index % width)) : 0;
}
