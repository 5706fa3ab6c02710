#!/usr/bin/env python3
"""Writes Tests/Golden/float16: what NumPy's float16 makes of conversions and operations.

Elementwise results are NumPy's own float16 arithmetic. Functions, sums and products are computed in
float64 from the float16 operands and rounded once. Run from the repository's root:

    python3 Tools/float16_fixtures.py
"""

import json
from pathlib import Path

import numpy as np

OUT = Path("Tests/Golden/float16")
random = np.random.default_rng(16)
half, single, double = np.float16, np.float32, np.float64
arrays = {}


def put(name, values):
    arrays[name] = np.ascontiguousarray(values)


def halves(count, scale=None):
    """Random bit patterns of finite numbers, or numbers of about `scale`."""
    if scale is not None:
        return (random.standard_normal(count) * scale).astype(half)
    bits = random.integers(0, 1 << 16, 2 * count, dtype=np.uint16).view(half)
    return bits[np.isfinite(bits)][:count]


def conversions():
    put("halves.f32", np.arange(1 << 16, dtype=np.uint16).view(half).astype(single))
    every = np.arange(0, 0x7C00, 19, dtype=np.uint16).view(half).astype(double)
    above = np.nextafter(every.astype(half), half(np.inf)).astype(double)
    above[~np.isfinite(above)] = 65536
    ties = ((every + above) / 2).astype(single)
    structured = [
        ties, np.nextafter(ties, single(np.inf)), np.nextafter(ties, single(0)),
        every.astype(single),
        np.array([0, 65504, 65519.996, 65520, 65536, 1e38, np.inf, np.nan, 2**-24, 2**-25,
                  2**-26, 2**-14, 2**-14 - 2**-25, 1e-45], single),
    ]
    bits = random.integers(0, 1 << 32, 2000, dtype=np.uint64).astype(np.uint32).view(single)
    near = (random.standard_normal(2000) * 10.0 ** random.uniform(-9, 6, 2000)).astype(single)
    values = np.concatenate(structured + [bits, near])
    values = np.concatenate([values, -values[::3]])
    put("singles.f32", values)
    put("singles.f16", values.astype(half))


def elementwise():
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 65504, -65504, 2**-24, -(2**-24), 1],
                       half)
    a = np.concatenate([np.repeat(special, len(special)), halves(1700), halves(1196, 3)])
    b = np.concatenate([np.tile(special, len(special)), halves(1700), halves(1196, 3)])
    put("pair.a", a)
    put("pair.b", b)
    for name, kind in [("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply),
                       ("divide", np.divide), ("maximum", np.maximum), ("minimum", np.minimum)]:
        put("pair." + name, kind(a, b))
    wide = a.astype(single)
    put("affine", (wide * single(0.1767767) + single(-0.3)).astype(half))
    put("clamp", np.clip(a, half(-2.5), half(1.75)))


def functions():
    x = np.concatenate([halves(1400), halves(1400, 2), halves(800, 20)])
    x = np.concatenate([x, np.arange(0, 0x7C00, 41, dtype=np.uint16).view(half)])
    v = x.astype(double)
    put("unary.x", x)
    sigmoid = np.where(v < 0, np.exp(v) / (1 + np.exp(v)), 1 / (1 + np.exp(-v)))
    inner = np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)
    gate = np.where(inner < 0, np.exp(2 * inner) / (1 + np.exp(2 * inner)),
                    1 / (1 + np.exp(-2 * inner)))
    put("unary.gelu", (v * gate).astype(half))
    put("unary.silu", (v * sigmoid).astype(half))
    put("unary.tanh", np.tanh(v).astype(half))
    put("unary.exp", np.exp(v).astype(half))
    put("unary.sigmoid", sigmoid.astype(half))
    put("unary.softplus", np.logaddexp(0, v).astype(half))


def rows():
    x, w = halves(24 * 160, 3).reshape(24, 160), halves(160, 1)
    v, f = x.astype(double), w.astype(double)
    put("rows.x", x)
    put("rows.weight", w)
    for axis in (0, 1):
        put(f"rows.sum{axis}", v.sum(axis).astype(half))
        put(f"rows.mean{axis}", v.mean(axis).astype(half))
        put(f"rows.maximum{axis}", x.max(axis))
    e = np.exp(v - v.max(1, keepdims=True))
    put("rows.softmax", (e / e.sum(1, keepdims=True)).astype(half))
    put("rows.rmsNorm", (v / np.sqrt((v * v).mean(1, keepdims=True) + 1e-6) * f).astype(half))
    d = v - v.mean(1, keepdims=True)
    put("rows.layerNorm", (d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-6) * f).astype(half))


def products():
    x = halves(56 * 128, 1).reshape(56, 128)
    v, n = x.astype(double), 64
    put("linear.x", x)
    dense = halves(n * 128, 0.05).reshape(n, 128)
    bytes8 = random.integers(-127, 128, (n, 128), dtype=np.int8)
    scales8 = (random.uniform(0.5, 1.5, (n, 4)) * 0.001).astype(half)
    codes = random.integers(0, 16, (n, 128), dtype=np.uint8)
    scales4 = (random.uniform(0.5, 1.5, (n, 4)) * 0.02).astype(half)
    tables = halves(n // 32 * 16, 0.05).reshape(n // 32, 16)
    packed = (codes[:, 0::2] | codes[:, 1::2] << 4).tobytes()
    blocks = lambda scales: np.repeat(scales.astype(double), 32, axis=1)
    weights = {
        "f16": (dense.tobytes(), dense.astype(double)),
        "int8Block32": (bytes8.tobytes() + scales8.tobytes(), bytes8 * blocks(scales8)),
        "int4Block32": (packed + scales4.tobytes(), (codes.astype(double) - 8) * blocks(scales4)),
        "int4Palette32": (packed + tables.tobytes(), np.take_along_axis(
            np.repeat(tables, 32, axis=0).astype(double), codes.astype(np.int64), 1)),
    }
    for name, (stored, numbers) in weights.items():
        put(f"linear.{name}.weight", np.frombuffer(stored, np.uint8))
        put(f"linear.{name}.y", (v @ numbers.T).astype(half))
    a, b = halves(3 * 18 * 40, 1).reshape(3, 18, 40), halves(3 * 40 * 22, 1).reshape(3, 40, 22)
    put("matmul.a", a)
    put("matmul.b", b)
    put("matmul.bT", b.transpose(0, 2, 1))
    put("matmul.y", (a.astype(double) @ b.astype(double)).astype(half))


def main():
    with np.errstate(all="ignore"):
        conversions()
        elementwise()
        functions()
        rows()
        products()
    OUT.mkdir(parents=True, exist_ok=True)
    index, blob = {}, b""
    for name, values in arrays.items():
        index[name] = {"dtype": values.dtype.name, "count": int(values.size), "offset": len(blob)}
        blob += values.tobytes()
        blob += bytes(-len(blob) % 4)
    (OUT / "fixtures.bin").write_bytes(blob)
    (OUT / "fixtures.json").write_text(json.dumps(index, indent=1) + "\n")
    print(f"{len(arrays)} arrays, {len(blob)} bytes")


if __name__ == "__main__":
    main()
