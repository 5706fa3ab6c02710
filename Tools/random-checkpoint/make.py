"""Writes a Gemma 4 checkpoint folder with random bf16 weights in the real shapes of E2B.

    python3 make.py OUT [--tokenizer DIR]

For benchmarks and memory tests: about 10 GB on disk (5 GB used, the per-layer table is a hole of
zeros), words mean nothing. Needs numpy. The tokenizer of DIR (default: the project's tiny golden
model) is stretched to 262144 entries, its special tokens at E2B's ids.
"""

import argparse
import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
VOCABULARY, WIDTH, LAYERS, FIRST_SHARED, PER_LAYER = 262144, 1536, 35, 15, 256
MEDIA = {"<|image>": 255999, "<|audio>": 256000, "<|image|>": 258880, "<|audio|>": 258881,
         "<image|>": 258882, "<audio|>": 258883, "<|video|>": 258884}


def config() -> dict:
    """config.json in the published spelling."""
    return {
        "architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", "dtype": "bfloat16",
        "boi_token_id": 255999, "eoi_token_id": 258882, "image_token_id": 258880,
        "boa_token_id": 256000, "eoa_token_id": 258883, "audio_token_id": 258881, "video_token_id": 258884,
        "eos_token_id": [1, 106], "tie_word_embeddings": True, "vision_soft_tokens_per_image": 280,
        "text_config": {
            "model_type": "gemma4_text", "vocab_size": VOCABULARY, "vocab_size_per_layer_input": VOCABULARY,
            "hidden_size": WIDTH, "hidden_size_per_layer_input": PER_LAYER, "intermediate_size": 6144,
            "num_hidden_layers": LAYERS, "num_kv_shared_layers": LAYERS - FIRST_SHARED,
            "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
            "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256, "global_head_dim": 512,
            "sliding_window": 512, "use_double_wide_mlp": True, "final_logit_softcapping": 30.0,
            "rms_norm_eps": 1e-6, "max_position_embeddings": 131072, "pad_token_id": 0,
            "hidden_activation": "gelu_pytorch_tanh", "enable_moe_block": False, "attention_k_eq_v": False,
            "use_bidirectional_attention": None, "tie_word_embeddings": True,
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0,
                                   "partial_rotary_factor": 0.25}},
        },
        "vision_config": {
            "model_type": "gemma4_vision", "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 16,
            "num_attention_heads": 12, "num_key_value_heads": 12, "head_dim": 64, "patch_size": 16,
            "pooling_kernel_size": 3, "position_embedding_size": 10240, "use_clipped_linears": True,
            "standardize": False, "default_output_length": 280, "rms_norm_eps": 1e-6,
            "rope_parameters": {"rope_type": "default", "rope_theta": 100.0}},
        "audio_config": {
            "model_type": "gemma4_audio", "hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 8,
            "subsampling_conv_channels": [128, 32], "conv_kernel_size": 5, "residual_weight": 0.5,
            "attention_chunk_size": 12, "attention_context_left": 13, "attention_context_right": 0,
            "attention_logit_cap": 50.0, "use_clipped_linears": True, "output_proj_dims": 1536,
            "rms_norm_eps": 1e-6},
    }


def decoder() -> dict[str, tuple[int, ...]]:
    p = "model.language_model."
    shapes: dict[str, tuple[int, ...]] = {
        p + "embed_tokens.weight": (VOCABULARY, WIDTH),
        p + "embed_tokens_per_layer.weight": (VOCABULARY, LAYERS * PER_LAYER),
        p + "per_layer_model_projection.weight": (LAYERS * PER_LAYER, WIDTH),
        p + "per_layer_projection_norm.weight": (PER_LAYER,), p + "norm.weight": (WIDTH,),
    }
    for layer in range(LAYERS):
        n, head = f"{p}layers.{layer}.", 512 if layer % 5 == 4 else 256
        inner = 12288 if layer >= FIRST_SHARED else 6144
        shapes |= {n + "self_attn.q_proj.weight": (8 * head, WIDTH), n + "self_attn.o_proj.weight": (WIDTH, 8 * head),
                   n + "self_attn.q_norm.weight": (head,), n + "mlp.gate_proj.weight": (inner, WIDTH),
                   n + "mlp.up_proj.weight": (inner, WIDTH), n + "mlp.down_proj.weight": (WIDTH, inner),
                   n + "per_layer_input_gate.weight": (PER_LAYER, WIDTH),
                   n + "per_layer_projection.weight": (WIDTH, PER_LAYER),
                   n + "post_per_layer_input_norm.weight": (WIDTH,), n + "layer_scalar": (1,)}
        for norm in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
            shapes[f"{n}{norm}_layernorm.weight"] = (WIDTH,)
        if layer < FIRST_SHARED:
            shapes |= {n + "self_attn.k_proj.weight": (head, WIDTH), n + "self_attn.v_proj.weight": (head, WIDTH),
                       n + "self_attn.k_norm.weight": (head,)}
    return shapes


def clipped(name: str, rows: int, columns: int) -> dict[str, tuple[int, ...]]:
    bounds = {f"{name}.{end}": () for end in ("input_min", "input_max", "output_min", "output_max")}
    return {name + ".linear.weight": (rows, columns)} | bounds


