#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int tg_status_of(VkResult result) {
  switch (result) {
  case VK_SUCCESS: return TG_OK;
  case VK_TIMEOUT: return TG_TIMEOUT;
  case VK_ERROR_OUT_OF_HOST_MEMORY:
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
  case VK_ERROR_OUT_OF_POOL_MEMORY:
  case VK_ERROR_TOO_MANY_OBJECTS: return TG_OUT_OF_MEMORY;
  case VK_ERROR_DEVICE_LOST: return TG_DEVICE_LOST;
  case VK_ERROR_INCOMPATIBLE_DRIVER: return TG_NO_DEVICE;
  default: return TG_FAILED;
  }
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *context) {
  (void)severity;
  (void)types;
  struct tg_system *system = context;
  system->messages += 1;
  snprintf(system->last_message, sizeof system->last_message, "%s", data->pMessage);
  return VK_FALSE;
}

static bool has_layer(struct tg_system *system, const char *name) {
  uint32_t count = 0;
  system->vk.EnumerateInstanceLayerProperties(&count, NULL);
  VkLayerProperties *layers = calloc(count + 1, sizeof *layers);
  if (!layers) return false;
  system->vk.EnumerateInstanceLayerProperties(&count, layers);
  bool found = false;
  for (uint32_t i = 0; i < count; i++) found = found || !strcmp(layers[i].layerName, name);
  free(layers);
  return found;
}

static VkResult create_instance(struct tg_system *system, bool validate, bool synchronise) {
  const char *layer = "VK_LAYER_KHRONOS_validation";
  const char *extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
      .pApplicationName = "troika",
      .apiVersion = VK_API_VERSION_1_2,
  };
  VkDebugUtilsMessengerCreateInfoEXT messenger = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
      .pfnUserCallback = on_message,
      .pUserData = system,
  };
  VkValidationFeatureEnableEXT enabled = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features = {
      .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
      .pNext = &messenger,
      .enabledValidationFeatureCount = synchronise ? 1 : 0,
      .pEnabledValidationFeatures = &enabled,
  };
  bool layered = validate && has_layer(system, layer);
  VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .pNext = layered ? &features : NULL,
      .pApplicationInfo = &application,
      .enabledLayerCount = layered ? 1 : 0,
      .ppEnabledLayerNames = &layer,
      .enabledExtensionCount = layered ? 1 : 0,
      .ppEnabledExtensionNames = &extension,
  };
  if (validate && !layered) return VK_ERROR_LAYER_NOT_PRESENT;
  VkResult result = system->vk.CreateInstance(&info, NULL, &system->instance);
  if (result != VK_SUCCESS || !layered) return result;
  PFN_vkCreateDebugUtilsMessengerEXT create = (PFN_vkCreateDebugUtilsMessengerEXT)system->resolve(
      system->instance, "vkCreateDebugUtilsMessengerEXT");
  return create ? create(system->instance, &messenger, NULL, &system->messenger) : VK_SUCCESS;
}

tg_system *tg_open(bool validate, bool synchronise, int *status) {
  *status = TG_NO_LOADER;
  struct tg_system *system = calloc(1, sizeof *system);
  if (!system) return NULL;
  system->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (system->library) {
    system->resolve = (PFN_vkGetInstanceProcAddr)dlsym(system->library, "vkGetInstanceProcAddr");
  }
  if (!system->resolve) {
    tg_close(system);
    return NULL;
  }
#define LOAD_GLOBAL(name) \
  system->vk.name = (PFN_vk##name)system->resolve(VK_NULL_HANDLE, "vk" #name);
  TG_GLOBAL_FUNCTIONS(LOAD_GLOBAL)
  VkResult result = create_instance(system, validate, synchronise);
  *status = result == VK_ERROR_LAYER_NOT_PRESENT ? TG_FAILED : tg_status_of(result);
  if (result != VK_SUCCESS) {
    tg_close(system);
    return NULL;
  }
#define LOAD(name) \
  system->vk.name = (PFN_vk##name)system->resolve(system->instance, "vk" #name);
  TG_INSTANCE_FUNCTIONS(LOAD)
  tg_widen_software_driver();
  system->count = 16;
  result = system->vk.EnumeratePhysicalDevices(system->instance, &system->count, system->devices);
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) system->count = 0;
  *status = TG_OK;
  return system;
}

void tg_close(tg_system *system) {
  if (!system) return;
  if (system->messenger) {
    PFN_vkDestroyDebugUtilsMessengerEXT destroy =
        (PFN_vkDestroyDebugUtilsMessengerEXT)system->resolve(system->instance,
                                                             "vkDestroyDebugUtilsMessengerEXT");
    if (destroy) destroy(system->instance, system->messenger, NULL);
  }
  if (system->instance && system->vk.DestroyInstance) {
    system->vk.DestroyInstance(system->instance, NULL);
  }
  // The loader stays mapped: drivers leave threads and exit handlers behind.
  free(system);
}

uint32_t tg_messages(const tg_system *system, char *last, size_t size) {
  if (size) snprintf(last, size, "%s", system->last_message);
  return system->messages;
}

uint32_t tg_device_count(const tg_system *system) { return system->count; }
