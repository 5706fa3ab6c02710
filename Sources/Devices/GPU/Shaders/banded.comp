#version 450
// Local attention with relative keys: a subgroup for each query and head.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint WINDOW = 12;

layout(binding = 0) uniform samplerBuffer query;
layout(binding = 1) uniform samplerBuffer keys;
layout(binding = 2) uniform samplerBuffer values;
layout(binding = 3) uniform samplerBuffer relative;
layout(binding = 4) uniform isamplerBuffer count;
layout(binding = 5) writeonly buffer Wide { vec4 wide[]; };
layout(binding = 5) writeonly buffer Narrow { float narrow[]; };

layout(push_constant) uniform Push {
  uint rows; // queries times heads
  uint heads;
  uint width; // texels of a head
  float cap;
};

float sum(vec4 v) { return WIDE != 0 ? (v.x + v.y) + (v.z + v.w) : v.x; }

void main() {
  uint row = workgroup();
  if (row >= rows) return;
  uint lane = gl_SubgroupInvocationID;
  int token = int(row / heads), head = int(row % heads);
  int end = min(token + 1, texelFetch(count, 0).x);
  int begin = max(0, token - int(WINDOW) + 1);
  float weights[WINDOW];
  float top = -3.4e38, total = 0;
  for (int i = 0; i < int(WINDOW); i++) {
    int key = begin + i;
    if (key >= end) break;
    float score = 0;
    for (uint e = lane; e < width; e += gl_SubgroupSize) {
      vec4 q = texelFetch(query, int(row * width + e));
      vec4 k = texelFetch(keys, int((uint(key) * heads + head) * width + e));
      vec4 r = texelFetch(relative, int((uint(token - key) * heads + head) * width + e));
      score += sum(q * (k + r));
    }
    score = cap * tangent(subgroupAdd(score) / cap);
    weights[i] = score;
    top = max(top, score);
  }
  for (int i = 0; i < int(WINDOW); i++) {
    if (begin + i >= end) break;
    weights[i] = exp(weights[i] - top);
    total += weights[i];
  }
  for (uint e = lane; e < width; e += gl_SubgroupSize) {
    vec4 mixed = vec4(0);
    for (int i = 0; i < int(WINDOW); i++) {
      int key = begin + i;
      if (key >= end) break;
      mixed += weights[i] / total * texelFetch(values, int((uint(key) * heads + head) * width + e));
    }
    if (WIDE != 0) wide[row * width + e] = stored(mixed);
    else narrow[row * width + e] = stored(mixed.x);
  }
}
