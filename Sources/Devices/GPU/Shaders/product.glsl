// Operands, sizes and places that all matrix products share.
//
// Rows are numbered within a batch; `group` of them lie `inner` apart, then `outer`. Limits that
// only a launch knows come from `numbers`: see visible().
const uint LANES = gl_WorkGroupSize.x; // of kernels that are one subgroup
layout(constant_id = 3) const uint ROWS = 24;
layout(constant_id = 4) const uint COLUMNS = 8;
layout(constant_id = 5) const uint BIASED = 0;
layout(constant_id = 6) const uint LIMIT = 0;
layout(constant_id = 7) const uint ROUNDS_RIGHT = 0;
layout(constant_id = 8) const uint ADDS = 0;
layout(constant_id = 9) const uint CLAMPS = 0;

layout(binding = 0) uniform samplerBuffer left;
layout(binding = 2) buffer Result { float result[]; };
layout(binding = 2) buffer Wide { vec4 wide[]; };
layout(binding = 3) uniform isamplerBuffer numbers;

layout(push_constant) uniform Push {
  uint rows, columns, depth; // depth in fours
  uint group;
  uint leftBase, leftOuter, leftInner, leftBatch; // texels
  uint rightRow, rightBatch; // texels
  uint resultBase, resultOuter, resultInner, resultBatch; // numbers
  float factor;
  uint blocks; // of scales in a column, or rows on the right that is no weight
  float lower, upper;
};

vec4 finished(vec4 x) { return stored(CLAMPS != 0 ? clamp(x, lower, upper) : x); }

uint place(uint row, uint outer, uint inner) { return row / group * outer + row % group * inner; }

// Keys that exist at all: 0 all, 1 the first numbers[0], 2 the ring's below numbers[0].
uint visible(uint most) {
  if (LIMIT == 0) return most;
  return min(most, uint(max(texelFetch(numbers, 0).x, LIMIT == 1 ? 1 : 0)));
}
