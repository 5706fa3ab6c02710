"""Training batches: several questions behind one prefix of media, with the labels of every step."""

import numpy as np
import torch
from PIL import Image

import config
import network
import questions
import scenes
import sounds
import tokens
from scenes import Random

SIZES = {"image": 16, "sound": 20, "clip": 6, "mixture": 14, "text": 24}
QUESTIONS = {"image": 8, "sound": 6, "clip": 8, "mixture": 8, "text": 6}
TURN_ANSWER = "<turn|>\n<|turn>model\n"


class Encoder:
    def __init__(self):
        self.tokenizer = tokens.tokenizer(tokens.template())
        self.known: dict[str, list[int]] = {}

    def __call__(self, text: str) -> list[int]:
        if text not in self.known:
            if len(self.known) > 50_000:
                self.known.clear()
            self.known[text] = self.tokenizer(text, add_special_tokens=False).input_ids
        return self.known[text]


def pixels(scene: dict) -> np.ndarray:
    """What the processor makes of the rendered picture: its size at scale 1."""
    image = scenes.render(scene)
    if scene["scale"] == 1:
        return image
    size = (scene["columns"] * scenes.TOKEN, scene["rows"] * scenes.TOKEN)
    return np.asarray(Image.fromarray(image).resize(size, Image.BICUBIC))


def token_labels(scene: dict) -> np.ndarray:
    """[tokens, 4]: colour, shape, cell (0: none) of the object over each token's centre, and the background."""
    columns, rows = scene["columns"], scene["rows"]
    x, y = np.meshgrid(np.arange(columns) * 12 + 6, np.arange(rows) * 12 + 6)
    labels = np.zeros((rows, columns, 4), np.int64)
    labels[..., 3] = list(scenes.BACKGROUNDS).index(scene["background"])
    for item in scene["objects"]:
        near = (abs(x - item["x"]) <= item["radius"]) & (abs(y - item["y"]) <= item["radius"])
        labels[near, :3] = (1 + list(scenes.COLOURS).index(item["colour"]), 1 + scenes.SHAPES.index(item["shape"]),
                            1 + item["cell"][0] + 3 * item["cell"][1])
    return labels.reshape(-1, 4)


def time_labels(labels: np.ndarray, scene: dict, frame: int) -> np.ndarray:
    """[tokens, 2]: the frame's index, and whether the object over the token has just moved (-100: no object)."""
    first = scene["objects"][0]
    moving = frame > 0 and scene["path"][frame] != scene["path"][frame - 1]
    is_first = labels[:, 1] == 1 + scenes.SHAPES.index(first["shape"])
    moved = np.where(labels[:, 0] > 0, (is_first & moving).astype(np.int64), -100)
    return np.stack([np.full(len(labels), frame), moved], 1)


