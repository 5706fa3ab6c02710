#include <stdlib.h>

#include "internal.h"

static const VkBufferUsageFlags usage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

// The first memory type with the wanted properties, best first; -1 for none.
static int memory_type(const struct tg_device *device, uint32_t allowed, int memory) {
  const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const VkMemoryPropertyFlags host =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  const VkMemoryPropertyFlags choices[2][3] = {{local, 0, 0}, {host | cached, host, host}};
  for (int choice = 0; choice < 3; choice++) {
    VkMemoryPropertyFlags wanted = choices[memory][choice];
    for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++) {
      VkMemoryPropertyFlags flags = device->memory.memoryTypes[i].propertyFlags;
      if (allowed >> i & 1 && (flags & wanted) == wanted) return (int)i;
    }
  }
  return -1;
}

static VkResult make(struct tg_buffer *buffer, void *pointer, uint64_t size, int memory) {
  struct tg_device *device = buffer->device;
  VkExternalMemoryBufferCreateInfo external = {
      .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
      .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
  };
  VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .pNext = pointer ? &external : NULL,
      .size = size,
      .usage = usage,
  };
  VkResult result = device->vk.CreateBuffer(device->device, &info, NULL, &buffer->buffer);
  if (result != VK_SUCCESS) return result;
  VkMemoryRequirements needs;
  device->vk.GetBufferMemoryRequirements(device->device, buffer->buffer, &needs);
  VkImportMemoryHostPointerInfoEXT import = {
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
      .pHostPointer = pointer,
  };
  uint32_t allowed = needs.memoryTypeBits;
  if (pointer) {
    VkMemoryHostPointerPropertiesEXT properties = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    result = device->vk.GetMemoryHostPointerPropertiesEXT(device->device, import.handleType,
                                                          pointer, &properties);
    if (result != VK_SUCCESS) return result;
    allowed &= properties.memoryTypeBits;
    if (needs.size > size) return VK_ERROR_FEATURE_NOT_PRESENT;
  }
  int type = memory_type(device, allowed, memory);
  if (type < 0) return VK_ERROR_FEATURE_NOT_PRESENT;
  VkMemoryAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = pointer ? &import : NULL,
      .allocationSize = pointer ? size : needs.size,
      .memoryTypeIndex = (uint32_t)type,
  };
  result = device->vk.AllocateMemory(device->device, &allocate, NULL, &buffer->memory);
  if (result != VK_SUCCESS) return result;
  result = device->vk.BindBufferMemory(device->device, buffer->buffer, buffer->memory, 0);
  VkMemoryPropertyFlags flags = device->memory.memoryTypes[type].propertyFlags;
  VkMemoryPropertyFlags coherent =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (result != VK_SUCCESS || pointer || (flags & coherent) != coherent) return result;
  return device->vk.MapMemory(device->device, buffer->memory, 0, VK_WHOLE_SIZE, 0,
                              &buffer->pointer);
}

static tg_buffer *create(tg_device *device, void *pointer, uint64_t size, int memory, int *status) {
  *status = TG_OUT_OF_MEMORY;
  struct tg_buffer *buffer = calloc(1, sizeof *buffer);
  if (!buffer) return NULL;
  buffer->device = device;
  buffer->size = size;
  VkResult result = make(buffer, pointer, size, memory);
  *status = tg_status_of(result);
  if (result == VK_SUCCESS) return buffer;
  tg_buffer_destroy(buffer);
  return NULL;
}

tg_buffer *tg_buffer_create(tg_device *device, uint64_t size, int memory, int *status) {
  return create(device, NULL, size, memory, status);
}

tg_buffer *tg_buffer_import(tg_device *device, void *pointer, uint64_t size, int *status) {
  *status = TG_FAILED;
  if (!device->has_import || !device->vk.GetMemoryHostPointerPropertiesEXT) return NULL;
  return create(device, pointer, size, TG_HOST, status);
}

void *tg_buffer_pointer(const tg_buffer *buffer) { return buffer->pointer; }

void tg_buffer_destroy(tg_buffer *buffer) {
  if (!buffer) return;
  struct tg_device *device = buffer->device;
  device->vk.DestroyBuffer(device->device, buffer->buffer, NULL);
  device->vk.FreeMemory(device->device, buffer->memory, NULL);
  free(buffer);
}

tg_view *tg_view_create(tg_buffer *buffer, int format, uint64_t offset, uint64_t size,
                        int *status) {
  static const VkFormat formats[] = {
      VK_FORMAT_R32_SFLOAT,          VK_FORMAT_R32G32B32A32_SFLOAT, VK_FORMAT_R32_SINT,
      VK_FORMAT_R32_UINT,            VK_FORMAT_R32G32_UINT,         VK_FORMAT_R32G32B32A32_UINT,
      VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_R8G8B8A8_SINT,       VK_FORMAT_R16_SFLOAT,
  };
  *status = TG_OUT_OF_MEMORY;
  struct tg_view *view = calloc(1, sizeof *view);
  if (!view) return NULL;
  view->device = buffer->device;
  VkBufferViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
      .buffer = buffer->buffer,
      .format = formats[format],
      .offset = offset,
      .range = size,
  };
  VkResult result =
      view->device->vk.CreateBufferView(view->device->device, &info, NULL, &view->view);
  *status = tg_status_of(result);
  if (result == VK_SUCCESS) return view;
  free(view);
  return NULL;
}

void tg_view_destroy(tg_view *view) {
  if (!view) return;
  view->device->vk.DestroyBufferView(view->device->device, view->view, NULL);
  free(view);
}
