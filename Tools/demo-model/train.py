"""Trains the demo model; started again with the same folder, it goes on where it stopped.

    python train.py RUN --ranks 2                      warm-up, then a constant rate, until stopped
    python train.py RUN --ranks 2 --decay-from N --decay-steps M   the rate falls to zero from step N, ends at N + M
"""

import argparse
import json
import math
import os
import time
from collections import defaultdict
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F

import batches
import config
import network
from scenes import Random

MODALITIES = ("image", "sound", "clip", "mixture", "text")
# shares of the modalities in percent at some steps, linear in between
SHARES = ((300, (52, 22, 18, 4, 4)), (900, (33, 12, 39, 10, 6)), (901, (22, 6, 62, 8, 2)), (1000, (34, 5, 53, 6, 2)),
          (1350, (34, 5, 53, 6, 2)), (1351, (20, 6, 65, 7, 2)), (2050, (20, 6, 65, 7, 2)), (2051, (30, 12, 41, 14, 3)))
CLIPS_ALONE = 900  # from here on clips teach the decoder only: pictures have taught the vision tower by then
AUXILIARY = 0.3  # weight of the labels per picture token, falling to zero
AUXILIARY_STEPS = (600, 1500)
WARM = 60
LABELS = (5, 4, 10, 3)
TIME_LABELS = (4, 2)  # frame index and "has just moved", read where clips enter the decoder's last layer with keys
TIME = 0.3


def ramp(step: int, span: tuple[int, int]) -> float:
    return min(1.0, max(0.0, (step - span[0]) / (span[1] - span[0])))


def modality(seed: int, step: int, rank: int) -> str:
    shares = [round(100 * share) for share in SHARES[0][1]]
    for (start, before), (end, after) in zip(SHARES, SHARES[1:]):
        if step > start:
            part = ramp(step, (start, end))
            shares = [round(100 * (a + (b - a) * part)) for a, b in zip(before, after)]
    return Random(seed, 11, step, rank).weighted(MODALITIES, shares)


def is_matrix(name: str, tensor: torch.Tensor) -> bool:
    return tensor.dim() == 2 and not any(part in name for part in ("auxiliary", "embed_tokens"))


