"""Measures a model on examples it has never seen: one medium or two, one question, the whole answer right or wrong.

    python evaluate.py MODEL_FOLDER --count 1000 --seed 4242 [--out results.json]     the reference implementation, token by token
    python evaluate.py RUN/state.pt --count 1000 --seed 4242                          the training code, in batches
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

import batches
import questions
import scenes
import sounds

MODALITIES = ("image", "sound", "clip", "mixture", "text")


def report(rows: list[dict]) -> dict:
    table = defaultdict(lambda: [0, 0])
    for row in rows:
        for key in (row["modality"], f"{row['modality']}.{row['type']}"):
            table[key][0] += row["right"]
            table[key][1] += 1
    return {key: {"right": right, "of": count, "percent": round(100 * right / count, 2)}
            for key, (right, count) in sorted(table.items())}


# ---- the training code ------------------------------------------------------------------------------------------


@torch.no_grad()
def in_batches(weights: dict, modality: str, seed: int, count: int) -> list[dict]:
    encode, rows = batches.Encoder(), []
    groups = defaultdict(list)
    for index in range(count):
        example = questions.example(modality, seed, index)
        first = example["media"][0] if example["media"] else {}
        groups[first.get("columns"), first.get("rows"), len(first.get("path", ()))].append(example)
    for examples in groups.values():
        for at in range(0, len(examples), 32):
            part = examples[at:at + 32]
            batch = batches.make(encode, modality, 0, given=part)
            logits = batches.forward(weights, batch)[0]
            rows += [dict(example, right=ok) for example, (_, ok) in
                     zip(part, batches.exact(logits, batch["targets"], batch["kinds"]))]
    return rows


# ---- the reference ----------------------------------------------------------------------------------------------


class Reference:
    def __init__(self, folder: str, dtype=torch.float32):
        from transformers import Gemma4ForConditionalGeneration, Gemma4Processor
        self.model = Gemma4ForConditionalGeneration.from_pretrained(folder, dtype=dtype).eval()
        self.processor = Gemma4Processor.from_pretrained(folder)

    def inputs(self, example: dict) -> dict:
        from PIL import Image
        content, extra = [], {}
        for scene in example["media"]:
            if scene["kind"] == "picture":
                content.append({"type": "image"})
                extra["images"] = [[Image.fromarray(scenes.render(scene))]]
            elif scene["kind"] == "clip":
                content.append({"type": "video"})
                count = len(scene["path"])
                frames = [scenes.render(scenes.frame_scene(scene, t)) for t in range(count)]
                extra["videos"] = [np.stack(frames)]
                extra["video_metadata"] = [{"total_num_frames": count, "fps": 1.0, "duration": float(count),
                                            "height": frames[0].shape[0], "width": frames[0].shape[1]}]
                extra["num_frames"] = count
            else:
                content.append({"type": "audio"})
                extra["audio"] = [sounds.render(scene).astype("float32") / 32768]
        content.append({"type": "text", "text": example["question"]})
        text = self.processor.tokenizer.apply_chat_template([{"role": "user", "content": content}], tokenize=False,
                                                            add_generation_prompt=True)
        return dict(self.processor(text=[text], return_tensors="pt", **extra))

    @torch.no_grad()
    def answer(self, example: dict) -> tuple[str, list[int]]:
        inputs = self.inputs(example)
        out = self.model.generate(**inputs, do_sample=False, temperature=None, top_k=None, top_p=None, max_new_tokens=32)
        ids = out[0, inputs["input_ids"].shape[1]:].tolist()
        if ids and ids[-1] in (1, 106, 50):
            ids = ids[:-1]
        return self.processor.tokenizer.decode(ids), ids


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=4242)
    parser.add_argument("--modality", action="append", choices=MODALITIES)
    parser.add_argument("--weights", choices=("average", "weights"), default="average")
    parser.add_argument("--half", action="store_true", help="compute the reference in float16")
    parser.add_argument("--out")
    options = parser.parse_args()
    torch.set_num_threads(1)
    reference = None
    if Path(options.model).is_dir():
        reference = Reference(options.model, torch.float16 if options.half else torch.float32)
    else:
        weights = {name: tensor.float() for name, tensor in torch.load(options.model)[options.weights].items()}
    rows = []
    for modality in options.modality or MODALITIES:
        start = time.monotonic()
        if reference is None:
            rows += in_batches(weights, modality, options.seed, options.count)
        else:
            for index in range(options.count):
                example = questions.example(modality, options.seed, index)
                said, _ = reference.answer(example)
                rows.append(dict(example, said=said, right=said == example["answer"]))
        print(f"{modality}: {time.monotonic() - start:.0f} s", flush=True)
        wrong = [row for row in rows if row["modality"] == modality and not row["right"] and "said" in row]
        for row in wrong[:8]:
            print(f"  {row['type']}: {row['question']} -> {row['said']!r} instead of {row['answer']!r}")
    result = report(rows)
    for key, row in result.items():
        print(f"{key:24} {row['right']:5} of {row['of']:5}  {row['percent']:6.2f} %")
    if options.out:
        Path(options.out).write_text(json.dumps({"model": "reference" if reference else "training code", "seed": options.seed,
                                                 "results": result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
