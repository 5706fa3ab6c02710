"""Writes what the examples need: expected answers of the reference, and a picture, a clip and a sound as files.

    python examples.py MODEL_FOLDER OUT
"""

import argparse
import hashlib
import json
import subprocess
import tempfile
import wave
from pathlib import Path

import torch
from PIL import Image

import questions
import scenes
import sounds
from evaluate import Reference
from scenes import Random

SEED = 31337  # the examples'; training uses 1, measurement 4242
COUNTS = {"image": 120, "sound": 60, "clip": 80, "mixture": 70, "text": 30}


def digest(scene: dict) -> list[str]:
    """SHA-256 of the pixels (rows of RGB bytes, one entry per frame) or of the samples (16 bits, little endian)."""
    if scene["kind"] == "sound":
        return [hashlib.sha256(sounds.render(scene).astype("<i2").tobytes()).hexdigest()]
    frames = [scene] if scene["kind"] == "picture" else [scenes.frame_scene(scene, t) for t in range(len(scene["path"]))]
    return [hashlib.sha256(scenes.render(frame).tobytes()).hexdigest() for frame in frames]


@torch.no_grad()
def answer(reference: Reference, example: dict) -> dict:
    inputs = reference.inputs(example)
    out = reference.model.generate(**inputs, do_sample=False, temperature=None, top_k=None, top_p=None, max_new_tokens=32,
                                   return_dict_in_generate=True, output_logits=True)
    ids = out.sequences[0, inputs["input_ids"].shape[1]:].tolist()
    margins = [float(top[0] - top[1]) for top in (step[0].float().topk(2).values for step in out.logits)]
    if ids[-1] in (1, 106, 50):
        ids = ids[:-1]
    return {"answer": reference.processor.tokenizer.decode(ids), "tokens": ids,
            "prompt_tokens": inputs["input_ids"].shape[1], "margin": round(min(margins), 3)}


def expected(reference: Reference, out: Path):
    lines = []
    for modality, count in COUNTS.items():
        for index in range(count):
            example = questions.example(modality, SEED, index)
            found = answer(reference, example)
            lines.append({"id": f"{modality}-{index:03d}", "modality": modality, "type": example["type"],
                          "question": example["question"], **found, "truth": example["answer"],
                          "media": [dict(scene, sha256=digest(scene)) for scene in example["media"]]})
    (out / "expected.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    right = sum(line["answer"] == line["truth"] for line in lines)
    print(f"{len(lines)} items, {right} of them answered right, smallest margin {min(line['margin'] for line in lines)}")


def media(out: Path):
    index = next(i for i in range(100) if len(scenes.picture(Random(SEED, 100, i))["objects"]) == 2)
    picture = scenes.picture(Random(SEED, 100, index), layout=(8, 8), scale=4)
    Image.fromarray(scenes.render(picture)).save(out / "picture.png", optimize=True)

    def suits(scene: dict) -> bool:
        return len(scene["objects"]) == 2 and scene["start"] == 2 and scene["path"][2] != scene["path"][3]

    index = next(i for i in range(1000) if suits(scenes.clip(Random(SEED, 101, i), layout=(9, 7), frames=4, scale=4)))
    clip = scenes.clip(Random(SEED, 101, index), layout=(9, 7), frames=4, scale=4)
    with tempfile.TemporaryDirectory() as folder:
        for t in range(4):
            Image.fromarray(scenes.render(scenes.frame_scene(clip, t))).save(Path(folder) / f"{t}.png")
        subprocess.run(["ffmpeg", "-loglevel", "error", "-y", "-framerate", "1", "-i", f"{folder}/%d.png", "-c:v", "libx264",
                        "-crf", "10", "-pix_fmt", "yuv420p", "-bitexact", out / "clip.mp4"], check=True)

    index = next(i for i in range(100) if len(sounds.sound(Random(SEED, 102, i))["beeps"]) == 3)
    sound = sounds.sound(Random(SEED, 102, index))
    with wave.open(str(out / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sounds.RATE)
        file.writeframes(sounds.render(sound).astype("<i2").tobytes())
    (out / "media.json").write_text(json.dumps({"picture.png": picture, "clip.mp4": clip, "sound.wav": sound}, indent=1) + "\n")



def from_files(reference: Reference, out: Path):
    """The reference's answers about the files themselves, decoded again."""
    import numpy as np
    picture = np.asarray(Image.open(out / "picture.png"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["ffmpeg", "-loglevel", "error", "-i", out / "clip.mp4", f"{folder}/%d.png"], check=True)
        frames = [np.asarray(Image.open(Path(folder) / f"{t + 1}.png").convert("RGB")) for t in range(4)]
    with wave.open(str(out / "sound.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    asked = {
        "picture.png": ("Describe this image", "What colour is the background?", "How many shapes are there?"),
        "clip.mp4": ("Describe the video.", "When does it start to move?", "Which way does it move?"),
        "sound.wav": ("Describe the sound.", "How many beeps do you hear?"),
        "picture.png sound.wav": ("How many shapes and how many beeps are there?",),
        "": ("Hello", "What is the capital of France?"),
    }
    rows = []
    for names, wordings in asked.items():
        described = json.loads((out / "media.json").read_text())
        used = [dict(described[name], file=name) for name in names.split()]

        def stored(scene):
            return picture if scene["file"] == "picture.png" else frames[scene["frame"]]

        def framed(scene, t):
            return dict(scene, frame=t)

        keep = scenes.render, scenes.frame_scene, sounds.render
        scenes.render, scenes.frame_scene, sounds.render = stored, framed, lambda scene: samples
        try:
            for wording in wordings:
                found = answer(reference, {"media": used, "question": wording})
                rows.append({"media": names.split(), "question": wording, **found})
        finally:
            scenes.render, scenes.frame_scene, sounds.render = keep
    (out / "files.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for row in rows:
        print(" ".join(row["media"]), "|", row["question"], "|", row["answer"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("out")
    options = parser.parse_args()
    torch.set_num_threads(1)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    reference = Reference(options.model)
    media(out)
    from_files(reference, out)
    expected(reference, out)


if __name__ == "__main__":
    main()