def vision() -> dict[str, tuple[int, ...]]:
    p = "model.vision_tower."
    shapes: dict[str, tuple[int, ...]] = {
        p + "patch_embedder.input_proj.weight": (768, 768),
        p + "patch_embedder.position_embedding_table": (2, 10240, 768),
        "model.embed_vision.embedding_projection.weight": (WIDTH, 768)}
    for layer in range(16):
        n = f"{p}encoder.layers.{layer}."
        for part in "qkvo":
            shapes |= clipped(f"{n}self_attn.{part}_proj", 768, 768)
        shapes |= clipped(n + "mlp.gate_proj", 3072, 768) | clipped(n + "mlp.up_proj", 3072, 768)
        shapes |= clipped(n + "mlp.down_proj", 768, 3072)
        shapes |= {n + "self_attn.q_norm.weight": (64,), n + "self_attn.k_norm.weight": (64,)}
        for norm in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
            shapes[f"{n}{norm}_layernorm.weight"] = (768,)
    return shapes


def audio() -> dict[str, tuple[int, ...]]:
    p, width = "model.audio_tower.", 1024
    s = p + "subsample_conv_projection."
    shapes: dict[str, tuple[int, ...]] = {
        s + "layer0.conv.weight": (128, 1, 3, 3), s + "layer1.conv.weight": (32, 128, 3, 3),
        s + "layer0.norm.weight": (128,), s + "layer1.norm.weight": (32,),
        s + "input_proj_linear.weight": (width, 1024), p + "output_proj.weight": (WIDTH, width),
        p + "output_proj.bias": (WIDTH,), "model.embed_audio.embedding_projection.weight": (WIDTH, WIDTH)}
    for layer in range(12):
        n = f"{p}layers.{layer}."
        for block in ("feed_forward1", "feed_forward2"):
            shapes |= clipped(f"{n}{block}.ffw_layer_1", 4 * width, width)
            shapes |= clipped(f"{n}{block}.ffw_layer_2", width, 4 * width)
            shapes |= {f"{n}{block}.{end}_layer_norm.weight": (width,) for end in ("pre", "post")}
        for part in ("q_proj", "k_proj", "v_proj", "post"):
            shapes |= clipped(f"{n}self_attn.{part}", width, width)
        shapes |= clipped(n + "lconv1d.linear_start", 2 * width, width)
        shapes |= clipped(n + "lconv1d.linear_end", width, width)
        shapes |= {n + "self_attn.relative_k_proj.weight": (width, width), n + "self_attn.per_dim_scale": (128,),
                   n + "lconv1d.depthwise_conv1d.weight": (width, 1, 5)}
        for norm in ("lconv1d.pre_layer_norm", "lconv1d.conv_norm", "norm_pre_attn", "norm_post_attn", "norm_out"):
            shapes[f"{n}{norm}.weight"] = (width,)
    return shapes


def brain(values: np.ndarray) -> np.ndarray:
    """float32 to bf16 bits, nearest even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def write_weights(path: Path, seed: int) -> None:
    shapes = decoder() | vision() | audio()
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 2 * int(np.prod(shape, dtype=np.int64))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64 + 56)
    rng = np.random.default_rng(seed)
    block = rng.standard_normal(1 << 24, dtype=np.float32)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        start = file.tell()
        file.truncate(start + offset)
        for name, shape in shapes.items():
            file.seek(start + header[name]["data_offsets"][0])
            if name.endswith("embed_tokens_per_layer.weight"):
                continue
            count = int(np.prod(shape, dtype=np.int64))
            if name.endswith(("_min", "_max")):
                file.write(brain(np.array([-30.0 if name.endswith("_min") else 30.0])).tobytes())
            elif len(shape) < 2:
                file.write(brain(np.full(count, 1.0)).tobytes())
            else:
                scaled = brain(block / np.float32(shape[-1] ** 0.5))
                turn = int(rng.integers(len(scaled)))
                for first in range(0, count, len(scaled)):
                    file.write(np.roll(scaled, turn + first)[: count - first].tobytes())


def write_tokenizer(source: Path, out: Path) -> None:
    tokenizer = json.loads((source / "tokenizer.json").read_text())
    old = tokenizer["model"]["vocab"]
    placed = {token: MEDIA.get(token, index) for token, index in old.items()}
    used = set(placed.values())
    placed |= {f"<unused{index}>": index for index in range(VOCABULARY)
               if index not in used and f"<unused{index}>" not in placed}
    taken = sorted(placed.items(), key=lambda item: item[1])
    tokenizer["model"]["vocab"] = dict(taken)
    for token in tokenizer["added_tokens"]:
        token["id"] = placed[token["content"]]
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    for name in ("tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        (out / name).write_text((source / name).read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tokenizer", type=Path, default=ROOT / "Tests/Golden/e2b-tiny/model")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "config.json").write_text(json.dumps(config(), indent=1))
    write_tokenizer(arguments.tokenizer, arguments.out)
    write_weights(arguments.out / "model.safetensors", arguments.seed)


if __name__ == "__main__":
    main()
