#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int find_driver(struct dl_phdr_info *info, size_t size, void *found) {
  (void)size;
  if (!strstr(info->dlpi_name, "libvulkan_lvp")) return 0;
  const char *version = "Mesa 22.3.";
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_R) || part->p_flags & PF_W) continue;
    const void *start = (const void *)(info->dlpi_addr + part->p_vaddr);
    if (memmem(start, part->p_filesz, version, strlen(version))) *(bool *)found = true;
  }
  return 0;
}

void tg_widen_software_driver(void) {
#ifdef __x86_64__
  if (getenv("LP_NATIVE_VECTOR_WIDTH") || !__builtin_cpu_supports("avx512f")) return;
  bool found = false;
  dl_iterate_phdr(find_driver, &found);
  if (found) setenv("LP_NATIVE_VECTOR_WIDTH", "512", 0);
#endif
}
