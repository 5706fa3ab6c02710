"""Writes the model folder: f16 weights with clip bounds, configuration, tokenizer, template.

    python export.py RUN/state.pt MODEL_FOLDER
"""

import argparse
import json
import math
from pathlib import Path

import torch

import batches
import config
import network
import questions
import scenes
import tokens

MARGIN = 1.25  # clip bounds are this much wider than what was observed
CALM = 128  # what the projections of the MLPs are brought below
OBSERVED = 200  # examples per modality
# projections whose bounds are one in the published checkpoint, because each group was one operation in training
GROUPS = {"vision": {"k_proj": "kv", "v_proj": "kv", "gate_proj": "gate_up", "up_proj": "gate_up"},
          "audio": {"q_proj": "qkv", "k_proj": "qkv", "v_proj": "qkv"}}


def processor():
    from transformers import Gemma4AudioFeatureExtractor, Gemma4Processor
    from transformers.models.gemma4.image_processing_gemma4 import Gemma4ImageProcessor
    from transformers.models.gemma4.video_processing_gemma4 import Gemma4VideoProcessor

    patch, most = config.VISION["patch_size"], config.IMAGE_TOKENS
    template = tokens.template()
    return Gemma4Processor(
        feature_extractor=Gemma4AudioFeatureExtractor(), tokenizer=tokens.tokenizer(template), chat_template=template,
        image_processor=Gemma4ImageProcessor(patch_size=patch, max_soft_tokens=most, pooling_kernel_size=3),
        video_processor=Gemma4VideoProcessor(patch_size=patch, max_soft_tokens=70, pooling_kernel_size=3, num_frames=4),
        image_seq_length=most)


def write(weights: dict, folder: Path, bounds: dict[str, float] | None):
    folder.mkdir(parents=True, exist_ok=True)
    processor().save_pretrained(folder)
    model = network.reference()
    model.load_state_dict(weights, strict=False)
    if bounds:
        missing = {name for name, _ in model.named_buffers() if name.endswith(("_min", "_max"))} - set(bounds)
        assert not missing, missing
        model.load_state_dict({name: torch.tensor(value) for name, value in bounds.items()}, strict=False)
    model.half().save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config.config(), indent=2) + "\n")
    (folder / "generation_config.json").write_text(json.dumps(config.GENERATION, indent=2) + "\n")


@torch.no_grad()
def observe(folder: Path, seed: int = 99) -> tuple[dict[str, float], dict[str, float]]:
    """Ranges of the clipped projections over many examples, and the largest values of the decoder's modules."""
    from evaluate import Reference

    reference = Reference(str(folder))
    low, high, largest = {}, {}, {}

    def hook(name):
        def seen(module, inputs, output):
            for part, tensor in (("input", inputs[0]), ("output", output)):
                low[name, part] = min(low.get((name, part), 0.0), tensor.min().item())
                high[name, part] = max(high.get((name, part), 0.0), tensor.max().item())
        return seen

    def size(name):
        def seen(module, inputs, output):
            for part, tensor in (("in", inputs[0] if inputs else None), ("out", output[0] if isinstance(output, tuple) else output)):
                if torch.is_tensor(tensor) and tensor.is_floating_point():
                    key = f"{name}.{part}"
                    largest[key] = max(largest.get(key, 0.0), tensor.abs().max().item())
        return seen

    for name, module in reference.model.named_modules():
        if type(module).__name__ == "Gemma4ClippableLinear":
            module.register_forward_hook(hook(name))
        if isinstance(module, torch.nn.Linear) or type(module).__name__.endswith("RMSNorm"):
            module.register_forward_hook(size(name))
    for modality in ("image", "clip", "mixture", "sound"):
        for index in range(OBSERVED if modality != "clip" else OBSERVED // 2):
            example = questions.example(modality, seed, index)
            reference.model(**reference.inputs(example), use_cache=False)
    # flat pictures, noise and silence, so that ordinary foreign media are not cut hard
    g = torch.Generator().manual_seed(seed)
    from PIL import Image
    import numpy as np
    for index in range(24):
        example = {"media": [dict(scenes.picture(scenes.Random(seed, 5, index)))], "question": "What do you see?"}
        inputs = reference.inputs(example)
        shape = inputs["pixel_values"].shape
        noise = torch.rand(shape, generator=g) if index % 2 else torch.rand(1, 1, 1, generator=g).expand(shape)
        reference.model(**{**inputs, "pixel_values": noise.clone()}, use_cache=False)

    groups = {}
    for (name, part), value in high.items():
        tower = "vision" if "vision_tower" in name else "audio"
        leaf = name.rsplit(".", 1)[1]
        groups.setdefault((name.rsplit(".", 1)[0], GROUPS[tower].get(leaf, leaf), part), []).append((name, low[name, part], value))
    bounds = {}
    for (_, _, part), members in groups.items():
        least, most = min(m[1] for m in members), max(m[2] for m in members)
        for name, _, _ in members:
            # rounded outwards to values that f16 holds exactly
            bounds[f"{name}.{part}_min"] = float(torch.tensor(least * MARGIN - 0.01).half())
            bounds[f"{name}.{part}_max"] = float(torch.tensor(most * MARGIN + 0.01).half())
    return bounds, largest


def calm(weights: dict, largest: dict[str, float]) -> dict:
    """Scales up and down projections by powers of two so that f16 holds their results with room; the norm behind undoes it."""
    calmed = dict(weights)
    for name in weights:
        if ".mlp.down_proj" not in name:
            continue
        module = name.removesuffix(".weight")
        inside, outside = (2.0 ** max(0, math.ceil(math.log2(largest[f"{module}.{part}"] / CALM))) for part in ("in", "out"))
        up = name.replace("down_proj", "up_proj")
        calmed[up] = weights[up] / inside
        calmed[name] = weights[name] / max(1.0, outside / inside)
    return calmed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("state")
    parser.add_argument("folder")
    parser.add_argument("--weights", choices=("average", "weights"), default="average")
    options = parser.parse_args()
    torch.set_num_threads(1)
    weights = {name: tensor.float() for name, tensor in torch.load(options.state)[options.weights].items()
               if not name.startswith("auxiliary")}
    folder = Path(options.folder)
    write(weights, folder, None)
    weights = calm(weights, observe(folder)[1])
    write(weights, folder, None)
    bounds, largest = observe(folder)
    write(weights, folder, bounds)
    print("largest bounds:", sorted(((abs(v), k) for k, v in bounds.items()), reverse=True)[:3])
    for value, key in sorted(((v, k) for k, v in largest.items()), reverse=True)[:8]:
        print(f"{value:10.1f}  {key}")
    print("bytes:", (folder / "model.safetensors").stat().st_size)


if __name__ == "__main__":
    main()
