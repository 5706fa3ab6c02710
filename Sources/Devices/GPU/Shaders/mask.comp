#version 450
// What queries must not see, as numbers to add to scores.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint MODE = 0; // 0 a count, 1 causal over a ring and a step
layout(constant_id = 4) const uint BLOCKS = 0;

layout(binding = 0) uniform isamplerBuffer queryPosition; // or the count
layout(binding = 1) uniform isamplerBuffer position;
layout(binding = 2) uniform isamplerBuffer blocks;
layout(binding = 3) writeonly buffer Narrow { float narrow[]; };

layout(push_constant) uniform Push {
  uint count;
  uint past, fresh;
  uint window; // 0 for none
};

bool sees(uint query, uint key) {
  int own = texelFetch(queryPosition, 0).x + int(query), start = texelFetch(position, 0).x;
  int place;
  bool together = false;
  if (key < past) {
    if (start <= 0) return false;
    place = start - 1 - (start - 1 - int(key) + int(past) * 2) % int(past);
    if (place < 0) return false;
  } else {
    place = start + int(key - past);
    int at = own - start;
    if (BLOCKS != 0 && at >= 0 && at < int(fresh)) {
      int share = texelFetch(blocks, at).x;
      together = share > 0 && texelFetch(blocks, int(key - past)).x == share;
    }
  }
  return (place <= own || together) && (window == 0 || own - place < int(window));
}

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= count) return;
  bool seen = MODE == 0 ? int(index) < texelFetch(queryPosition, 0).x
                        : sees(index / (past + fresh), index % (past + fresh));
  narrow[index] = seen ? 0 : -32768;
}
