"""Times the reference implementation in PyTorch at Gemma 4 E2B's shapes with random weights.

    python pytorch_peer.py --threads 2 --dtype float32 vision frames audio prefill decode

Prints one JSON line for each measurement: what, dtype, threads, seconds_median,
processor_seconds_median, runs.
"""

import argparse
import json
import os
import statistics
import time

LIMITS = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
          "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
PIECES = ("vision", "frames", "audio", "prefill", "decode")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pieces", nargs="+", choices=PIECES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=256, help="tokens of the prefill")
    parser.add_argument("--steps", type=int, default=16, help="decoded tokens")
    parser.add_argument("--avx2", action="store_true",
                        help="keep the libraries from using newer instructions")
    return parser.parse_args()


def prepare(options):
    """Environment first: the libraries read it when they load."""
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    if options.avx2:
        os.environ.update(LIMITS)
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")


def build(make, dtype):
    """A model whose matrices are random and whose vectors are ones, without its own slow start."""
    import torch
    from transformers.models.gemma4 import modeling_gemma4 as gemma

    gemma.Gemma4PreTrainedModel._init_weights = lambda self, module: None
    for kind in (torch.nn.Linear, torch.nn.Embedding, torch.nn.Conv1d, torch.nn.Conv2d):
        kind.reset_parameters = lambda self: None
    torch.set_default_dtype(dtype)
    model = make().eval()
    torch.set_default_dtype(torch.float32)
    noise = (torch.rand(1 << 20, generator=torch.Generator().manual_seed(1)) - 0.5) * 0.05
    noise = noise.to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            flat = parameter.data.view(-1)
            if parameter.dim() < 2:
                flat.fill_(1)
                continue
            for start in range(0, flat.numel(), noise.numel()):
                part = flat[start:start + noise.numel()]
                part.copy_(noise[:part.numel()])
    return model


def text_config():
    from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig

    layers = 35
    kinds = ["full_attention" if i % 5 == 4 else "sliding_attention" for i in range(layers)]
    settings = dict(
        vocab_size=262144, vocab_size_per_layer_input=1024, hidden_size=1536,
        hidden_size_per_layer_input=256, num_hidden_layers=layers, layer_types=kinds,
        num_attention_heads=8, num_key_value_heads=1, head_dim=256, intermediate_size=6144,
        use_double_wide_mlp=True, num_kv_shared_layers=20, sliding_window=512,
        final_logit_softcapping=30.0, attention_k_eq_v=False, tie_word_embeddings=True)
    try:
        return Gemma4TextConfig(**settings, global_head_dim=512)
    except Exception:
        wide = {str(i): {"head_dim": 512} for i, k in enumerate(kinds) if k == "full_attention"}
        return Gemma4TextConfig(**settings, per_layer_config=wide)


def report(options, what, seconds, **more):
    print(json.dumps({"what": what, "dtype": options.dtype, "threads": options.threads,
                      "seconds_median": round(statistics.median(s[0] for s in seconds), 4),
                      "processor_seconds_median":
                          round(statistics.median(s[1] for s in seconds), 4),
                      "runs": len(seconds), "avx2": options.avx2, **more}), flush=True)


def timed(body, runs):
    """Seconds by the clock and of all processors, of each run after one that warms up."""
    body()
    seconds = []
    for _ in range(runs):
        start, used = time.perf_counter(), time.process_time()
        body()
        seconds.append((time.perf_counter() - start, time.process_time() - used))
    return seconds


def vision(options, dtype, which):
    import torch
    from transformers.models.gemma4.configuration_gemma4 import Gemma4VisionConfig
    from transformers.models.gemma4.modeling_gemma4 import Gemma4VisionModel

    config = Gemma4VisionConfig(use_clipped_linears=True)
    model = build(lambda: Gemma4VisionModel(config), dtype)
    for name, buffer in model.named_buffers():
        if name.endswith("_min"):
            buffer.fill_(-1e4)
        if name.endswith("_max"):
            buffer.fill_(1e4)

    def inputs(batch, height, width, rows):
        pixels = torch.zeros(batch, rows, 768, dtype=dtype)
        pixels[:, :height * width] = torch.rand(batch, height * width, 768).to(dtype)
        positions = torch.full((batch, rows, 2), -1)
        grid = torch.stack(torch.meshgrid(torch.arange(width), torch.arange(height),
                                          indexing="xy"), dim=-1)
        positions[:, :height * width] = grid.reshape(-1, 2)
        return pixels, positions

    shapes = {"vision": [("image 768x768, 2304 patches", 1, 48, 48, 2304),
                         ("image 768x768 padded to 2520", 1, 48, 48, 2520)],
              "frames": [("8 frames of 630 patches", 8, 21, 30, 630)]}
    for name, batch, height, width, rows in shapes[which]:
        pixels, positions = inputs(batch, height, width, rows)
        report(options, name, timed(lambda: model(pixels, positions), options.runs))


def audio(options, dtype):
    import torch
    from transformers.models.gemma4.configuration_gemma4 import Gemma4AudioConfig
    from transformers.models.gemma4.modeling_gemma4 import Gemma4AudioModel

    model = build(lambda: Gemma4AudioModel(Gemma4AudioConfig()), dtype)
    for name, buffer in model.named_buffers():
        if name.endswith("_min"):
            buffer.fill_(-1e4)
        if name.endswith("_max"):
            buffer.fill_(1e4)
    for seconds in (10, 30):
        frames = seconds * 100
        mel = torch.rand(1, frames, 128).to(dtype)
        mask = torch.ones(1, frames, dtype=torch.bool)
        report(options, f"audio {seconds} s", timed(lambda: model(mel, mask), options.runs))


def decoder(options, dtype, pieces):
    import torch
    from transformers import DynamicCache
    from transformers.models.gemma4.modeling_gemma4 import Gemma4ForCausalLM

    config = text_config()
    model = build(lambda: Gemma4ForCausalLM(config), dtype)
    model.tie_weights()
    ids = torch.randint(3, 1000, (1, options.tokens), generator=torch.Generator().manual_seed(2))
    parameters = sum(p.numel() for p in model.parameters())

    def prefill(key):
        return model(input_ids=ids, use_cache=True, logits_to_keep=1,
                     **{key: DynamicCache(config=config)})

    key = "cache"
    try:
        prefill(key)
    except TypeError:
        key = "past_key_values"
    if "prefill" in pieces:
        report(options, f"prefill {options.tokens}", timed(lambda: prefill(key), options.runs),
               parameters=parameters)
    if "decode" in pieces:
        output = prefill(key)
        cache = getattr(output, "cache", None) or output.past_key_values
        token = torch.tensor([[5]])

        def step():
            model(input_ids=token, use_cache=True, logits_to_keep=1, **{key: cache})

        report(options, f"decode one token after {options.tokens}", timed(step, options.steps))


def main():
    options = parse()
    prepare(options)
    import torch

    torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    with torch.inference_mode():
        for piece in ("vision", "frames"):
            if piece in options.pieces:
                vision(options, dtype, piece)
        if "audio" in options.pieces:
            audio(options, dtype)
        if {"prefill", "decode"} & set(options.pieces):
            decoder(options, dtype, options.pieces)


if __name__ == "__main__":
    main()
