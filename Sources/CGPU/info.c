#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static bool has_extension(const VkExtensionProperties *all, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count; i++) {
    if (!strcmp(all[i].extensionName, name)) return true;
  }
  return false;
}

static void read_limits(tg_info *info, const VkPhysicalDeviceProperties *p) {
  snprintf(info->name, sizeof info->name, "%s", p->deviceName);
  info->vendor_id = p->vendorID;
  info->device_id = p->deviceID;
  info->driver_version = p->driverVersion;
  info->api_version = p->apiVersion;
  info->type = p->deviceType;
  info->storage_range = p->limits.maxStorageBufferRange;
  info->texel_elements = p->limits.maxTexelBufferElements;
  info->storage_alignment = (uint32_t)p->limits.minStorageBufferOffsetAlignment;
  info->texel_alignment = (uint32_t)p->limits.minTexelBufferOffsetAlignment;
  info->push_bytes = p->limits.maxPushConstantsSize;
  info->shared_bytes = p->limits.maxComputeSharedMemorySize;
  info->invocations = p->limits.maxComputeWorkGroupInvocations;
  for (int i = 0; i < 3; i++) {
    info->local_size[i] = p->limits.maxComputeWorkGroupSize[i];
    info->groups[i] = p->limits.maxComputeWorkGroupCount[i];
  }
}

static void read_memory(tg_info *info, const struct tg_functions *vk, VkPhysicalDevice device,
                        bool has_budget) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
      .pNext = has_budget ? &budget : NULL};
  vk->GetPhysicalDeviceMemoryProperties2(device, &memory);
  const VkPhysicalDeviceMemoryProperties *all = &memory.memoryProperties;
  bool every_local_is_visible = all->memoryTypeCount > 0;
  for (uint32_t i = 0; i < all->memoryHeapCount; i++) {
    if (!(all->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)) continue;
    info->memory_size += all->memoryHeaps[i].size;
    info->memory_budget += has_budget ? budget.heapBudget[i] : 0;
    bool visible = false;
    for (uint32_t t = 0; t < all->memoryTypeCount; t++) {
      VkMemoryPropertyFlags wanted =
          VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
      visible = visible || (all->memoryTypes[t].heapIndex == i &&
                            (all->memoryTypes[t].propertyFlags & wanted) == wanted);
    }
    every_local_is_visible = every_local_is_visible && visible;
  }
  // A discrete device's memory may be visible through a bus: it is not shared.
  info->is_unified = every_local_is_visible && info->type != VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

static bool has_compute_queue(const struct tg_functions *vk, VkPhysicalDevice device) {
  uint32_t count = 0;
  vk->GetPhysicalDeviceQueueFamilyProperties(device, &count, NULL);
  VkQueueFamilyProperties *families = calloc(count + 1, sizeof *families);
  if (!families) return false;
  vk->GetPhysicalDeviceQueueFamilyProperties(device, &count, families);
  bool found = false;
  for (uint32_t i = 0; i < count; i++) found = found || families[i].queueFlags & VK_QUEUE_COMPUTE_BIT;
  free(families);
  return found;
}

static void read_features(tg_info *info, const struct tg_functions *vk, VkPhysicalDevice device) {
  VkPhysicalDeviceVulkan12Features twelve = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan11Features eleven = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &twelve};
  VkPhysicalDeviceFeatures2 features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &eleven};
  vk->GetPhysicalDeviceFeatures2(device, &features);
  info->has_timeline = twelve.timelineSemaphore;
  info->has_half_storage = eleven.storageBuffer16BitAccess;
  info->has_half_arithmetic = twelve.shaderFloat16;
  info->has_byte_storage = twelve.storageBuffer8BitAccess;
}

