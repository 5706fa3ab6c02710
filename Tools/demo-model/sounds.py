"""Sounds: beeps drawn from a seed, computed sample for sample with integer arithmetic only."""

import numpy as np

from scenes import Random

RATE = 16_000
PITCHES = {"low": (300, 500), "high": (1400, 2200)}
RAMP = 80  # samples over which a beep fades in and out


def sound(random: Random) -> dict:
    at = random.between(40, 250) * RATE // 1000
    loudness = random.between(6000, 20000)
    beeps = []
    for _ in range(random.between(1, 4)):
        name = random.choice(tuple(PITCHES))
        length = random.between(100, 180) * RATE // 1000
        beeps.append({"pitch": name, "hertz": random.between(*PITCHES[name]), "at": at, "length": length})
        at += length + random.between(80, 200) * RATE // 1000
    end = beeps[-1]["at"] + beeps[-1]["length"] + random.between(40, 300) * RATE // 1000
    return {"kind": "sound", "samples": end, "loudness": loudness, "noise": random.choice((0, 0, 8, 24)),
            "noise_seed": random.below(1 << 31), "beeps": beeps}


def render(scene: dict) -> np.ndarray:
    """16-bit samples at 16 kHz. The wave is a parabola for each half period, close to a sine."""
    wave = np.zeros(scene["samples"], np.int64)
    for beep in scene["beeps"]:
        n = np.arange(beep["length"], dtype=np.int64)
        phase = (n * (beep["hertz"] * 65536 // RATE)) & 65535
        half = phase & 32767
        arch = (half * (32768 - half)) >> 13  # 0 ... 32768
        level = np.minimum(np.minimum(n, beep["length"] - 1 - n), RAMP) * scene["loudness"] // RAMP
        value = (arch * level) >> 15
        wave[beep["at"]:beep["at"] + beep["length"]] = np.where(phase < 32768, value, -value)
    if scene["noise"]:
        wave += noise(scene["noise_seed"], scene["samples"], scene["noise"])
    return wave.astype(np.int16)


def noise(seed: int, count: int, size: int) -> np.ndarray:
    """Whole numbers from -size to size: a hash of the seed and the sample's index in 32 bits."""
    z = (np.arange(count, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(seed)) & np.uint64(0xFFFFFFFF)
    z = ((z ^ (z >> np.uint64(16))) * np.uint64(0x45D9F3B)) & np.uint64(0xFFFFFFFF)
    z = ((z ^ (z >> np.uint64(16))) * np.uint64(0x45D9F3B)) & np.uint64(0xFFFFFFFF)
    z ^= z >> np.uint64(16)
    return ((z * np.uint64(2 * size + 1)) >> np.uint64(32)).astype(np.int64) - size
