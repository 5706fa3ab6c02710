// What the files of this module share.
#ifndef CGPU_INTERNAL_H
#define CGPU_INTERNAL_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "cgpu.h"

// Cooperative matrices, which headers before 1.3.255 lack.
#ifndef VK_KHR_cooperative_matrix
typedef struct {
  VkStructureType sType;
  void *pNext;
  VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
} VkPhysicalDeviceCooperativeMatrixFeaturesKHR;
typedef struct {
  VkStructureType sType;
  void *pNext;
  uint32_t MSize, NSize, KSize;
  int AType, BType, CType, ResultType;
  VkBool32 saturatingAccumulation;
  int scope;
} VkCooperativeMatrixPropertiesKHR;
typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(
    VkPhysicalDevice, uint32_t *, VkCooperativeMatrixPropertiesKHR *);
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR \
  ((VkStructureType)1000506000)
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR ((VkStructureType)1000506001)
#define VK_COMPONENT_TYPE_FLOAT16_KHR 0
#define VK_COMPONENT_TYPE_FLOAT32_KHR 1
#define VK_SCOPE_SUBGROUP_KHR 3
#endif

#define TG_GLOBAL_FUNCTIONS(X) \
  X(CreateInstance) X(EnumerateInstanceLayerProperties) X(EnumerateInstanceExtensionProperties)

#define TG_INSTANCE_FUNCTIONS(X)                                                                   \
  X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties)                    \
  X(GetPhysicalDeviceProperties2) X(GetPhysicalDeviceFeatures2)                                    \
  X(GetPhysicalDeviceQueueFamilyProperties) X(GetPhysicalDeviceMemoryProperties)                   \
  X(GetPhysicalDeviceMemoryProperties2) X(EnumerateDeviceExtensionProperties) X(CreateDevice)      \
  X(GetDeviceProcAddr)

#define TG_DEVICE_FUNCTIONS(X)                                                                     \
  X(DestroyDevice) X(GetDeviceQueue) X(CreateSemaphore) X(DestroySemaphore) X(WaitSemaphores)      \
  X(SignalSemaphore) X(CreatePipelineCache) X(DestroyPipelineCache) X(GetPipelineCacheData)        \
  X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements) X(AllocateMemory)                \
  X(FreeMemory) X(BindBufferMemory) X(MapMemory) X(CreateBufferView) X(DestroyBufferView)          \
  X(CreateShaderModule) X(DestroyShaderModule) X(CreateDescriptorSetLayout)                        \
  X(DestroyDescriptorSetLayout) X(CreatePipelineLayout) X(DestroyPipelineLayout)                   \
  X(CreateComputePipelines) X(DestroyPipeline) X(CreateCommandPool) X(DestroyCommandPool)          \
  X(AllocateCommandBuffers) X(BeginCommandBuffer) X(EndCommandBuffer) X(CreateDescriptorPool)      \
  X(DestroyDescriptorPool) X(AllocateDescriptorSets) X(UpdateDescriptorSets)                       \
  X(CmdBindPipeline) X(CmdBindDescriptorSets) X(CmdPushConstants) X(CmdDispatch)                   \
  X(CmdPipelineBarrier) X(CmdCopyBuffer) X(QueueSubmit) X(DeviceWaitIdle)

#define TG_DECLARE(name) PFN_vk##name name;

struct tg_functions {
  TG_GLOBAL_FUNCTIONS(TG_DECLARE)
  TG_INSTANCE_FUNCTIONS(TG_DECLARE)
  TG_DEVICE_FUNCTIONS(TG_DECLARE)
  PFN_vkGetMemoryHostPointerPropertiesEXT GetMemoryHostPointerPropertiesEXT;
};

struct tg_system {
  void *library;
  PFN_vkGetInstanceProcAddr resolve;
  struct tg_functions vk;
  VkInstance instance;
  VkDebugUtilsMessengerEXT messenger;
  uint32_t count;
  VkPhysicalDevice devices[16];
  uint32_t messages;
  char last_message[1024];
};

struct tg_device {
  struct tg_system *system;
  struct tg_functions vk;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
  uint32_t family;
  VkSemaphore timeline, gate;
  uint64_t submitted, gate_value;
  VkPipelineCache cache;
  VkPhysicalDeviceMemoryProperties memory;
  bool has_import;
};

struct tg_buffer {
  struct tg_device *device;
  VkBuffer buffer;
  VkDeviceMemory memory;
  void *pointer;
  uint64_t size;
};

struct tg_view {
  struct tg_device *device;
  VkBufferView view;
};

struct tg_pipeline {
  struct tg_device *device;
  VkDescriptorSetLayout set_layout;
  VkPipelineLayout layout;
  VkPipeline pipeline;
  uint32_t kind_count, push_bytes;
  uint8_t kinds[16];
};

struct tg_recording {
  struct tg_device *device;
  VkCommandPool commands;
  VkDescriptorPool descriptors;
  VkCommandBuffer buffer;
};

int tg_status_of(VkResult result);

// Mesa's software driver reads how wide its vectors are when devices are first listed, and takes 256
// bits of a processor that has 512 unless it is told. Version 22.3 is told; later ones are slower so.
// Whoever has set LP_NATIVE_VECTOR_WIDTH is left alone.
void tg_widen_software_driver(void);

#endif
