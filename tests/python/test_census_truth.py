"""The truth that the census from outside is held to has to be true itself: exact, the same each time, and without itself."""

import json
import subprocess
from pathlib import Path

import pytest
from test_inside_package import PYTHONS

TARGET = Path(__file__).parent / "census_target.py"
SCRIPT = """
import collections
class Record:
    def __init__(self, number):
        self.number, self.parts = number, [number] * 3
class Slotted:
    __slots__ = ("inner",)
RECORDS = [Record(number) for number in range(2000)]
SLOTTED = [Slotted() for _ in range(300)]
for each in SLOTTED:
    each.inner = RECORDS
DEQUES = [collections.deque(range(5)) for _ in range(70)]
def batches():
    pulled = [1, 2]
    yield pulled
running = batches()
next(running)
"""


@pytest.fixture(scope="module", params=PYTHONS)
def truths(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    paths = [folder / "first.json", folder / "second.json"]
    done = subprocess.run(
        [request.param, str(TARGET), str(script)],
        input="".join("%s\n" % path for path in paths), capture_output=True, text=True, check=True,
    )  # fmt: skip
    [ready, *answers] = done.stdout.splitlines()
    assert ready.startswith("ready ") and answers == ["done", "done"] and done.stderr == ""
    return [json.loads(path.read_text()) for path in paths]


def by_type(truth):
    counts = {}
    for _, kind, _ in truth["objects"]:
        name = ".".join(map(str, truth["types"][kind][1:]))
        counts[name] = counts.get(name, 0) + 1
    return counts


def test_counts_are_exact(truths):
    counts = by_type(truths[1])
    assert (counts["__main__.Record"], counts["__main__.Slotted"]) == (2000, 300)
    assert counts["collections.deque"] >= 70 and counts["builtins.generator"] >= 1
    assert len({item for item, _, _ in truths[1]["objects"]}) == len(truths[1]["objects"])


def test_measuring_is_not_measured(truths):
    first, second = truths
    assert first["objects"] == second["objects"], "the same objects, in the same order"
    assert first["referents"] == second["referents"]
    assert sorted(first["closure"]) == sorted(second["closure"])
    names = [".".join(map(str, kind[1:])) for kind in second["types"]]
    assert "census_truth._Types" not in by_type(second)
    assert not any("TextIOWrapper" in names[kind] for item, kind, _ in second["objects"] if names[kind].startswith("census"))
    # A few strings of the second call's name, at most.
    assert abs(first["pymalloc"] - second["pymalloc"]) < 1000


def test_referents_and_the_closure_hang_together(truths):
    truth = truths[1]
    sizes = {item: size for item, _, size in truth["objects"]}
    assert set(map(int, truth["referents"])) <= set(sizes)
    assert len(truth["referents"]) == (len(sizes) + 6) // 7
    count, size = sum(row[1] for row in truth["closure"]), sum(row[2] for row in truth["closure"])
    assert count > len(sizes) and size > sum(sizes.values())
    names = {".".join(map(str, truth["types"][kind][1:])): number for kind, number, _ in truth["closure"]}
    assert names["__main__.Record"] == 2000
    # The list of all records is what each slotted object refers to.
    slotted = next(number for number, kind in enumerate(truth["types"]) if kind[1:] == ["__main__", "Slotted"])
    held = [truth["referents"][str(item)] for item, kind, _ in truth["objects"] if kind == slotted and str(item) in truth["referents"]]
    shared = set.intersection(*map(set, held))
    assert held and any(sizes.get(item, 0) >= 8 * 2000 for item in shared)
