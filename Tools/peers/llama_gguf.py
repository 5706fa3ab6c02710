"""GGUF files of random weights in the formats that llama.cpp reads. Needs gguf and numpy."""

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np

Q = gguf.GGMLQuantizationType
# Bytes of a block, its weights, where its f16 scale lies.
BLOCKS = {Q.Q4_0: (18, 32, 0), Q.Q8_0: (34, 32, 0), Q.Q6_K: (210, 256, 208)}


def random_rows(rng: np.random.Generator, rows: int, columns: int, kind: Q) -> np.ndarray:
    """Weights of a matrix in a stored format; blocks get a scale that keeps activations finite."""
    if kind in (Q.F32, Q.F16, Q.BF16):
        data = rng.standard_normal((rows, columns), dtype=np.float32)
        if kind == Q.F16:
            return data.astype(np.float16) * np.float16(0.02)
        data *= np.float32(0.02)
        return data if kind == Q.F32 else (data.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    size, weights, scale = BLOCKS[kind]
    data = rng.integers(0, 256, (rows, columns // weights * size), dtype=np.uint8)
    blocks = data.reshape(-1, size)
    value = {Q.Q4_0: 0.004, Q.Q8_0: 0.0003, Q.Q6_K: 1e-5}[kind]
    blocks[:, scale:scale + 2] = np.frombuffer(np.float16(value).tobytes(), np.uint8)
    return data


class RandomFile:
    """A file that is being written: matrices random, vectors of one value."""

    def __init__(self, path: Path, architecture: str):
        self.rng = np.random.default_rng(1)
        self.writer = gguf.GGUFWriter(str(path), architecture, use_temp_file=True)

    def integers(self, prefix: str, values: dict[str, int]) -> None:
        for key, value in values.items():
            self.writer.add_uint32(prefix + key, value)

    def floats(self, prefix: str, values: dict[str, float]) -> None:
        for key, value in values.items():
            self.writer.add_float32(prefix + key, value)

    def matrix(self, name: str, rows: int, columns: int, stored: Q, shape: tuple[int, ...] | None = None) -> None:
        """`shape`: what an f16 or f32 matrix is folded to where it is a convolution."""
        data = random_rows(self.rng, rows, columns, stored)
        self.writer.add_tensor(name + ".weight", data.reshape(shape) if shape else data, raw_dtype=stored)

    def vector(self, name: str, count: int, value: float = 1) -> None:
        self.writer.add_tensor(name, np.full(count, value, np.float32))

    def norms(self, names: list[str], count: int) -> None:
        for name in names:
            self.vector(name + ".weight", count)

    def close(self) -> None:
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def kept(path: Path, write: Callable[[Path], None]) -> Path:
    """A file that is written once."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        write(partial)
        partial.rename(path)
    return path