def make(encode: Encoder, modality: str, seed: int, *key: int, size: int | None = None, given=None) -> dict:
    """`given`: examples with one question each (all of one layout), for measuring; otherwise drawn for training."""
    random = Random(seed, ("text", "image", "sound", "clip", "mixture").index(modality), *key)
    options = {}
    if modality in ("image", "mixture"):
        options = {"layout": random.weighted(scenes.LAYOUTS, scenes.LAYOUT_WEIGHTS)}
    elif modality == "clip":
        options = {"layout": random.weighted(scenes.CLIP_LAYOUTS, scenes.CLIP_WEIGHTS), "frames": random.weighted((2, 3, 4), (1, 2, 3))}
    if given:
        groups = [(item["media"], [[(item["type"], item["question"], item["answer"])]]) for item in given]
    else:
        groups = []
        count = size or SIZES[modality]
        if modality == "clip":
            count = count * 3 // options["frames"]
        if modality == "image" and random.below(2):  # relations need pairs
            options["count"] = 2
        for _ in range(count):
            media = questions.media_of(modality, random, **options)
            turns = []
            for _ in range(QUESTIONS[modality]):
                talk = [questions.training_question(random, media)]
                if random.below(8) == 0:
                    talk.append(questions.training_question(random, media))
                turns.append(talk)
            groups.append((media, turns))

    image_rows, labels, times, waves, rows = [], [], [], [], []
    kinds = []
    for media, turns in groups:
        prefix = [2] + encode("<|turn>user\n")
        for scene in media:
            if scene["kind"] == "sound":
                wave = torch.from_numpy(sounds.render(scene))
                mel = network.mel(wave)
                waves.append(mel)
                prefix += encode("<|audio>") + [tokens.MEDIA_IDS["<|audio|>"]] * (-(-len(mel) // 4)) + encode("<audio|>")
                continue
            shots = [scene] if scene["kind"] == "picture" else [scenes.frame_scene(scene, t) for t in range(len(scene["path"]))]
            for t, shot in enumerate(shots):
                image_rows.append(pixels(shot))
                labels.append(token_labels(shot))
                if scene["kind"] == "clip":
                    times.append(time_labels(labels[-1], scene, t))
                    prefix += encode((" " if t else "") + scenes.label(t) + " ")
                holder = tokens.MEDIA_IDS["<|image|>" if scene["kind"] == "picture" else "<|video|>"]
                prefix += encode("<|image>") + [holder] * (scene["columns"] * scene["rows"]) + encode("<image|>")
            prefix += encode("\n")
        ids, group, position, answers, targets = list(prefix), [0] * len(prefix), list(range(len(prefix))), [], []
        for index, talk in enumerate(turns):
            at = len(prefix)
            for turn, (kind, question, answer) in enumerate(talk):
                asked = (encode("\n<|turn>user\n") if turn else []) + encode(question) + encode(TURN_ANSWER)
                said = encode(answer) + [tokens.FIXED["<turn|>"]]
                whole = asked + said[:-1]
                answers += range(len(ids) + len(asked) - 1, len(ids) + len(whole))
                targets += said
                kinds.append(kind)
                if turn + 1 < len(talk):
                    whole = asked + said
                ids += whole
                group += [index + 1] * len(whole)
                position += range(at, at + len(whole))
                at += len(whole)
        rows.append((ids, group, position, answers, targets))

    n, length = len(rows), max(len(row[0]) for row in rows)
    most = max(len(row[3]) for row in rows)
    ids, group = np.zeros((n, length), np.int64), np.full((n, length), -1)
    position, answers = np.zeros((n, length), np.int64), np.zeros((n, most), np.int64)
    targets = np.full((n, most), -100)
    for i, row in enumerate(rows):
        ids[i, :len(row[0])], group[i, :len(row[0])], position[i, :len(row[0])] = row[:3]
        answers[i, :len(row[3])], targets[i, :len(row[4])] = row[3:]
    order = np.arange(length)
    full = (order[None, :] <= order[:, None])[None] & ((group[:, None, :] == 0) | (group[:, None, :] == group[:, :, None]))
    full &= (group[:, None, :] >= 0) & (group[:, :, None] >= 0)
    full |= np.eye(length, dtype=bool)[None]
    sliding = full & (position[:, :, None] - position[:, None, :] < config.TEXT["sliding_window"])
    flat = ids.reshape(-1)
    holders = [tokens.MEDIA_IDS[name] for name in ("<|image|>", "<|video|>", "<|audio|>")]
    batch = {"modality": modality, "ids": torch.from_numpy(ids), "positions": torch.from_numpy(position),
             "table_ids": torch.from_numpy(np.where(np.isin(ids, holders), 0, ids)),
             "full": torch.from_numpy(full), "sliding": torch.from_numpy(sliding), "answers": torch.from_numpy(answers),
             "targets": torch.from_numpy(targets), "kinds": kinds}
    if image_rows:
        scene = groups[0][0][0]
        batch["grid"] = (scene["columns"], scene["rows"])
        batch["patches"] = network.blocks(torch.from_numpy(np.stack(image_rows)))
        batch["labels"] = torch.from_numpy(np.stack(labels))
        batch["image_slots"] = torch.from_numpy(np.flatnonzero(np.isin(flat, holders[:2])))
    if times:
        batch["times"] = torch.from_numpy(np.concatenate(times))
    if waves:
        batch["mels"] = torch.nn.utils.rnn.pad_sequence(waves, batch_first=True)
        batch["valid"] = torch.tensor([len(wave) for wave in waves])
        batch["audio_slots"] = torch.from_numpy(np.flatnonzero(flat == holders[2]))
    return batch


def forward(w: dict, batch: dict, frozen: bool = False) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """Logits where answers are learned, the pooled picture features, and what enters the decoder's last layer with keys; `frozen` leaves the vision tower alone."""
    media, pooled = [], None
    if "patches" in batch:
        with torch.set_grad_enabled(torch.is_grad_enabled() and not frozen):
            pooled = network.vision(w, batch["patches"], *batch["grid"])
        features = network.project(w, pooled, "vision")
        media.append((batch["image_slots"], features.reshape(-1, features.shape[-1])))
    if "mels" in batch:
        features, real = network.audio(w, batch["mels"], batch["valid"])
        media.append((batch["audio_slots"], network.project(w, features, "audio")[real]))
    logits, entering = network.text(w, batch, media)
    return logits, pooled, entering


def exact(logits: torch.Tensor, targets: torch.Tensor, kinds: list[str]) -> list[tuple[str, bool]]:
    """Whether each answer, its end included, is right from beginning to end."""
    right = (logits.argmax(-1) == targets)[targets >= 0].tolist()
    ends = (targets[targets >= 0] == tokens.FIXED["<turn|>"]).tolist()
    result, whole = [], True
    for ok, end in zip(right, ends):
        whole &= ok
        if end:
            result.append((kinds[len(result)], whole))
            whole = True
    return result
