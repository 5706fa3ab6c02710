"""Pictures and clips: drawn from a seed, rendered with integer arithmetic only.

A scene is a plain dictionary, so that any program can draw it again pixel for pixel from its description.
"""

import numpy as np

SHAPES = ("circle", "square", "triangle")
COLOURS = {"red": (220, 40, 40), "green": (40, 170, 60), "blue": (40, 80, 220), "yellow": (240, 210, 40)}
BACKGROUNDS = {"white": (240, 240, 240), "gray": (128, 128, 128), "black": (16, 16, 16)}
JITTER = 10  # largest change of a colour channel

TOKEN = 12  # pixels of one soft token at the model's resolution: patches of 4, pooled 3 x 3
# columns and rows of soft tokens; each is left as it is by the processor's choice of size
LAYOUTS = ((8, 8), (9, 7), (7, 9), (11, 6), (6, 11))
LAYOUT_WEIGHTS = (5, 2, 1, 1, 1)
CLIP_LAYOUTS = ((8, 8), (9, 7), (11, 6))
CLIP_WEIGHTS = (3, 2, 1)

ROWS, COLUMNS = ("top", "", "bottom"), ("left", "", "right")
DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


class Random:
    """SplitMix64: the same numbers in every language and version."""

    MASK = (1 << 64) - 1

    def __init__(self, *key: int):
        self.state = 0x2545F4914F6CDD1D
        for part in key:
            self.state = (self.state ^ (part & self.MASK)) & self.MASK
            self.state = self.next()

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self.MASK
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        return ((self.next() >> 32) * n) >> 32

    def between(self, low: int, high: int) -> int:
        """Both ends included."""
        return low + self.below(high - low + 1)

    def choice(self, items):
        return items[self.below(len(items))]

    def weighted(self, items, weights):
        at = self.below(sum(weights))
        for item, weight in zip(items, weights):
            if at < weight:
                return item
            at -= weight
        raise AssertionError("unreachable")

    def sample(self, items, count: int) -> list:
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]


def cell_name(column: int, row: int) -> str:
    return " ".join(part for part in (ROWS[row], COLUMNS[column]) if part) or "middle"


def _tint(random: Random, rgb) -> list[int]:
    return [max(0, min(255, channel + random.between(-JITTER, JITTER))) for channel in rgb]


def _objects(random: Random, layout, cells) -> list[dict]:
    """Distinct shapes in distinct colours, one per cell, each a little off its cell's centre."""
    width, height = layout[0] * TOKEN, layout[1] * TOKEN
    room = min(width, height) // 6
    shapes = random.sample(SHAPES, len(cells))
    colours = random.sample(tuple(COLOURS), len(cells))
    objects = []
    for (column, row), shape, colour in zip(cells, shapes, colours):
        radius = random.between(9, min(13, room - 1))
        slack = min(3, room - radius)
        objects.append({
            "shape": shape, "colour": colour, "rgb": _tint(random, COLOURS[colour]), "cell": [column, row],
            "x": (2 * column + 1) * width // 6 + random.between(-slack, slack),
            "y": (2 * row + 1) * height // 6 + random.between(-slack, slack), "radius": radius,
        })
    return objects


def picture(random: Random, layout=None, scale: int | None = None, count: int | None = None) -> dict:
    layout = layout or random.weighted(LAYOUTS, LAYOUT_WEIGHTS)
    count = count or random.weighted((1, 2, 3), (6, 9, 5))
    cells = [(i % 3, i // 3) for i in range(9)]
    if count == 2:  # always in one row or one column, so that the relation is one word
        column, row = random.choice(cells)
        other = random.choice([cell for cell in cells if cell != (column, row) and (cell[0] == column or cell[1] == row)])
        chosen = [(column, row), other]
    else:
        chosen = random.sample(cells, count)
    background = random.choice(tuple(BACKGROUNDS))
    return {
        "kind": "picture", "columns": layout[0], "rows": layout[1], "scale": scale or random.between(1, 2),
        "background": background, "background_rgb": _tint(random, BACKGROUNDS[background]),
        "objects": _objects(random, layout, chosen),
    }


def clip(random: Random, layout=None, frames: int | None = None, scale: int | None = None) -> dict:
    """One shape moves cell by cell in one direction, from some frame on; perhaps another one stays where it is."""
    layout = layout or random.weighted(CLIP_LAYOUTS, CLIP_WEIGHTS)
    frames = frames or random.between(2, 4)
    direction = random.choice(tuple(DIRECTIONS))
    dx, dy = DIRECTIONS[direction]
    start = random.between(1, frames - 1)
    steps = min(random.between(1, 2), frames - start)
    along = random.between(steps, 2) if dx + dy < 0 else random.between(0, 2 - steps)
    across = random.below(3)
    cell = (along, across) if dx else (across, along)
    path = [(cell[0] + dx * min(steps, max(0, t - start + 1)), cell[1] + dy * min(steps, max(0, t - start + 1)))
            for t in range(frames)]
    cells = [cell]
    if random.below(2):
        free = [(i % 3, i // 3) for i in range(9) if (i % 3, i // 3) not in path]
        cells.append(random.choice(free))
    background = random.choice(tuple(BACKGROUNDS))
    objects = _objects(random, layout, cells)
    width, height = layout[0] * TOKEN, layout[1] * TOKEN
    return {
        "kind": "clip", "columns": layout[0], "rows": layout[1], "scale": scale or random.between(1, 2),
        "background": background, "background_rgb": _tint(random, BACKGROUNDS[background]), "objects": objects,
        "direction": direction, "start": start, "path": [list(step) for step in path],
        # where the first object's centre is in each frame
        "centres": [[objects[0]["x"] + (step[0] - cell[0]) * width // 3, objects[0]["y"] + (step[1] - cell[1]) * height // 3]
                    for step in path],
    }


def label(frame: int) -> str:
    return f"00:{frame:02d}"


def frame_scene(scene: dict, frame: int) -> dict:
    """The picture that one frame of a clip is."""
    moving = dict(scene["objects"][0], x=scene["centres"][frame][0], y=scene["centres"][frame][1],
                  cell=scene["path"][frame])
    return dict(scene, kind="picture", objects=[moving] + scene["objects"][1:])


def render(scene: dict) -> np.ndarray:
    """[height, width, 3] bytes. A pixel belongs to a shape when its centre does; no blending."""
    scale = scene["scale"]
    width, height = scene["columns"] * TOKEN * scale, scene["rows"] * TOKEN * scale
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[:] = scene["background_rgb"]
    for item in scene["objects"]:
        x, y, r = item["x"] * scale, item["y"] * scale, item["radius"] * scale
        left, right, top, bottom = max(0, x - r), min(width, x + r), max(0, y - r), min(height, y + r)
        dx = 2 * np.arange(left, right)[None, :] + 1 - 2 * x  # twice the distance, so that it is whole
        dy = 2 * np.arange(top, bottom)[:, None] + 1 - 2 * y
        if item["shape"] == "circle":
            inside = dx * dx + dy * dy <= 4 * r * r
        elif item["shape"] == "square":
            inside = (8 * abs(dx) <= 14 * r) & (8 * abs(dy) <= 14 * r)
        else:
            inside = 2 * abs(dx) <= dy + 2 * r
        pixels[top:bottom, left:right][inside] = item["rgb"]
    return pixels
