"""Gemma 4 E2B's vision and audio towers with random weights as llama.cpp's projector file (0.5 to 1 GB).

Formats are those that llama.cpp's own conversion gives: matrices in the chosen one, the patch embedding in f16
or f32, norms, clip bounds, position embeddings and the audio tower's convolutions in f32.
"""

from pathlib import Path

from llama_gguf import Q, RandomFile, kept

FORMATS = ["F16", "BF16", "Q8_0"]
TEXT, EPSILON, BOUND = 1536, 1e-6, 30.0
WIDTH, INNER, LAYERS, HEADS, PATCH, POSITIONS = 768, 3072, 16, 12, 16, 10240
A_WIDTH, A_INNER, A_LAYERS, A_HEADS, MEL, CHANNELS, KERNEL = 1024, 4096, 12, 8, 128, (128, 32), 5


def projector(folder: Path, stored: str) -> Path:
    return kept(folder / f"e2b-mmproj-{stored}.gguf", lambda path: write(path, Q[stored]))


def clipped(file: RandomFile, name: str, rows: int, columns: int, kind: Q) -> None:
    """A matrix with bounds for what goes in and what comes out."""
    file.matrix(name, rows, columns, kind)
    for end, value in {"min": -BOUND, "max": BOUND}.items():
        file.vector(f"{name}.input_{end}", 1, value)
        file.vector(f"{name}.output_{end}", 1, value)


def tower(file: RandomFile, name: str, kind: str, width: int, inner: int, layers: int, heads: int) -> None:
    prefix = f"clip.{name}."
    file.writer.add_bool(f"clip.has_{name}_encoder", True)
    file.writer.add_string(prefix + "projector_type", kind)
    file.integers(prefix, {"embedding_length": width, "feed_forward_length": inner, "block_count": layers,
                           "attention.head_count": heads, "projection_dim": TEXT})
    file.floats(prefix, {"attention.layer_norm_epsilon": EPSILON})


def vision(file: RandomFile, kind: Q) -> None:
    tower(file, "vision", "gemma4v", WIDTH, INNER, LAYERS, HEADS)
    # The size of images is required and not used.
    file.integers("clip.vision.", {"image_size": 224, "patch_size": PATCH})
    file.writer.add_array("clip.vision.image_mean", [0.0] * 3)
    file.writer.add_array("clip.vision.image_std", [1.0] * 3)
    file.matrix("v.patch_embd", WIDTH, 3 * PATCH * PATCH, Q.F16 if kind == Q.F16 else Q.F32, (WIDTH, 3, PATCH, PATCH))
    file.matrix("v.position_embd", 2 * POSITIONS, WIDTH, Q.F32, (2, POSITIONS, WIDTH))
    file.matrix("mm.input_projection", TEXT, WIDTH, kind)
    for layer in range(LAYERS):
        at = f"v.blk.{layer}."
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            clipped(file, at + name, WIDTH, WIDTH, kind)
        for name in ("ffn_gate", "ffn_up"):
            clipped(file, at + name, INNER, WIDTH, kind)
        clipped(file, at + "ffn_down", WIDTH, INNER, kind)
        file.norms([at + name for name in ("ln1", "ln2", "attn_post_norm", "ffn_post_norm")], WIDTH)
        file.norms([at + "attn_q_norm", at + "attn_k_norm"], WIDTH // HEADS)


def audio(file: RandomFile, kind: Q) -> None:
    tower(file, "audio", "gemma4a", A_WIDTH, A_INNER, A_LAYERS, A_HEADS)
    file.integers("clip.audio.", {"num_mel_bins": MEL})
    inputs = 1
    for index, channels in enumerate(CHANNELS):
        file.matrix(f"a.conv1d.{index}", channels, inputs * 9, Q.F32, (channels, inputs, 3, 3))
        file.norms([f"a.conv1d.{index}.norm"], channels)
        inputs = channels
    file.matrix("a.input_projection", A_WIDTH, MEL // 4 * CHANNELS[1], Q.F32)
    file.matrix("a.pre_encode.out", TEXT, A_WIDTH, kind)
    file.vector("a.pre_encode.out.bias", TEXT, 0)
    file.matrix("mm.a.input_projection", TEXT, TEXT, kind)
    for layer in range(A_LAYERS):
        at = f"a.blk.{layer}."
        for end in ("", "_1"):
            clipped(file, at + "ffn_up" + end, A_INNER, A_WIDTH, kind)
            clipped(file, at + "ffn_down" + end, A_WIDTH, A_INNER, kind)
            file.norms([f"{at}ffn_norm{end}", f"{at}ffn_post_norm{end}"], A_WIDTH)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out", "conv_pw2"):
            clipped(file, at + name, A_WIDTH, A_WIDTH, kind)
        clipped(file, at + "conv_pw1", 2 * A_WIDTH, A_WIDTH, kind)
        file.matrix(at + "attn_k_rel", A_WIDTH, A_WIDTH, kind)
        file.matrix(at + "conv_dw", A_WIDTH, KERNEL, Q.F32)
        file.norms([at + "per_dim_scale"], A_WIDTH // A_HEADS)
        file.norms([at + name for name in ("attn_pre_norm", "attn_post_norm", "conv_norm", "norm_conv", "ln2")], A_WIDTH)


def write(path: Path, kind: Q) -> None:
    file = RandomFile(path, "clip")
    file.writer.add_type("mmproj")
    vision(file, kind)
    audio(file, kind)
    file.close()
