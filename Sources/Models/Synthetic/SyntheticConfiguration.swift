/// Where the tokens that stand for media lie in a vocabulary.
struct MediaTokenPlaces {
  let imageBegin: Int
  let audioBegin: Int
  let image: Int
  let audio: Int
  let imageEnd: Int
  let audioEnd: Int
  let video: Int
}

extension SyntheticModel.Size {
  /// Rows of the embedding table.
  var vocabularySize: Int { self == .tiny ? 1024 : 262_144 }

  var mediaTokens: MediaTokenPlaces {
    if self == .tiny {
      return MediaTokenPlaces(
        imageBegin: 1001,
        audioBegin: 1002,
        image: 1003,
        audio: 1004,
        imageEnd: 1005,
        audioEnd: 1006,
        video: 1007
      )
    }
    return MediaTokenPlaces(
      imageBegin: 255_999,
      audioBegin: 256_000,
      image: 258_880,
      audio: 258_881,
      imageEnd: 258_882,
      audioEnd: 258_883,
      video: 258_884
    )
  }

  /// `config.json` in the published spelling.
  var configuration: JSONValue {
    let media = mediaTokens
    return .object(fields: [
      ("architectures", .array([.string("Gemma4ForConditionalGeneration")])),
      ("model_type", .string("gemma4")), ("tie_word_embeddings", .bool(true)),
      ("eos_token_id", .array([.integer(1), .integer(106)])),
      ("boi_token_id", .integer(media.imageBegin)), ("eoi_token_id", .integer(media.imageEnd)),
      ("image_token_id", .integer(media.image)), ("boa_token_id", .integer(media.audioBegin)),
      ("eoa_token_id", .integer(media.audioEnd)), ("audio_token_id", .integer(media.audio)),
      ("video_token_id", .integer(media.video)),
      ("text_config", text), ("vision_config", vision), ("audio_config", audio),
    ])
  }

  private var text: JSONValue {
    let shape = textShape
    let kinds = (1...shape.layers).map { $0 % shape.cycle == 0 ? "full" : "sliding" }
    return .object(fields: [
      ("model_type", .string("gemma4_text")), ("vocab_size", .integer(vocabularySize)),
      ("vocab_size_per_layer_input", .integer(vocabularySize)),
      ("hidden_size", .integer(shape.width)),
      ("hidden_size_per_layer_input", .integer(shape.perLayer)),
      ("intermediate_size", .integer(shape.inner)), ("num_hidden_layers", .integer(shape.layers)),
      ("num_kv_shared_layers", .integer(shape.shared)),
      ("layer_types", .array(kinds.map { .string($0 + "_attention") })),
      ("num_attention_heads", .integer(shape.heads)),
      ("num_key_value_heads", .integer(shape.keyValueHeads)),
      ("head_dim", .integer(shape.headSize)), ("global_head_dim", .integer(shape.headSize * 2)),
      ("sliding_window", .integer(shape.window)),
      ("use_double_wide_mlp", .bool(shape.isDoubleWide)),
      ("final_logit_softcapping", .number(30)), ("rms_norm_eps", .number(1e-6)),
      ("max_position_embeddings", .integer(131_072)), ("pad_token_id", .integer(0)),
      ("hidden_activation", .string("gelu_pytorch_tanh")), ("tie_word_embeddings", .bool(true)),
      (
        "rope_parameters",
        .object(fields: [
          (
            "sliding_attention",
            .object(fields: [("rope_type", .string("default")), ("rope_theta", .number(10_000))])
          ),
          (
            "full_attention",
            .object(fields: [
              ("rope_type", .string("proportional")), ("rope_theta", .number(1_000_000)),
              ("partial_rotary_factor", .number(0.25)),
            ])
          ),
        ])
      ),
    ])
  }

  private struct TextShape {
    let width: Int
    let inner: Int
    let layers: Int
    let shared: Int
    let cycle: Int
    let heads: Int
    let keyValueHeads: Int
    let headSize: Int
    let perLayer: Int
    let window: Int
    let isDoubleWide: Bool
  }

  private var textShape: TextShape {
    switch self {
    case .e2b:
      TextShape(
        width: 1536,
        inner: 6144,
        layers: 35,
        shared: 20,
        cycle: 5,
        heads: 8,
        keyValueHeads: 1,
        headSize: 256,
        perLayer: 256,
        window: 512,
        isDoubleWide: true
      )
    case .e4b:
      TextShape(
        width: 2560,
        inner: 10_240,
        layers: 42,
        shared: 18,
        cycle: 6,
        heads: 8,
        keyValueHeads: 2,
        headSize: 256,
        perLayer: 256,
        window: 512,
        isDoubleWide: false
      )
    case .tiny:
      TextShape(
        width: 128,
        inner: 256,
        layers: 10,
        shared: 5,
        cycle: 5,
        heads: 4,
        keyValueHeads: 1,
        headSize: 32,
        perLayer: 32,
        window: 32,
        isDoubleWide: true
      )
    }
  }

  private var vision: JSONValue {
    let isTiny = self == .tiny
    let heads = isTiny ? 2 : 12
    return .object(fields: [
      ("model_type", .string("gemma4_vision")), ("hidden_size", .integer(heads * 64)),
      ("intermediate_size", .integer(isTiny ? 256 : 3072)),
      ("num_hidden_layers", .integer(isTiny ? 2 : 16)),
      ("num_attention_heads", .integer(heads)), ("num_key_value_heads", .integer(heads)),
      ("head_dim", .integer(64)), ("patch_size", .integer(16)),
      ("pooling_kernel_size", .integer(3)),
      ("position_embedding_size", .integer(isTiny ? 256 : 10_240)),
      ("use_clipped_linears", .bool(true)), ("standardize", .bool(false)),
      ("default_output_length", .integer(isTiny ? 70 : 280)), ("rms_norm_eps", .number(1e-6)),
      (
        "rope_parameters",
        .object(fields: [("rope_type", .string("default")), ("rope_theta", .number(100))])
      ),
    ])
  }

  private var audio: JSONValue {
    let isTiny = self == .tiny
    return .object(fields: [
      ("model_type", .string("gemma4_audio")), ("hidden_size", .integer(isTiny ? 128 : 1024)),
      ("num_hidden_layers", .integer(isTiny ? 2 : 12)),
      ("num_attention_heads", .integer(isTiny ? 4 : 8)),
      ("subsampling_conv_channels", .array([.integer(128), .integer(isTiny ? 8 : 32)])),
      ("conv_kernel_size", .integer(5)), ("residual_weight", .number(0.5)),
      ("attention_chunk_size", .integer(12)), ("attention_context_left", .integer(13)),
      ("attention_context_right", .integer(0)), ("attention_logit_cap", .number(50)),
      ("use_clipped_linears", .bool(true)),
      ("output_proj_dims", .integer(isTiny ? 128 : 1536)), ("rms_norm_eps", .number(1e-6)),
    ])
  }
}
