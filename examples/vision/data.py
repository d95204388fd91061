"""Pictures with a question and an answer: where they come from and how they are held.

`train.py` makes a dataset here and hands it to the Trainer; `collate.py` turns its rows into
batches. How pictures are held is the point: encoded and decoded on demand (the default), or as
lazily opened objects that stay decoded after their first use (`--images kept`).
"""

import io
import json
from pathlib import Path

import numpy as np
from datasets import Dataset as Table
from PIL import Image
from torch.utils.data import Dataset

COLOURS = {
    "red": (200, 40, 40),
    "green": (40, 160, 60),
    "blue": (50, 70, 200),
    "yellow": (220, 200, 50),
    "white": (240, 240, 240),
}
QUESTION = "What colour is the square?"
# Pillow keeps four bytes for each pixel of a colour picture, whatever the file had.
BYTES_PER_PIXEL = 4


def synthetic(count, pixels, first=0):
    """Encoded pictures of a coloured square on a shaded ground; row n is always the same."""
    names = list(COLOURS)
    ground = np.linspace(60, 180, pixels, dtype=np.uint8)
    rows = {"image": [], "question": [], "answer": []}
    for number in range(first, first + count):
        name = names[number % len(names)]
        picture = np.empty((pixels, pixels, 3), dtype=np.uint8)
        picture[..., 0] = ground
        picture[..., 1] = ground[:, None]
        picture[..., 2] = (number * 7) % 256
        side = pixels // 4
        left, top = (number * 37) % (pixels - side), (number * 91) % (pixels - side)
        picture[top : top + side, left : left + side] = COLOURS[name]
        encoded = io.BytesIO()
        Image.fromarray(picture).save(encoded, "JPEG", quality=85)
        rows["image"].append(encoded.getvalue())
        rows["question"].append(QUESTION)
        rows["answer"].append(name)
    return Table.from_dict(rows)


def from_folder(folder):
    """Rows of `annotations.jsonl` (file, question, answer); pictures stay on disk as paths."""
    folder = Path(folder)
    lines = (folder / "annotations.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines if line.strip()]
    return Table.from_dict(
        {
            "image": [str(folder / entry["file"]) for entry in entries],
            "question": [entry["question"] for entry in entries],
            "answer": [entry["answer"] for entry in entries],
        }
    )


def opened(source):
    """A picture that is opened, not yet decoded; from a path or from encoded bytes."""
    return Image.open(source if isinstance(source, str) else io.BytesIO(source))


class OnDemand(Dataset):
    """Rows of a table on Arrow memory. A picture is opened anew each time and dies with its batch."""

    def __init__(self, table):
        self.table = table

    def __len__(self):
        return len(self.table)

    def __getitem__(self, index):
        row = self.table[index]
        return {**row, "image": opened(row["image"])}


class Kept(Dataset):
    """The founding bug: the list holds the opened pictures, so each stays decoded once touched."""

    def __init__(self, table):
        self.rows = [{**row, "image": opened(row["image"])} for row in table]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]

    def decoded_bytes(self):
        width, height = self.rows[0]["image"].size
        return width * height * BYTES_PER_PIXEL
