#!/usr/bin/env python3
"""Times llama.cpp on Gemma 4 E2B's text decoder with random weights.

    python Tools/peers/llama_peer.py --model .build/peers [--format Q4_0|Q8_0|F16] [--threads N]
                                     [--prompt N] [--tokens N] [--runs N]

The model is written below the folder once (1.5 to 9 GB). Each measurement is one JSON line: prefill of
`--prompt` tokens into an empty cache, then decoding of `--tokens` behind them. Needs llama-cpp-python
(built from source), gguf and numpy.
"""

import argparse
import ctypes
import json
import statistics
import time
from pathlib import Path

import gguf
import numpy as np

LAYERS, SHARED, WIDTH, PER_LAYER, VOCABULARY = 35, 20, 1536, 256, 262144
HEADS, HEAD, FULL_HEAD, WINDOW = 8, 256, 512, 512
Q = gguf.GGMLQuantizationType
# Bytes of a block, its weights, where its f16 scale lies.
BLOCKS = {Q.Q4_0: (18, 32, 0), Q.Q8_0: (34, 32, 0), Q.Q6_K: (210, 256, 208)}


def is_full(layer: int) -> bool:
    return layer % 5 == 4


def random_rows(rng: np.random.Generator, rows: int, columns: int, kind: Q) -> np.ndarray:
    """Weights of a matrix in a stored format; blocks get a scale that keeps activations finite."""
    if kind == Q.F16:
        return rng.standard_normal((rows, columns), dtype=np.float32).astype(np.float16) * np.float16(0.02)
    size, weights, scale = BLOCKS[kind]
    data = rng.integers(0, 256, (rows, columns // weights * size), dtype=np.uint8)
    blocks = data.reshape(-1, size)
    value = {Q.Q4_0: 0.004, Q.Q8_0: 0.0003, Q.Q6_K: 1e-5}[kind]
    blocks[:, scale:scale + 2] = np.frombuffer(np.float16(value).tobytes(), np.uint8)
    return data


def write(path: Path, kind: Q) -> None:
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(str(path), "gemma4", use_temp_file=True)
    wide = [6144 if layer < LAYERS - SHARED else 12288 for layer in range(LAYERS)]
    for key, value in {"context_length": 131072, "embedding_length": WIDTH, "block_count": LAYERS,
                       "embedding_length_per_layer_input": PER_LAYER, "vocab_size": VOCABULARY,
                       "attention.head_count": HEADS, "attention.head_count_kv": 1,
                       "attention.key_length": FULL_HEAD, "attention.value_length": FULL_HEAD,
                       "attention.key_length_swa": HEAD, "attention.value_length_swa": HEAD,
                       "attention.sliding_window": WINDOW, "attention.shared_kv_layers": SHARED,
                       "rope.dimension_count": FULL_HEAD, "rope.dimension_count_swa": HEAD}.items():
        writer.add_uint32("gemma4." + key, value)
    writer.add_array("gemma4.feed_forward_length", wide)
    writer.add_array("gemma4.attention.sliding_window_pattern", [not is_full(i) for i in range(LAYERS)])
    for key, value in {"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6,
                       "rope.freq_base_swa": 1e4, "final_logit_softcapping": 30.0}.items():
        writer.add_float32("gemma4." + key, value)
    writer.add_string("tokenizer.ggml.model", "no_vocab")

    def matrix(name: str, rows: int, columns: int, stored: Q = kind) -> None:
        writer.add_tensor(name + ".weight", random_rows(rng, rows, columns, stored), raw_dtype=stored)

    def ones(name: str, count: int) -> None:
        writer.add_tensor(name + ".weight", np.ones(count, np.float32))

    # As llama.cpp's own quantisation does: embeddings of Q4_0 models are Q6_K.
    table = Q.Q6_K if kind == Q.Q4_0 else kind
    matrix("token_embd", VOCABULARY, WIDTH, table)
    matrix("per_layer_token_embd", VOCABULARY, LAYERS * PER_LAYER, table)
    matrix("per_layer_model_proj", LAYERS * PER_LAYER, WIDTH, Q.F16)
    ones("per_layer_proj_norm", PER_LAYER)
    ones("output_norm", WIDTH)
    writer.add_tensor("rope_freqs.weight", np.ones(FULL_HEAD // 2, np.float32))
    for layer in range(LAYERS):
        at, head = f"blk.{layer}.", FULL_HEAD if is_full(layer) else HEAD
        for name in ["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"]:
            ones(at + name, WIDTH)
        ones(at + "attn_q_norm", head)
        ones(at + "layer_output_scale", 1)
        matrix(at + "attn_q", HEADS * head, WIDTH)
        matrix(at + "attn_output", WIDTH, HEADS * head)
        if layer < LAYERS - SHARED:
            ones(at + "attn_k_norm", head)
            matrix(at + "attn_k", head, WIDTH)
            matrix(at + "attn_v", head, WIDTH)
        matrix(at + "ffn_gate", wide[layer], WIDTH)
        matrix(at + "ffn_up", wide[layer], WIDTH)
        matrix(at + "ffn_down", WIDTH, wide[layer])
        matrix(at + "inp_gate", PER_LAYER, WIDTH)
        matrix(at + "proj", WIDTH, PER_LAYER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Peer:
    def __init__(self, path: Path, threads: int, context: int):
        import llama_cpp as api

        self.api = api
        self.quiet = api.llama_log_callback(lambda *_: None)
        api.llama_log_set(self.quiet, ctypes.c_void_p(0))
        api.llama_backend_init()
        self.model = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"{path}: llama.cpp could not load it")
        settings = api.llama_context_default_params()
        settings.n_ctx = context
        settings.n_batch = settings.n_ubatch = 512
        settings.n_threads = settings.n_threads_batch = threads
        self.context = api.llama_init_from_model(self.model, settings)

    def feed(self, tokens: list[int]) -> float:
        """Seconds that these tokens take."""
        array = (self.api.llama_token * len(tokens))(*tokens)
        start = time.monotonic()
        if self.api.llama_decode(self.context, self.api.llama_batch_get_one(array, len(tokens))):
            raise SystemExit("llama.cpp could not decode")
        self.api.llama_get_logits_ith(self.context, -1)
        return time.monotonic() - start

    def forget(self) -> None:
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder for the model")
    parser.add_argument("--format", default="Q4_0", choices=["Q4_0", "Q8_0", "F16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    path = arguments.model / f"e2b-{arguments.format}.gguf"
    if not path.exists():
        arguments.model.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        write(partial, Q[arguments.format])
        partial.rename(path)
    peer = Peer(path, arguments.threads, arguments.prompt + arguments.tokens + 64)
    prompt = [3 + 7 * i % 200000 for i in range(arguments.prompt)]
    peer.feed(prompt[:8])
    prefill, decode = [], []
    for _ in range(arguments.runs):
        peer.forget()
        prefill.append(peer.feed(prompt))
        decode.append(sum(peer.feed([5 + i]) for i in range(arguments.tokens)) / arguments.tokens)
    for what, samples in [("prefill", prefill), ("decode", decode)]:
        print(json.dumps({"what": what, "peer": "llama.cpp", "format": arguments.format, "threads": arguments.threads,
                          "prompt": arguments.prompt, "seconds_median": statistics.median(samples),
                          "runs": arguments.runs}))


if __name__ == "__main__":
    main()
