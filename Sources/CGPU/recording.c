#include <stdlib.h>

#include "internal.h"

static VkResult make_pools(struct tg_recording *recording, uint32_t dispatches, uint32_t texels,
                           uint32_t storages) {
  struct tg_device *device = recording->device;
  VkCommandPoolCreateInfo commands = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .queueFamilyIndex = device->family,
  };
  VkResult result =
      device->vk.CreateCommandPool(device->device, &commands, NULL, &recording->commands);
  if (result != VK_SUCCESS) return result;
  VkDescriptorPoolSize sizes[2] = {
      {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, texels + 1},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, storages + 1},
  };
  VkDescriptorPoolCreateInfo descriptors = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .maxSets = dispatches + 1,
      .poolSizeCount = 2,
      .pPoolSizes = sizes,
  };
  result = device->vk.CreateDescriptorPool(device->device, &descriptors, NULL,
                                           &recording->descriptors);
  if (result != VK_SUCCESS) return result;
  VkCommandBufferAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = recording->commands,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1,
  };
  result = device->vk.AllocateCommandBuffers(device->device, &allocate, &recording->buffer);
  if (result != VK_SUCCESS) return result;
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  return device->vk.BeginCommandBuffer(recording->buffer, &begin);
}

tg_recording *tg_recording_begin(tg_device *device, uint32_t dispatches, uint32_t texels,
                                 uint32_t storages, int *status) {
  *status = TG_OUT_OF_MEMORY;
  struct tg_recording *recording = calloc(1, sizeof *recording);
  if (!recording) return NULL;
  recording->device = device;
  VkResult result = make_pools(recording, dispatches, texels, storages);
  *status = tg_status_of(result);
  if (result == VK_SUCCESS) return recording;
  tg_recording_destroy(recording);
  return NULL;
}

int tg_record_dispatch(tg_recording *recording, const tg_pipeline *pipeline,
                       const tg_binding *bindings, const void *push, uint32_t x, uint32_t y,
                       uint32_t z) {
  struct tg_device *device = recording->device;
  VkDescriptorSetAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = recording->descriptors,
      .descriptorSetCount = 1,
      .pSetLayouts = &pipeline->set_layout,
  };
  VkDescriptorSet set;
  VkResult result = device->vk.AllocateDescriptorSets(device->device, &allocate, &set);
  if (result != VK_SUCCESS) return tg_status_of(result);
  VkWriteDescriptorSet writes[16];
  VkDescriptorBufferInfo ranges[16];
  for (uint32_t i = 0; i < pipeline->kind_count; i++) {
    const tg_binding *binding = &bindings[i];
    writes[i] = (VkWriteDescriptorSet){
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = set,
        .dstBinding = i,
        .descriptorCount = 1,
    };
    if (pipeline->kinds[i]) {
      ranges[i] = (VkDescriptorBufferInfo){binding->buffer->buffer, binding->offset, binding->size};
      writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      writes[i].pBufferInfo = &ranges[i];
    } else {
      writes[i].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
      writes[i].pTexelBufferView = &binding->view->view;
    }
  }
  device->vk.UpdateDescriptorSets(device->device, pipeline->kind_count, writes, 0, NULL);
  device->vk.CmdBindPipeline(recording->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
  device->vk.CmdBindDescriptorSets(recording->buffer, VK_PIPELINE_BIND_POINT_COMPUTE,
                                   pipeline->layout, 0, 1, &set, 0, NULL);
  if (pipeline->push_bytes) {
    device->vk.CmdPushConstants(recording->buffer, pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                pipeline->push_bytes, push);
  }
  device->vk.CmdDispatch(recording->buffer, x, y, z);
  return TG_OK;
}

void tg_record_barrier(tg_recording *recording) {
  const VkAccessFlags all = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  const VkPipelineStageFlags device =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
      .dstAccessMask = all | VK_ACCESS_HOST_READ_BIT,
  };
  recording->device->vk.CmdPipelineBarrier(recording->buffer, device,
                                           device | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                           NULL, 0, NULL);
}

void tg_record_copy(tg_recording *recording, const tg_buffer *source, uint64_t from,
                    const tg_buffer *target, uint64_t to, uint64_t size) {
  VkBufferCopy region = {from, to, size};
  recording->device->vk.CmdCopyBuffer(recording->buffer, source->buffer, target->buffer, 1,
                                      &region);
}

int tg_recording_end(tg_recording *recording) {
  return tg_status_of(recording->device->vk.EndCommandBuffer(recording->buffer));
}

void tg_recording_destroy(tg_recording *recording) {
  if (!recording) return;
  struct tg_device *device = recording->device;
  device->vk.DestroyDescriptorPool(device->device, recording->descriptors, NULL);
  device->vk.DestroyCommandPool(device->device, recording->commands, NULL);
  free(recording);
}