// The largest matrices of f16 that a device multiplies and kernels here can use.
static void read_matrices(tg_info *info, const struct tg_system *system, VkPhysicalDevice device) {
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT sizes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .pNext = &sizes};
  VkPhysicalDeviceVulkan12Features twelve = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &matrices};
  VkPhysicalDeviceFeatures2 features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &twelve};
  system->vk.GetPhysicalDeviceFeatures2(device, &features);
  PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR list =
      (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)system->resolve(
          system->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  bool has_types = twelve.vulkanMemoryModel && twelve.shaderFloat16 && sizes.computeFullSubgroups;
  if (!matrices.cooperativeMatrix || !has_types || !list) return;
  uint32_t count = 0, most = 0;
  list(device, &count, NULL);
  VkCooperativeMatrixPropertiesKHR *all = calloc(count + 1, sizeof *all);
  if (!all) return;
  for (uint32_t i = 0; i < count; i++) {
    all[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  }
  list(device, &count, all);
  for (uint32_t i = 0; i < count; i++) {
    const VkCooperativeMatrixPropertiesKHR *p = &all[i];
    bool is_half = p->AType == VK_COMPONENT_TYPE_FLOAT16_KHR && p->BType == p->AType;
    bool is_single = p->CType == VK_COMPONENT_TYPE_FLOAT32_KHR && p->ResultType == p->CType;
    uint32_t size = p->MSize * p->NSize * p->KSize;
    if (!is_half || !is_single || p->scope != VK_SCOPE_SUBGROUP_KHR || size <= most) continue;
    if (16 % p->MSize || 64 % p->NSize || 32 % p->KSize || p->KSize % 4) continue;
    memcpy(info->matrix, (uint32_t[]){p->MSize, p->NSize, p->KSize}, sizeof info->matrix);
    most = size;
  }
  free(all);
}

void tg_device_info(const tg_system *system, uint32_t index, tg_info *info) {
  memset(info, 0, sizeof *info);
  if (index >= system->count) return;
  const struct tg_functions *vk = &system->vk;
  VkPhysicalDevice device = system->devices[index];
  VkPhysicalDeviceProperties basic;
  vk->GetPhysicalDeviceProperties(device, &basic);
  read_limits(info, &basic);
  info->has_compute = has_compute_queue(vk, device);
  if (basic.apiVersion < VK_API_VERSION_1_2) return;
  uint32_t count = 0;
  vk->EnumerateDeviceExtensionProperties(device, NULL, &count, NULL);
  VkExtensionProperties *extensions = calloc(count + 1, sizeof *extensions);
  if (!extensions) return;
  vk->EnumerateDeviceExtensionProperties(device, NULL, &count, extensions);
  bool has_host = has_extension(extensions, count, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  bool has_budget = has_extension(extensions, count, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  info->has_import = has_host;
  info->has_cooperative_matrix = has_extension(extensions, count, "VK_KHR_cooperative_matrix");
  bool has_sizes =
      has_extension(extensions, count, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  free(extensions);
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  VkPhysicalDeviceVulkan12Properties twelve = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
      .pNext = has_host ? &host : NULL};
  VkPhysicalDeviceVulkan11Properties eleven = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, .pNext = &twelve};
  VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &eleven};
  vk->GetPhysicalDeviceProperties2(device, &properties);
  snprintf(info->driver, sizeof info->driver, "%s", twelve.driverName);
  snprintf(info->driver_info, sizeof info->driver_info, "%s", twelve.driverInfo);
  memcpy(info->cache_id, basic.pipelineCacheUUID, sizeof info->cache_id);
  info->allocation_limit = eleven.maxMemoryAllocationSize;
  info->subgroup_size = eleven.subgroupSize;
  info->subgroup_operations = eleven.subgroupSupportedOperations;
  VkSubgroupFeatureFlags wanted = VK_SUBGROUP_FEATURE_BASIC_BIT |
                                  VK_SUBGROUP_FEATURE_ARITHMETIC_BIT |
                                  VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  info->has_subgroups = (eleven.subgroupSupportedOperations & wanted) == wanted &&
                        eleven.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT;
  info->import_alignment = (uint32_t)host.minImportedHostPointerAlignment;
  read_features(info, vk, device);
  if (info->has_cooperative_matrix && has_sizes) read_matrices(info, system, device);
  read_memory(info, vk, device, has_budget);
}
