// Sums and maxima over a workgroup; SUBGROUPS is 1 where the workgroup is one subgroup.
layout(constant_id = 3) const uint SUBGROUPS = 1;

shared float partial[64];

float workgroupAdd(float x) {
  float sum = subgroupAdd(x);
  if (SUBGROUPS == 1) return sum;
  barrier();
  if (subgroupElect()) partial[gl_SubgroupID] = sum;
  barrier();
  sum = 0;
  for (uint i = 0; i < gl_NumSubgroups; i++) sum += partial[i];
  return sum;
}

float workgroupMax(float x) {
  float peak = subgroupMax(x);
  if (SUBGROUPS == 1) return peak;
  barrier();
  if (subgroupElect()) partial[gl_SubgroupID] = peak;
  barrier();
  peak = partial[0];
  for (uint i = 1; i < gl_NumSubgroups; i++) peak = max(peak, partial[i]);
  return peak;
}
