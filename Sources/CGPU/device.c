#include <stdlib.h>
#include <string.h>

#include "internal.h"

static uint32_t compute_family(struct tg_system *system, VkPhysicalDevice device) {
  VkQueueFamilyProperties families[32];
  uint32_t count = 32;
  system->vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, families);
  // A family without graphics runs beside what the screen needs.
  for (uint32_t i = 0; i < count; i++) {
    VkQueueFlags flags = families[i].queueFlags;
    if (flags & VK_QUEUE_COMPUTE_BIT && !(flags & VK_QUEUE_GRAPHICS_BIT)) return i;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) return i;
  }
  return 0;
}

static VkResult create_device(struct tg_device *device, const tg_info *info) {
  float priority = 1;
  VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
      .queueFamilyIndex = device->family,
      .queueCount = 1,
      .pQueuePriorities = &priority,
  };
  VkPhysicalDeviceVulkan12Features twelve = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .timelineSemaphore = VK_TRUE,
  };
  const char *extensions[3];
  uint32_t count = 0;
  if (info->has_import) extensions[count++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT sizes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT,
      .computeFullSubgroups = VK_TRUE,
  };
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .pNext = &sizes,
      .cooperativeMatrix = VK_TRUE,
  };
  if (info->matrix[0]) {
    extensions[count++] = "VK_KHR_cooperative_matrix";
    extensions[count++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    twelve.pNext = &matrices;
    twelve.shaderFloat16 = twelve.vulkanMemoryModel = VK_TRUE;
  }
  VkDeviceCreateInfo create = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .pNext = &twelve,
      .queueCreateInfoCount = 1,
      .pQueueCreateInfos = &queue,
      .enabledExtensionCount = count,
      .ppEnabledExtensionNames = extensions,
  };
  return device->system->vk.CreateDevice(device->physical, &create, NULL, &device->device);
}

static VkResult create_semaphore(struct tg_device *device, VkSemaphore *semaphore) {
  VkSemaphoreTypeCreateInfo type = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
  };
  VkSemaphoreCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  return device->vk.CreateSemaphore(device->device, &info, NULL, semaphore);
}

tg_device *tg_device_open(tg_system *system, uint32_t index, const void *cache, size_t cache_size,
                          int *status) {
  *status = TG_NO_DEVICE;
  if (index >= system->count) return NULL;
  struct tg_device *device = calloc(1, sizeof *device);
  if (!device) return NULL;
  tg_info info;
  tg_device_info(system, index, &info);
  device->system = system;
  device->physical = system->devices[index];
  device->family = compute_family(system, device->physical);
  device->has_import = info.has_import;
  VkResult result = create_device(device, &info);
  if (result != VK_SUCCESS) {
    *status = tg_status_of(result);
    free(device);
    return NULL;
  }
#define LOAD(name)                                                                                 \
  device->vk.name = (PFN_vk##name)system->vk.GetDeviceProcAddr(device->device, "vk" #name);
  TG_DEVICE_FUNCTIONS(LOAD)
  device->vk.GetMemoryHostPointerPropertiesEXT =
      (PFN_vkGetMemoryHostPointerPropertiesEXT)system->vk.GetDeviceProcAddr(
          device->device, "vkGetMemoryHostPointerPropertiesEXT");
  device->vk.GetDeviceQueue(device->device, device->family, 0, &device->queue);
  system->vk.GetPhysicalDeviceMemoryProperties(device->physical, &device->memory);
  VkPipelineCacheCreateInfo pipelines = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
      .initialDataSize = cache_size,
      .pInitialData = cache,
  };
  result = device->vk.CreatePipelineCache(device->device, &pipelines, NULL, &device->cache);
  if (result == VK_SUCCESS) result = create_semaphore(device, &device->timeline);
  if (result == VK_SUCCESS) result = create_semaphore(device, &device->gate);
  *status = tg_status_of(result);
  if (result != VK_SUCCESS) {
    tg_device_close(device);
    return NULL;
  }
  return device;
}

void tg_device_close(tg_device *device) {
  if (!device) return;
  device->vk.DeviceWaitIdle(device->device);
  device->vk.DestroySemaphore(device->device, device->timeline, NULL);
  device->vk.DestroySemaphore(device->device, device->gate, NULL);
  device->vk.DestroyPipelineCache(device->device, device->cache, NULL);
  device->vk.DestroyDevice(device->device, NULL);
  free(device);
}

size_t tg_cache_data(tg_device *device, void *target, size_t size) {
  size_t count = size;
  VkResult result =
      device->vk.GetPipelineCacheData(device->device, device->cache, &count, target);
  return result == VK_SUCCESS || result == VK_INCOMPLETE ? count : 0;
}

static int submit(struct tg_device *device, const VkCommandBuffer *commands, bool gated,
                  uint64_t *value) {
  uint64_t reached = device->submitted + 1;
  uint64_t opened = device->gate_value + 1;
  VkTimelineSemaphoreSubmitInfo timeline = {
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = gated ? 1 : 0,
      .pWaitSemaphoreValues = &opened,
      .signalSemaphoreValueCount = 1,
      .pSignalSemaphoreValues = &reached,
  };
  VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .pNext = &timeline,
      .waitSemaphoreCount = gated ? 1 : 0,
      .pWaitSemaphores = &device->gate,
      .pWaitDstStageMask = &stage,
      .commandBufferCount = commands ? 1 : 0,
      .pCommandBuffers = commands,
      .signalSemaphoreCount = 1,
      .pSignalSemaphores = &device->timeline,
  };
  VkResult result = device->vk.QueueSubmit(device->queue, 1, &info, VK_NULL_HANDLE);
  if (result == VK_SUCCESS) *value = device->submitted = reached;
  return tg_status_of(result);
}

int tg_submit(tg_device *device, const tg_recording *recording, uint64_t *value) {
  return submit(device, &recording->buffer, false, value);
}

int tg_submit_stuck(tg_device *device, uint64_t *value) {
  return submit(device, NULL, true, value);
}

void tg_release_stuck(tg_device *device) {
  VkSemaphoreSignalInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
      .semaphore = device->gate,
      .value = ++device->gate_value,
  };
  device->vk.SignalSemaphore(device->device, &info);
}

int tg_wait(tg_device *device, uint64_t value, uint64_t nanoseconds) {
  VkSemaphoreWaitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
      .semaphoreCount = 1,
      .pSemaphores = &device->timeline,
      .pValues = &value,
  };
  return tg_status_of(device->vk.WaitSemaphores(device->device, &info, nanoseconds));
}
