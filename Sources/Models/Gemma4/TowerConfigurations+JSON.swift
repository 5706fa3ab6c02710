extension VisionConfiguration {
  /// Reads the `vision_config` of a checkpoint.
  ///
  /// - Throws: `JSONError` naming the field.
  public init(_ node: JSONNode) throws {
    try node.refuse("hidden_activation", unless: [.string("gelu_pytorch_tanh")])
    try node.refuse("attention_bias", unless: [.bool(false)])
    hiddenSize = try node.size("hidden_size")
    intermediateSize = try node.size("intermediate_size")
    layerCount = try node.size("num_hidden_layers")
    queryHeads = try node.size("num_attention_heads")
    keyValueHeads = try node.size("num_key_value_heads", or: queryHeads)
    headSize = try node.size("head_dim", or: hiddenSize / queryHeads)
    patchSize = try node.size("patch_size", or: 16)
    poolingKernel = try node.size("pooling_kernel_size", or: 3)
    positionCount = try node.size("position_embedding_size", or: 10_240)
    epsilon = Float(try node.positive("rms_norm_eps", or: 1e-6))
    clipsLinears = try node.bool("use_clipped_linears", or: false)
    standardizes = try node.bool("standardize", or: false)
    softTokens = try node.size("default_output_length", or: 280)
    guard headSize % 4 == 0 else {
      throw try node.member("head_dim").mismatch("a multiple of 4", came: "\(headSize)")
    }
    guard queryHeads % keyValueHeads == 0 else {
      throw try node.member("num_key_value_heads").mismatch("a divisor of \(queryHeads)")
    }
    let rope = try node.optional("rope_parameters")
    try rope?.refuse("rope_type", unless: [.string("default"), .string("axial")])
    let theta = try rope?.positive("rope_theta", or: 100) ?? 100
    frequencies = TextConfiguration.frequencies(theta: theta, headSize: headSize / 2)
  }
}

extension AudioConfiguration {
  /// Reads the `audio_config` of a checkpoint.
  ///
  /// - Throws: `JSONError` naming the field.
  public init(_ node: JSONNode, melBins: Int = 128) throws {
    try node.refuse("hidden_act", unless: [.string("silu")])
    try node.refuse("attention_context_right", unless: [.integer(0)])
    hiddenSize = try node.size("hidden_size")
    layerCount = try node.size("num_hidden_layers")
    heads = try node.size("num_attention_heads")
    channels =
      try node.optional("subsampling_conv_channels") == nil
      ? [128, 32] : try node.integers("subsampling_conv_channels")
    kernelSize = try node.size("conv_kernel_size", or: 5)
    residualWeight = Float(try node.double("residual_weight", or: 0.5))
    let left = try node.size("attention_context_left", least: 2, or: 13)
    let chunk = try node.size("attention_chunk_size", or: 12)
    window = left - 1
    scoreSoftcap = Float(try node.positive("attention_logit_cap", or: 50))
    epsilon = Float(try node.positive("rms_norm_eps", or: 1e-6))
    clipsLinears = try node.bool("use_clipped_linears", or: true)
    outputSize = try node.size("output_proj_dims", or: 1536)
    self.melBins = melBins
    guard chunk == window else {
      throw try node.member("attention_chunk_size").mismatch(
        "attention_context_left - 1 = \(window)",
        came: "\(chunk)"
      )
    }
    guard hiddenSize % heads == 0, hiddenSize % 2 == 0 else {
      throw try node.member("num_attention_heads").mismatch("a divisor of \(hiddenSize)")
    }
    guard channels.count == 2, channels.allSatisfy({ $0 > 0 && $0 <= 65_536 }) else {
      throw try node.member("subsampling_conv_channels").mismatch("two counts above 0")
    }
  }
}
