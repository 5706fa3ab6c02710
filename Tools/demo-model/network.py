"""The forward computation for training: plain functions over the reference model's parameters.

Differences from the reference are only of order and place, not of value: patches come in the order of pooled blocks, nothing
is padded in pictures, several questions share one prefix, and the layers that own no keys run only where an answer is learned.
"""

import json
import math
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

import config

T, V, A = config.TEXT, config.VISION, config.AUDIO
EPS = 1e-6
TEXT, VISION, AUDIO = "model.language_model.", "model.vision_tower.", "model.audio_tower."
LAYERS, SHARED = T["num_hidden_layers"], T["num_kv_shared_layers"]


def reference(fields: dict | None = None):
    """The reference model with the demo's sizes."""
    from transformers import Gemma4Config, Gemma4ForConditionalGeneration

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(fields or config.config()))
        made = Gemma4Config.from_pretrained(folder)
    return Gemma4ForConditionalGeneration._from_config(made, dtype=torch.float32)


def shapes() -> dict[str, tuple[int, ...]]:
    bounds = ("input_min", "input_max", "output_min", "output_max")
    return {name: tuple(tensor.shape) for name, tensor in reference().state_dict().items()
            if name != "lm_head.weight" and not name.endswith(bounds)}


def initial(seed: int) -> dict[str, torch.Tensor]:
    """Scales chosen so that every part starts near unit size, and branches start small."""
    from scenes import Random, picture, render

    g = torch.Generator().manual_seed(seed)
    made = {}
    for name, shape in shapes().items():
        leaf, parent = name.rsplit(".", 1)[1], name.rsplit(".", 2)[1]
        if leaf == "layer_scalar":
            value = torch.ones(shape)
        elif leaf in ("per_dim_scale", "bias"):
            value = torch.zeros(shape)
        elif leaf == "position_embedding_table":
            value = _sinusoids(shape)
        elif parent in ("q_norm", "k_norm"):
            value = torch.full(shape, 1.3**0.5 * shape[0]**-0.25)
        elif parent.startswith(("post_", "norm_post")):
            value = torch.full(shape, 0.3)
        elif leaf == "weight" and len(shape) == 1:
            value = torch.ones(shape)
        elif name.endswith(("embed_tokens.weight",)):
            value = torch.randn(shape, generator=g) * shape[1]**-0.5
        elif name.endswith("embed_tokens_per_layer.weight"):
            value = torch.randn(shape, generator=g) * T["hidden_size_per_layer_input"]**-0.5
        else:
            value = torch.randn(shape, generator=g) * (math.prod(shape[1:]))**-0.5
        made[name] = value

    # the patch projection starts as a whitening of patches that are not flat, turned at random
    patches = torch.cat([blocks(torch.from_numpy(render(picture(Random(seed, 77, i)))), 1).reshape(-1, 48)
                         for i in range(0, 400) if picture(Random(seed, 77, i))["scale"] == 1])
    patches = 2 * (patches - 0.5)
    patches = patches[patches.std(0, correction=0).new_tensor(1) * patches.reshape(-1, 16, 3).std(1).sum(1) > 0.05]
    spread = patches.T @ patches / len(patches)
    values, vectors = torch.linalg.eigh(spread)
    whiten = (vectors / (values + 1e-3).sqrt()) @ vectors.T
    turn = torch.linalg.qr(torch.randn(V["hidden_size"], 48, generator=g))[0]
    made[VISION + "patch_embedder.input_proj.weight"] = turn @ whiten
    return made


