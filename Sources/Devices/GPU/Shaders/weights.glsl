// Weights as the packed layout holds them: tiles of 8 columns a lane, within a tile four
// depths at a time, then 8 texels of every lane; lane l owns columns l * 8 and on.
//
// WEIGHT chooses the format: 0 f16, 1 bytes with a scale per 32, 2 bytes with a scale per row,
// 3 nibbles with a scale per 32, 4 nibbles into tables of 16.
#ifdef WEIGHT
layout(binding = 1) uniform usamplerBuffer weights;
layout(binding = 4) uniform samplerBuffer scales;

vec4 bytes(uint word) {
  return vec4(int(word) << 24 >> 24, int(word) << 16 >> 24, int(word) << 8 >> 24, int(word) >> 24);
}
vec4 nibbles(uint word) {
  return vec4(word & 15u, word >> 4 & 15u, word >> 8 & 15u, word >> 12 & 15u);
}

// Scales of a column: those of a block or row; `column` is the padded number of the column.
float scale(uint column, uint k, uint blocks) {
#if WEIGHT == 1 || WEIGHT == 3
  return texelFetch(scales, int(column * blocks + k / 8)).x;
#elif WEIGHT == 2
  return texelFetch(scales, int(column)).x;
#else
  return 1;
#endif
}

vec4 weight(int index, float factor, uint column) {
#if WEIGHT == 0
  uvec2 words = texelFetch(weights, index).xy;
  return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
#elif WEIGHT == 1 || WEIGHT == 2
  return bytes(texelFetch(weights, index).x) * factor;
#elif WEIGHT == 3
  return (nibbles(texelFetch(weights, index).x) - 8) * factor;
#else
  uint word = texelFetch(weights, index).x;
  int table = int(column / 32 * 16);
  return vec4(texelFetch(scales, table + int(word & 15u)).x,
              texelFetch(scales, table + int(word >> 4 & 15u)).x,
              texelFetch(scales, table + int(word >> 8 & 15u)).x,
              texelFetch(scales, table + int(word >> 12 & 15u)).x);
#endif
}
#endif
