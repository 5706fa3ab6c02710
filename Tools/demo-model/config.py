"""config.json and its companions, with the fields and spelling of the published E2B files."""

import tokens

DTYPE = "float16"
TEXT = {
    "hidden_size": 128, "hidden_size_per_layer_input": 32, "intermediate_size": 256, "num_hidden_layers": 6,
    "num_kv_shared_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 32, "global_head_dim": 64,
    "sliding_window": 192,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
}
VISION = {
    "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
    "head_dim": 32, "global_head_dim": 32, "patch_size": 4, "position_embedding_size": 256,
}
AUDIO = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "subsampling_conv_channels": [128, 8]}
IMAGE_TOKENS = 70


def config() -> dict:
    media, size = tokens.MEDIA_IDS, tokens.VOCABULARY
    return {
        "architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", "dtype": DTYPE,
        "tie_word_embeddings": True, "initializer_range": 0.02,
        "boi_token_id": media["<|image>"], "eoi_token_id": media["<image|>"], "image_token_id": media["<|image|>"],
        "boa_token_id": media["<|audio>"], "eoa_token_id": media["<audio|>"], "eoa_token_index": media["<audio|>"],
        "audio_token_id": media["<|audio|>"], "video_token_id": media["<|video|>"],
        "eos_token_id": [tokens.FIXED["<eos>"], tokens.FIXED["<turn|>"]],
        "vision_soft_tokens_per_image": IMAGE_TOKENS,
        "text_config": {
            "model_type": "gemma4_text", "dtype": DTYPE, "attention_bias": False, "attention_dropout": 0.0,
            "attention_k_eq_v": False, "bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0, "enable_moe_block": False,
            "num_experts": None, "top_k_experts": None, "moe_intermediate_size": None, "final_logit_softcapping": 30.0,
            "hidden_activation": "gelu_pytorch_tanh", "initializer_range": 0.02, "max_position_embeddings": 131072,
            "num_global_key_value_heads": None, "rms_norm_eps": 1e-06,
            "rope_parameters": {
                "full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
                "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"},
            },
            "tie_word_embeddings": True, "use_bidirectional_attention": None, "use_cache": True,
            "use_double_wide_mlp": True, "vocab_size": size, "vocab_size_per_layer_input": size, **TEXT,
        },
        "vision_config": {
            "model_type": "gemma4_vision", "dtype": DTYPE, "attention_bias": False, "attention_dropout": 0.0,
            "hidden_activation": "gelu_pytorch_tanh", "initializer_range": 0.02, "max_position_embeddings": 131072,
            "pooling_kernel_size": 3, "rms_norm_eps": 1e-06,
            "rope_parameters": {"rope_theta": 100.0, "rope_type": "default"},
            "standardize": False, "use_clipped_linears": True, "default_output_length": IMAGE_TOKENS, **VISION,
        },
        "audio_config": {
            "model_type": "gemma4_audio", "dtype": DTYPE, "attention_chunk_size": 12, "attention_context_left": 13,
            "attention_context_right": 0, "attention_invalid_logits_value": -1000000000.0, "attention_logit_cap": 50.0,
            "conv_kernel_size": 5, "gradient_clipping": 10000000000.0, "hidden_act": "silu", "initializer_range": 0.02,
            "output_proj_dims": TEXT["hidden_size"], "residual_weight": 0.5, "rms_norm_eps": 1e-06,
            "use_clipped_linears": True, **AUDIO,
        },
    }


GENERATION = {"bos_token_id": 2, "pad_token_id": 0, "eos_token_id": [1, 106, 50], "do_sample": True, "temperature": 1.0,
              "top_k": 64, "top_p": 0.95}