def _sinusoids(shape) -> torch.Tensor:
    _, count, width = shape
    quarter = width // 4
    rates = torch.exp(torch.arange(quarter) * -(math.log(100.0) / quarter))
    angle = torch.arange(count)[:, None] * rates[None]
    wave = 0.5 * torch.cat([angle.sin(), angle.cos()], -1)
    table = torch.zeros(shape)
    table[0, :, : width // 2], table[1, :, width // 2:] = wave, wave
    return table


def blocks(pixels: torch.Tensor, frames: int = 0) -> torch.Tensor:
    """[frames, height, width, 3] bytes -> [frames, tokens, 9, 48]: patches in the order of the pooled blocks."""
    if pixels.dim() == 3:
        pixels = pixels[None]
    n, height, width, _ = pixels.shape
    p = V["patch_size"]
    rows, columns = height // (3 * p), width // (3 * p)
    cut = pixels.reshape(n, rows, 3, p, columns, 3, p, 3).permute(0, 1, 4, 2, 5, 3, 6, 7)
    return cut.reshape(n, rows * columns, 9, p * p * 3).float() * (1 / 255)


def norm(x, weight=None):
    return F.rms_norm(x, x.shape[-1:], weight, EPS)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


# ---- vision -----------------------------------------------------------------------------------------------------

_grids: dict = {}


def grid(columns: int, rows: int):
    """Positions of patches in pooled-block order, with their rotations."""
    if (columns, rows) not in _grids:
        by, bx, py, px = torch.meshgrid(torch.arange(rows), torch.arange(columns), torch.arange(3), torch.arange(3), indexing="ij")
        x, y = (bx * 3 + px).flatten(), (by * 3 + py).flatten()
        half = V["head_dim"] // 2
        rates = 1.0 / (100.0 ** (torch.arange(0, half, 2).float() / half))
        angle_x, angle_y = x[:, None] * rates, y[:, None] * rates
        _grids[columns, rows] = (x, y, (angle_x.cos(), angle_x.sin()), (angle_y.cos(), angle_y.sin()))
    return _grids[columns, rows]


def vision(w: dict, patches: torch.Tensor, columns: int, rows: int) -> torch.Tensor:
    """[n, tokens, 9, 48] -> pooled features [n, tokens, width], before the norm and the projection."""
    n, count = patches.shape[:2]
    x, y, turn_x, turn_y = grid(columns, rows)
    table = w[VISION + "patch_embedder.position_embedding_table"]
    h = F.linear(2 * (patches.reshape(n, count * 9, -1) - 0.5), w[VISION + "patch_embedder.input_proj.weight"])
    h = h + (table[0][x] + table[1][y])
    heads, d = V["num_attention_heads"], V["head_dim"]

    def turned(z):
        a, b = z.chunk(2, -1)
        return torch.cat([rotate(a, *turn_x), rotate(b, *turn_y)], -1)

    for layer in range(V["num_hidden_layers"]):
        at = f"{VISION}encoder.layers.{layer}."
        z = norm(h, w[at + "input_layernorm.weight"])
        q, k, v = (F.linear(z, w[f"{at}self_attn.{part}_proj.linear.weight"]).view(n, -1, heads, d).transpose(1, 2) for part in "qkv")
        q = turned(norm(q, w[at + "self_attn.q_norm.weight"]))
        k = turned(norm(k, w[at + "self_attn.k_norm.weight"]))
        a = F.scaled_dot_product_attention(q, k, norm(v), scale=1.0).transpose(1, 2).reshape(n, count * 9, heads * d)
        h = h + norm(F.linear(a, w[at + "self_attn.o_proj.linear.weight"]), w[at + "post_attention_layernorm.weight"])
        z = norm(h, w[at + "pre_feedforward_layernorm.weight"])
        m = F.gelu(F.linear(z, w[at + "mlp.gate_proj.linear.weight"]), approximate="tanh") * F.linear(z, w[at + "mlp.up_proj.linear.weight"])
        h = h + norm(F.linear(m, w[at + "mlp.down_proj.linear.weight"]), w[at + "post_feedforward_layernorm.weight"])
    return h.view(n, count, 9, -1).mean(2) * V["hidden_size"]**0.5


def project(w: dict, features: torch.Tensor, part: str) -> torch.Tensor:
    return F.linear(norm(features), w[f"model.embed_{part}.embedding_projection.weight"])


# ---- audio ------------------------------------------------------------------------------------------------------

_mel: list = []


def mel(wave: torch.Tensor) -> torch.Tensor:
    """16-bit samples -> log-mel of the valid frames [frames, 128]."""
    if not _mel:
        from transformers.audio_utils import mel_filter_bank
        bank = mel_filter_bank(num_frequency_bins=257, num_mel_filters=128, min_frequency=0.0, max_frequency=8000.0,
                               sampling_rate=16000, norm=None, mel_scale="htk")
        _mel.extend([torch.from_numpy(bank).float(), torch.hann_window(320, periodic=True)])
    bank, window = _mel
    valid = (len(wave) - 1) // 160
    padded = F.pad(wave.float() / 32768, (160, 321))
    frames = padded.unfold(0, 320, 160)[:valid] * window
    return torch.log(torch.fft.rfft(frames, 512).abs() @ bank + 0.001)


def audio(w: dict, mels: torch.Tensor, valid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """[n, frames, 128] with zeros after the valid ones -> features [n, tokens, text width] and which are real."""
    n = len(mels)
    mask = torch.arange(mels.shape[1])[None] < valid[:, None]
    h = mels[:, None]
    for layer in range(2):
        at = f"{AUDIO}subsample_conv_projection.layer{layer}."
        h = F.conv2d(h * mask[:, None, :, None], w[at + "conv.weight"], stride=2, padding=1).permute(0, 2, 3, 1)
        h = F.relu(F.layer_norm(h, h.shape[-1:], w[at + "norm.weight"], None, EPS)).permute(0, 3, 1, 2)
        mask = mask[:, ::2]
    h = h.permute(0, 2, 3, 1).reshape(n, mask.shape[1], -1)
    h = F.linear(h, w[AUDIO + "subsample_conv_projection.input_proj_linear.weight"])

    width, heads = A["hidden_size"], A["num_attention_heads"]
    d, count = width // heads, mask.shape[1]
    distance = torch.arange(count)[:, None] - torch.arange(count)[None]
    near = ((distance >= 0) & (distance < 12))[None, None] & mask[:, None, None, :]
    near = near | torch.eye(count, dtype=torch.bool)
    rates = torch.exp(torch.arange(width // 2) * -(math.log(10000.0) / (width // 2 - 1)))
    angle = torch.arange(13)[:, None] * rates[None]
    relative = torch.cat([angle.sin(), angle.cos()], -1)

    def feed(h, at):
        z = F.silu(F.linear(norm(h, w[at + "pre_layer_norm.weight"]), w[at + "ffw_layer_1.linear.weight"]))
        return h + 0.5 * norm(F.linear(z, w[at + "ffw_layer_2.linear.weight"]), w[at + "post_layer_norm.weight"])

    for layer in range(A["num_hidden_layers"]):
        at = f"{AUDIO}layers.{layer}."
        h = feed(h, at + "feed_forward1.")
        z = norm(h, w[at + "norm_pre_attn.weight"])
        q, k, v = (F.linear(z, w[f"{at}self_attn.{part}_proj.linear.weight"]).view(n, count, heads, d).transpose(1, 2) for part in "qkv")
        q = q * (d**-0.5 / math.log(2) * F.softplus(w[at + "self_attn.per_dim_scale"]))
        k = k * (math.log(1 + math.e) / math.log(2))
        r = F.linear(relative, w[at + "self_attn.relative_k_proj.weight"]).view(13, heads, d).permute(1, 2, 0)
        by_distance = (q @ r).gather(-1, distance.clamp(0, 12).expand(n, heads, count, count))
        s = 50.0 * torch.tanh((q @ k.transpose(-1, -2) + by_distance) / 50.0)
        a = s.masked_fill(~near, -1e9).softmax(-1) @ v
        a = F.linear(a.transpose(1, 2).reshape(n, count, width), w[at + "self_attn.post.linear.weight"])
        h = h + norm(a, w[at + "norm_post_attn.weight"])
        z = F.glu(F.linear(norm(h, w[at + "lconv1d.pre_layer_norm.weight"]), w[at + "lconv1d.linear_start.linear.weight"]), -1)
        z = F.conv1d(F.pad(z.transpose(1, 2), (4, 0)), w[at + "lconv1d.depthwise_conv1d.weight"], groups=width).transpose(1, 2)
        z = F.silu(norm(z, w[at + "lconv1d.conv_norm.weight"]))
        h = h + F.linear(z, w[at + "lconv1d.linear_end.linear.weight"])
        h = norm(feed(h, at + "feed_forward2."), w[at + "norm_out.weight"])
    return F.linear(h, w[AUDIO + "output_proj.weight"], w[AUDIO + "output_proj.bias"]), mask


# ---- text -------------------------------------------------------------------------------------------------------


def _rates(kind: str) -> torch.Tensor:
    if kind == "sliding_attention":
        return 10000.0 ** (-torch.arange(0, T["head_dim"], 2).float() / T["head_dim"])
    d = T["global_head_dim"]
    turning = int(0.25 * d // 2)
    return torch.cat([1e6 ** (-torch.arange(0, 2 * turning, 2).float() / d), torch.zeros(d // 2 - turning)])


def text(w: dict, batch: dict, media: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits at the places where an answer is learned [n, answers, vocabulary], and what enters the last layer with keys."""
    ids, positions, at_answers = batch["ids"], batch["positions"], batch["answers"]
    n, length = ids.shape
    width, small = T["hidden_size"], T["hidden_size_per_layer_input"]
    h = F.embedding(ids, w[TEXT + "embed_tokens.weight"]) * width**0.5
    for slots, features in media:
        h = h.reshape(n * length, width).index_copy(0, slots, features).view(n, length, width)
    token = F.embedding(batch["table_ids"], w[TEXT + "embed_tokens_per_layer.weight"]) * small**0.5
    context = (F.linear(h, w[TEXT + "per_layer_model_projection.weight"]) * width**-0.5).view(n, length, LAYERS, small)
    context = norm(context, w[TEXT + "per_layer_projection_norm.weight"])
    inputs = (context + token.view(n, length, LAYERS, small)) * 2**-0.5

    masks = {"full_attention": batch["full"][:, None], "sliding_attention": batch["sliding"][:, None]}
    turns = {}
    for kind in masks:
        angle = positions[..., None] * _rates(kind)
        turns[kind] = (angle.cos()[:, None], angle.sin()[:, None])
    heads, kept = T["num_attention_heads"], {}
    for layer in range(LAYERS):
        at, kind = f"{TEXT}layers.{layer}.", T["layer_types"][layer]
        d = T["head_dim"] if kind == "sliding_attention" else T["global_head_dim"]
        if layer == LAYERS - SHARED:  # from here on nothing writes keys
            def pick(z, dim=1):
                return z.gather(dim, at_answers.view(n, -1, *[1] * (z.dim() - 2)).expand(-1, -1, *z.shape[2:]))
            h, inputs = pick(h), pick(inputs)
            masks = {key: pick(mask[:, 0])[:, None] for key, mask in masks.items()}
            turns = {key: tuple(pick(part[:, 0])[:, None] for part in pair) for key, pair in turns.items()}
        if layer == LAYERS - SHARED - 1:
            entering = h
        z = norm(h, w[at + "input_layernorm.weight"])
        q = F.linear(z, w[at + "self_attn.q_proj.weight"]).view(n, -1, heads, d).transpose(1, 2)
        q = rotate(norm(q, w[at + "self_attn.q_norm.weight"]), *turns[kind])
        if layer < LAYERS - SHARED:
            k = F.linear(z, w[at + "self_attn.k_proj.weight"])[:, None]
            k = rotate(norm(k, w[at + "self_attn.k_norm.weight"]), *turns[kind])
            v = norm(F.linear(z, w[at + "self_attn.v_proj.weight"])[:, None])
            kept[kind] = (k, v)
        k, v = kept[kind]
        a = F.scaled_dot_product_attention(q, k.expand(-1, heads, -1, -1), v.expand(-1, heads, -1, -1), masks[kind], scale=1.0)
        a = F.linear(a.transpose(1, 2).reshape(n, -1, heads * d), w[at + "self_attn.o_proj.weight"])
        h = h + norm(a, w[at + "post_attention_layernorm.weight"])
        z = norm(h, w[at + "pre_feedforward_layernorm.weight"])
        m = F.gelu(F.linear(z, w[at + "mlp.gate_proj.weight"]), approximate="tanh") * F.linear(z, w[at + "mlp.up_proj.weight"])
        h = h + norm(F.linear(m, w[at + "mlp.down_proj.weight"]), w[at + "post_feedforward_layernorm.weight"])
        g = F.gelu(F.linear(h, w[at + "per_layer_input_gate.weight"]), approximate="tanh") * inputs[:, :, layer]
        h = h + norm(F.linear(g, w[at + "per_layer_projection.weight"]), w[at + "post_per_layer_input_norm.weight"])
        h = h * w[at + "layer_scalar"]
    h = norm(h, w[TEXT + "norm.weight"])
    return 30.0 * torch.tanh(F.linear(h, w[TEXT + "embed_tokens.weight"]) / 30.0), entering
