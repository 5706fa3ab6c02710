#include <stdlib.h>
#include <string.h>

#include "internal.h"

static VkDescriptorType type_of(uint8_t kind) {
  return kind ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
}

static VkResult make_layouts(struct tg_pipeline *pipeline) {
  struct tg_device *device = pipeline->device;
  VkDescriptorSetLayoutBinding bindings[16];
  for (uint32_t i = 0; i < pipeline->kind_count; i++) {
    bindings[i] = (VkDescriptorSetLayoutBinding){
        .binding = i,
        .descriptorType = type_of(pipeline->kinds[i]),
        .descriptorCount = 1,
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
    };
  }
  VkDescriptorSetLayoutCreateInfo set = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = pipeline->kind_count,
      .pBindings = bindings,
  };
  VkResult result =
      device->vk.CreateDescriptorSetLayout(device->device, &set, NULL, &pipeline->set_layout);
  if (result != VK_SUCCESS) return result;
  VkPushConstantRange push = {
      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = pipeline->push_bytes};
  VkPipelineLayoutCreateInfo layout = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = 1,
      .pSetLayouts = &pipeline->set_layout,
      .pushConstantRangeCount = pipeline->push_bytes ? 1 : 0,
      .pPushConstantRanges = &push,
  };
  return device->vk.CreatePipelineLayout(device->device, &layout, NULL, &pipeline->layout);
}

static VkResult make_pipeline(struct tg_pipeline *pipeline, const uint32_t *words,
                              size_t byte_count, const uint32_t *constants,
                              uint32_t constant_count, bool full_subgroups) {
  struct tg_device *device = pipeline->device;
  VkShaderModuleCreateInfo code = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = byte_count,
      .pCode = words,
  };
  VkShaderModule module;
  VkResult result = device->vk.CreateShaderModule(device->device, &code, NULL, &module);
  if (result != VK_SUCCESS) return result;
  VkSpecializationMapEntry entries[16];
  for (uint32_t i = 0; i < constant_count; i++) {
    entries[i] = (VkSpecializationMapEntry){.constantID = i, .offset = 4 * i, .size = 4};
  }
  VkSpecializationInfo specialization = {
      .mapEntryCount = constant_count,
      .pMapEntries = entries,
      .dataSize = 4 * constant_count,
      .pData = constants,
  };
  VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage =
          {
              .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
              .flags = full_subgroups
                           ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT : 0,
              .stage = VK_SHADER_STAGE_COMPUTE_BIT,
              .module = module,
              .pName = "main",
              .pSpecializationInfo = &specialization,
          },
      .layout = pipeline->layout,
  };
  result = device->vk.CreateComputePipelines(device->device, device->cache, 1, &info, NULL,
                                             &pipeline->pipeline);
  device->vk.DestroyShaderModule(device->device, module, NULL);
  return result;
}

tg_pipeline *tg_pipeline_create(tg_device *device, const uint32_t *words, size_t byte_count,
                                const uint8_t *kinds, uint32_t kind_count, uint32_t push_bytes,
                                const uint32_t *constants, uint32_t constant_count,
                                bool full_subgroups, int *status) {
  *status = TG_FAILED;
  if (kind_count > 16 || constant_count > 16) return NULL;
  struct tg_pipeline *pipeline = calloc(1, sizeof *pipeline);
  if (!pipeline) return NULL;
  pipeline->device = device;
  pipeline->kind_count = kind_count;
  pipeline->push_bytes = push_bytes;
  memcpy(pipeline->kinds, kinds, kind_count);
  VkResult result = make_layouts(pipeline);
  if (result == VK_SUCCESS) {
    result = make_pipeline(pipeline, words, byte_count, constants, constant_count, full_subgroups);
  }
  *status = tg_status_of(result);
  if (result == VK_SUCCESS) return pipeline;
  tg_pipeline_destroy(pipeline);
  return NULL;
}

void tg_pipeline_destroy(tg_pipeline *pipeline) {
  if (!pipeline) return;
  struct tg_device *device = pipeline->device;
  device->vk.DestroyPipeline(device->device, pipeline->pipeline, NULL);
  device->vk.DestroyPipelineLayout(device->device, pipeline->layout, NULL);
  device->vk.DestroyDescriptorSetLayout(device->device, pipeline->set_layout, NULL);
  free(pipeline);
}
