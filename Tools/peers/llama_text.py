"""Gemma 4 E2B's text decoder with random weights as a GGUF file (1.5 to 9 GB)."""

from pathlib import Path

import llama_vocabulary
from llama_gguf import Q, RandomFile, kept

FORMATS = ["Q4_0", "Q8_0", "F16"]
LAYERS, SHARED, WIDTH, PER_LAYER, VOCABULARY = 35, 20, 1536, 256, llama_vocabulary.SIZE
HEADS, HEAD, FULL_HEAD, WINDOW = 8, 256, 512, 512


def text_model(folder: Path, stored: str) -> Path:
    return kept(folder / f"e2b-{stored}.gguf", lambda path: write(path, Q[stored]))


def is_full(layer: int) -> bool:
    return layer % 5 == 4


def write(path: Path, kind: Q) -> None:
    file = RandomFile(path, "gemma4")
    wide = [6144 if layer < LAYERS - SHARED else 12288 for layer in range(LAYERS)]
    file.integers("gemma4.", {
        "context_length": 131072, "embedding_length": WIDTH, "block_count": LAYERS,
        "embedding_length_per_layer_input": PER_LAYER, "vocab_size": VOCABULARY,
        "attention.head_count": HEADS, "attention.head_count_kv": 1,
        "attention.key_length": FULL_HEAD, "attention.value_length": FULL_HEAD,
        "attention.key_length_swa": HEAD, "attention.value_length_swa": HEAD,
        "attention.sliding_window": WINDOW, "attention.shared_kv_layers": SHARED,
        "rope.dimension_count": FULL_HEAD, "rope.dimension_count_swa": HEAD})
    file.writer.add_array("gemma4.feed_forward_length", wide)
    file.writer.add_array("gemma4.attention.sliding_window_pattern", [not is_full(i) for i in range(LAYERS)])
    file.floats("gemma4.", {"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6,
                            "rope.freq_base_swa": 1e4, "final_logit_softcapping": 30.0})
    llama_vocabulary.add(file.writer)

    def matrix(name: str, rows: int, columns: int, stored: Q = kind) -> None:
        file.matrix(name, rows, columns, stored)

    # As llama.cpp's own quantisation does: embeddings of Q4_0 models are Q6_K.
    table = Q.Q6_K if kind == Q.Q4_0 else kind
    matrix("token_embd", VOCABULARY, WIDTH, table)
    matrix("per_layer_token_embd", VOCABULARY, LAYERS * PER_LAYER, table)
    matrix("per_layer_model_proj", LAYERS * PER_LAYER, WIDTH, Q.F16)
    file.norms(["per_layer_proj_norm"], PER_LAYER)
    file.norms(["output_norm"], WIDTH)
    file.norms(["rope_freqs"], FULL_HEAD // 2)
    for layer in range(LAYERS):
        at, head = f"blk.{layer}.", FULL_HEAD if is_full(layer) else HEAD
        file.norms([at + name for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm",
                                           "post_norm")], WIDTH)
        file.norms([at + "attn_q_norm"], head)
        file.norms([at + "layer_output_scale"], 1)
        matrix(at + "attn_q", HEADS * head, WIDTH)
        matrix(at + "attn_output", WIDTH, HEADS * head)
        if layer < LAYERS - SHARED:
            file.norms([at + "attn_k_norm"], head)
            matrix(at + "attn_k", head, WIDTH)
            matrix(at + "attn_v", head, WIDTH)
        matrix(at + "ffn_gate", wide[layer], WIDTH)
        matrix(at + "ffn_up", wide[layer], WIDTH)
        matrix(at + "ffn_down", WIDTH, wide[layer])
        matrix(at + "inp_gate", PER_LAYER, WIDTH)
        matrix(at + "proj", WIDTH, PER_LAYER)
    file.close()