class Optimizer:
    """Muon for matrices (orthogonalised momentum), AdamW for the rest."""

    def __init__(self, weights: dict[str, torch.Tensor]):
        self.weights = weights
        self.state = {name: {"m": torch.zeros_like(t)} for name, t in weights.items()}
        self.groups = defaultdict(list)
        for name, tensor in weights.items():
            if is_matrix(name, tensor):
                self.groups[tuple(sorted(tensor.shape))].append(name)
            else:
                self.state[name]["v"] = torch.zeros_like(tensor)

    @staticmethod
    def orthogonal(stack: torch.Tensor) -> torch.Tensor:
        x = stack / (stack.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
        for _ in range(5):
            a = x @ x.transpose(1, 2)
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return x

    @torch.no_grad()
    def step(self, count: int, muon: float, adam: float, decay: float = 0.02):
        for (low, high), names in self.groups.items():
            moved = []
            for name in names:
                m, g = self.state[name]["m"], self.weights[name].grad
                m.mul_(0.95).add_(g, alpha=0.05)
                step = g * 0.05 + m * 0.95
                moved.append(step if step.shape[0] <= step.shape[1] else step.T)
            for name, update in zip(names, self.orthogonal(torch.stack(moved))):
                w = self.weights[name]
                w.mul_(1 - muon * decay).add_(update if w.shape[0] <= w.shape[1] else update.T, alpha=-muon * 0.2 * high**0.5)
        for name, w in self.weights.items():
            state = self.state[name]
            if "v" in state:
                state["m"].lerp_(w.grad, 0.1)
                state["v"].lerp_(w.grad.square(), 0.03)
                m, v = state["m"] / (1 - 0.9**count), state["v"] / (1 - 0.97**count)
                w.addcdiv_(m, v.sqrt() + 1e-8, value=-adam)


def rates(step: int, options) -> float:
    factor = min(1.0, (step - options.first) / WARM)
    if options.decay_from is not None:
        factor *= max(0.0, 1 - max(0, step - options.decay_from) / options.decay_steps)
    return factor


def auxiliary_loss(heads: dict, batch: dict, pooled: torch.Tensor) -> torch.Tensor:
    labels = batch["labels"].reshape(-1, 4)
    scores = F.linear(network.norm(pooled).reshape(len(labels), -1), heads["weight"], heads["bias"])
    total = 0.0
    weight = torch.where(labels[:, 0] > 0, 1.0, 0.1)
    for index, part in enumerate(scores.split(LABELS, 1)):
        loss = F.cross_entropy(part, labels[:, index], reduction="none")
        total = total + ((loss * weight).sum() / weight.sum() if index < 3 else 0.2 * loss.mean())
    return total


def time_loss(weights: dict, batch: dict, entering: torch.Tensor) -> torch.Tensor:
    hidden = network.norm(entering.reshape(-1, entering.shape[-1])[batch["image_slots"]])
    scores = F.linear(hidden, weights["auxiliary.times.weight"], weights["auxiliary.times.bias"]).split(TIME_LABELS, 1)
    return sum(F.cross_entropy(part, batch["times"][:, index]) for index, part in enumerate(scores))


def run(rank: int, options):
    torch.set_num_threads(1)
    folder = Path(options.run)
    dist.init_process_group("gloo", init_method=f"file://{folder.resolve()}/meeting", rank=rank, world_size=options.ranks,
                            timeout=timedelta(days=2))
    encode = batches.Encoder()
    saved = folder / "state.pt"
    start = 0
    weights = network.initial(options.seed)
    names = list(weights)
    g = torch.Generator().manual_seed(options.seed + 1)
    weights["auxiliary.weight"] = torch.randn(sum(LABELS), config.VISION["hidden_size"], generator=g) * 0.1
    weights["auxiliary.bias"] = torch.zeros(sum(LABELS))
    weights["auxiliary.times.weight"] = torch.randn(sum(TIME_LABELS), config.TEXT["hidden_size"], generator=g) * 0.1
    weights["auxiliary.times.bias"] = torch.zeros(sum(TIME_LABELS))
    average = {name: weights[name].clone() for name in names}
    state = torch.load(saved) if saved.exists() else None
    if state:
        start, average = state["step"], state["average"]
        weights |= state["weights"]
    elif options.start:
        start = options.first
        from safetensors.torch import load_file
        for name, tensor in load_file(options.start).items():
            if name in weights:
                weights[name] = tensor.float()
                average[name] = weights[name].clone()
    for tensor in weights.values():
        tensor.requires_grad_(True)
    optimizer = Optimizer(weights)
    if state:
        optimizer.state |= state["optimizer"]
    heads = {"weight": weights["auxiliary.weight"], "bias": weights["auxiliary.bias"]}

    seen, right, losses = defaultdict(int), defaultdict(int), defaultdict(list)
    clock = logged = kept = time.monotonic()
    end = options.decay_from + options.decay_steps if options.decay_from is not None else 10**9
    for step in range(start + 1, end + 1):
        kind = modality(options.seed, step, rank)
        frozen = kind == "clip" and step > CLIPS_ALONE
        batch = batches.make(encode, kind, options.seed, 1, step, rank, size=9 if frozen else None)
        logits, pooled, entering = batches.forward(weights, batch, frozen)
        loss = F.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten())
        total = loss
        share = AUXILIARY * (1 - ramp(step, AUXILIARY_STEPS))
        if pooled is not None and share > 0 and not frozen:
            side = auxiliary_loss(heads, batch, pooled)
            losses["labels"].append(side.item())
            total = total + share * side
        if kind == "clip":
            side = time_loss(weights, batch, entering)
            losses["times"].append(side.item())
            total = total + TIME * side
        total.backward()
        for found, ok in batches.exact(logits.detach(), batch["targets"], batch["kinds"]):
            for key in (kind, f"{kind}.{found}"):
                seen[key] += 1
                right[key] += ok
        losses[kind].append(loss.item())

        for tensor in weights.values():
            if tensor.grad is None:
                tensor.grad = torch.zeros_like(tensor)
        flat = torch.cat([tensor.grad.flatten() for tensor in weights.values()])
        dist.all_reduce(flat)
        flat /= options.ranks
        flat *= min(1.0, 1.0 / (flat.norm().item() + 1e-6))
        at = 0
        for tensor in weights.values():
            tensor.grad.copy_(flat[at:at + tensor.numel()].view_as(tensor))
            at += tensor.numel()
        factor = rates(step, options)
        optimizer.step(step, options.muon * factor, options.adam * factor)
        for tensor in weights.values():
            tensor.grad = None
        with torch.no_grad():
            keep = min(0.995, step / (step + 50))
            for name in names:
                average[name].lerp_(weights[name], 1 - keep)

        now = time.monotonic()
        flag = torch.tensor([float(now - kept > options.keep_seconds or step == end)])
        if step % 10 == 0 or step == end:
            dist.broadcast(flag, 0)
            if flag.item():
                if rank == 0:
                    torch.save({"step": step, "weights": {n: t.detach() for n, t in weights.items()}, "average": average,
                                "optimizer": optimizer.state}, folder / "state.tmp")
                    os.replace(folder / "state.tmp", saved)
                kept = now
        if step % 50 == 0 or step == end:
            tables = [None] * options.ranks
            dist.all_gather_object(tables, (dict(seen), dict(right), {k: (sum(v), len(v)) for k, v in losses.items()}))
            if rank == 0:
                line = {"step": step, "seconds": round(now - clock), "per_step": round((now - logged) / 50, 3), "rate": round(factor, 3)}
                for key in sorted({key for table in tables for key in table[0]}):
                    line[key] = round(sum(t[1].get(key, 0) for t in tables) / sum(t[0].get(key, 0) for t in tables), 3)
                for key in sorted({key for table in tables for key in table[2]}):
                    line["loss." + key] = round(sum(t[2].get(key, (0, 0))[0] for t in tables) / sum(t[2].get(key, (0, 0))[1] for t in tables), 4)
                with open(folder / "log.jsonl", "a") as log:
                    log.write(json.dumps(line) + "\n")
            seen.clear(), right.clear(), losses.clear()
            logged = now
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--muon", type=float, default=8e-3)
    parser.add_argument("--adam", type=float, default=3e-3)
    parser.add_argument("--decay-from", type=int)
    parser.add_argument("--decay-steps", type=int, default=500)
    parser.add_argument("--keep-seconds", type=float, default=90)
    parser.add_argument("--start", help="a model.safetensors to begin from instead of random weights")
    parser.add_argument("--first", type=int, default=0, help="with --start: the step to count from, which decides the shares")
    options = parser.parse_args()
    Path(options.run).mkdir(parents=True, exist_ok=True)
    (Path(options.run) / "meeting").unlink(missing_ok=True)
    torch.multiprocessing.spawn(run, (options,), nprocs=options.ranks)


if __name__ == "__main__":
    main()
