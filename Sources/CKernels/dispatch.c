// Which instruction set is used: the best the processor has, or the one a test asked for.
#include <stdatomic.h>
#include <string.h>

#include "kernels.h"

static _Atomic(const tk_kernels *) chosen;

static bool runs(const tk_kernels *kernels) {
  if (kernels == &tk_portable) return true;
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("f16c");
  if (kernels == &tk_avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const tk_kernels *tk_named(const char *name) {
  const tk_kernels *all[] = {&tk_avx512, &tk_avx2, &tk_portable};
  for (int i = 0; i < 3; i++)
    if ((!name || strcmp(all[i]->rows.name, name) == 0) && runs(all[i])) return all[i];
  return NULL;
}

const tk_kernels *tk_best(void) {
  const tk_kernels *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (!kernels) {
    kernels = tk_named(NULL);
    atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
  }
  return kernels;
}

extern const tk_pair_tiles tk_pairs_vnni;

const tk_pair_tiles *tk_pairs_of(const tk_kernels *kernels) {
  __builtin_cpu_init();
  return kernels == &tk_avx512 && __builtin_cpu_supports("avx512vnni") ? &tk_pairs_vnni : NULL;
}

const tk_rows *tk_rows_best(void) { return &tk_best()->rows; }

const tk_rows *tk_rows_named(const char *name) {
  const tk_kernels *kernels = tk_named(name);
  return kernels ? &kernels->rows : NULL;
}

bool tk_use(const char *name) {
  const tk_kernels *kernels = tk_named(name);
  if (kernels) atomic_store(&chosen, kernels);
  return kernels != NULL;
}
