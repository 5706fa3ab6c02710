#version 450
// Two-dimensional convolution, or one along rows of each channel by itself.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint DEPTHWISE = 0;

layout(binding = 0) uniform samplerBuffer x; // single numbers unless depthwise
layout(binding = 1) uniform samplerBuffer weights; // [kh, kw, C, O], or [K, C]
layout(binding = 2) writeonly buffer Wide { vec4 wide[]; };
layout(binding = 2) writeonly buffer Narrow { float narrow[]; };

layout(push_constant) uniform Push {
  uint count; // texels of the result
  uint height, width, channels; // depthwise: channels in texels
  uint resultWidth, outputs; // outputs in texels
  uint kernelHeight, kernelWidth;
  uint stride;
  int padding;
};

void main() {
  uint index = workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= count) return;
  vec4 sum = vec4(0);
  if (DEPTHWISE != 0) {
    uint row = index / channels, channel = index % channels;
    for (uint tap = 0; tap < kernelWidth; tap++) {
      int place = int(row) - int(kernelWidth) + 1 + int(tap);
      if (place < 0) continue;
      sum = fma(texelFetch(x, place * int(channels) + int(channel)),
                texelFetch(weights, int(tap * channels + channel)), sum);
    }
  } else {
    uint output_ = index % outputs, pixel = index / outputs;
    int top = int(pixel / resultWidth * stride) - padding;
    int start = int(pixel % resultWidth * stride) - padding;
    for (uint i = 0; i < kernelHeight; i++) {
      int r = top + int(i);
      if (r < 0 || r >= int(height)) continue;
      for (uint j = 0; j < kernelWidth; j++) {
        int c = start + int(j);
        if (c < 0 || c >= int(width)) continue;
        int from = (r * int(width) + c) * int(channels);
        int at = int((i * kernelWidth + j) * channels * outputs + output_);
        // Sums of sums lose less than one long sum.
        vec4 tap = vec4(0);
        for (uint channel = 0; channel < channels; channel++) {
          vec4 w = texelFetch(weights, at + int(channel * outputs));
          tap = fma(texelFetch(x, from + int(channel)).xxxx, w, tap);
        }
        sum += tap;
      }
    }
  }
  if (WIDE != 0) wide[index] = stored(sum);
  else narrow[index] = stored(sum.x);
}
