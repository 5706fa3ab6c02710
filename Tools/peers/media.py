"""A picture and a sound for benchmarks, written without a library."""

import wave
from pathlib import Path


def picture(path: Path) -> Path:
    """A bitmap of 768 x 768."""
    side = 768
    pixels = b"".join(bytes((x * 7 ^ y * 3) & 255 for x in range(3 * side)) for y in range(side))
    header = b"BM" + (54 + len(pixels)).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    header += (40).to_bytes(4, "little") + side.to_bytes(4, "little") * 2 + (1).to_bytes(2, "little")
    path.write_bytes(header + (24).to_bytes(2, "little") + bytes(24) + pixels)
    return path


def sound(path: Path, seconds: int) -> Path:
    """16 kHz, one channel."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(b"".join((((i * i) >> 7) % 9000 - 4500).to_bytes(2, "little", signed=True)
                                  for i in range(16000 * seconds)))
    return path
