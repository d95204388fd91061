"""What lies behind objects, read from outside, against what torch, numpy and Pillow say inside: by address, all of it.

LOWTIDE_TORCH_PYTHONS names further interpreters with other releases of torch, as PATH is written.
"""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(__file__).resolve().parent / "census" / "contents.py"
sys.path.insert(0, str(TARGET.parent))
STEPS, WIDTH, PARAMETERS, THREADS = 300, 257, 6, 4
# Tensors that those of other layouts are made of: sparse (two of coordinates, one by rows) and nested ones.
INSIDE = {
    "Tensor cpu int64 [2, 9]": 1, "Tensor cpu float32 [9]": 2, "Tensor cpu int64 [10]": 1, "Tensor cpu int64 [9]": 1,
    "Tensor cpu int64 [2, 0]": 1, "Tensor cpu float32 [0]": 1, "Tensor cpu int64 [2, 2]": 2, "Tensor cpu int64 [2]": 1,
}
PYTHONS = [sys.executable, *filter(None, os.environ.get("LOWTIDE_TORCH_PYTHONS", "").split(":"))]


@pytest.fixture(scope="session")
def reader():
    """The program that prints contents."""
    command = ["cargo", "build", "--quiet", "-p", "lowtide-census", "--example", "contents"]
    subprocess.run(command, cwd=ROOT, check=True)
    return str(ROOT / "target" / "debug" / "examples" / "contents")


@pytest.fixture(scope="module", params=PYTHONS, ids=lambda path: "here" if path == sys.executable else path.split("/")[-3])
def look(request, reader):
    """(what it says, what was found) of a program, once each."""
    known = {}

    def of(name):
        if name not in known:
            known[name] = run(request.param, reader, name)
        return known[name]

    return of


def run(python, reader, name):
    with subprocess.Popen([python, TARGET, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        try:
            said = json.loads(target.stdout.readline())
            found = json.loads(subprocess.run([reader, str(target.pid)], check=True, stdout=subprocess.PIPE).stdout)
        finally:
            target.kill()
    return said, found


@pytest.mark.parametrize("name", ["kinds", "graph", "written", "leak", "threads", "few"])
def test_every_tensor_is_as_torch_says(look, name):
    said, found = look(name)
    assert found["missed"] == {"tensors": 0, "storages": 0, "arrays": 0, "images": 0, "buffers": 0}
    assert not found["is_cut"]
    keys = ("address", "name", "storage", "requires_grad", "in_graph")
    wrapped = {one["object"]: (*(one[key] for key in keys[:-1]), one["step"] != 0) for one in found["tensors"] if one["object"]}
    truth = {one["object"]: (*({**one, "name": tensor_name(one)}[key] for key in keys),) for one in said["tensors"]}
    assert wrapped == truth


@pytest.mark.parametrize("name", ["kinds", "graph", "leak", "few"])
def test_every_storage_is_as_torch_says_and_counts_once(look, name):
    said, found = look(name)
    storages = {one["address"]: one for one in found["storages"]}
    of_cpp = {one["storage"] for one in found["tensors"] if not one["object"]}
    truth = {one["storage"]: (one["data"], one["bytes"]) for one in said["tensors"] if one["storage"]}
    assert {at: (storages[at]["data"], storages[at]["bytes"]) for at in truth} == truth
    assert storages.keys() - truth.keys() - of_cpp - {0} == {said["held"]} - {0}
    own = sum(one["bytes"] for one in found["storages"] if one["place"] in ("Own", "Shared", "Pinned"))
    loose = storages[said["held"]]["bytes"] if said["held"] else 0
    of_tensors = sum(group["bytes"] for group in found["groups"] if group["name"].startswith("Tensor"))
    assert of_tensors == own - loose


def tensor_name(one):
    return "Tensor %s %s %s" % (one["device"], one["type"], "[?]" if one["shape"] is None else one["shape"])


def only_in_cpp(found):
    return [one for one in found["tensors"] if not one["object"]]


def test_bytes_that_are_not_this_processs_are_told_apart(look):
    said, found = look("kinds")
    groups = {group["name"]: group for group in found["groups"]}
    meta = groups["Tensor meta float32 [1000, 1000]"]
    assert (meta["bytes"], meta["elsewhere"]) == (0, 4_000_000)
    lent = [one for one in found["storages"] if one["place"] == "Object"]
    # Two tensors from one array have two storages of the same bytes; one has a bytearray's.
    assert sorted(one["bytes"] for one in lent) == [80, 308, 308]
    assert sum(one["place"] == "Shared" for one in found["storages"]) == 1
    arrays = {one["object"]: one for one in found["arrays"]}
    owners = collections.Counter(arrays[one["owner"]]["name"] for one in lent if one["owner"] in arrays)
    assert owners == {"ndarray float32 [7, 11]": 2}


def test_arrays_images_and_buffers_are_as_they_say(look):
    said, found = look("kinds")
    arrays = {one["object"]: (one["data"], one["bytes"], one["owns"], one["name"]) for one in found["arrays"]}
    truth = {one["object"]: (one["data"], one["bytes"], one["owns"], array_name(one)) for one in said["arrays"]}
    assert arrays == truth
    images = {one["object"]: (one["name"], one["pixels"]) for one in found["images"]}
    assert images == {one["object"]: (image_name(one), one["pixels"]) for one in said["images"]}
    states = collections.Counter(name for name, _ in images.values())
    assert states["Image RGB 64x48 not decoded"] == 3 and states["Image RGB 64x48 decoded"] == 1
    buffers = {one["object"]: one["bytes"] for one in found["buffers"]}
    assert buffers == {one["object"]: one["bytes"] for one in said["buffers"]}


def array_name(one):
    kind = one["type"].partition("[")[0] if one["type"].startswith("datetime64") else one["type"]
    # A record of an int32 and a float64.
    return "ndarray %s %s" % ("|V12" if kind.startswith("[") else kind, one["shape"])


def image_name(one):
    return "Image %s %dx%d %s" % (one["mode"], *one["size"], "decoded" if one["decoded"] else "not decoded")


def test_tensors_that_other_layouts_are_made_of_are_found(look):
    _, found = look("kinds")
    names = collections.Counter(one["name"] for one in only_in_cpp(found))
    assert not collections.Counter(INSIDE) - names, names


def test_tensors_that_only_a_graph_holds_are_counted_exactly(look):
    _, found = look("graph")
    names = collections.Counter(one["name"] for one in only_in_cpp(found))
    gradients = {"Tensor cpu float32 [%d, 3]" % (nth + 2): 1 for nth in range(PARAMETERS)}
    assert names == {"Tensor cpu float32 [%d]" % WIDTH: STEPS, **gradients}
    # The last result has a Python tensor, and shares its storage with the graph's.
    group = next(group for group in found["groups"] if group["name"] == "Tensor cpu float32 [%d]" % WIDTH)
    assert group["bytes"] == (STEPS + 1) * WIDTH * 4
    _, found = look("threads")
    names = collections.Counter(one["name"] for one in only_in_cpp(found))
    assert names == {"Tensor cpu float32 [%d]" % WIDTH: STEPS * THREADS}


def reached(found, start):
    """All that is kept by an object, by the edges that were found."""
    after = collections.defaultdict(list)
    for one, other in found["edges"]:
        after[one].append(other)
    seen, open_ = {start}, [start]
    while open_:
        for one in after[open_.pop()]:
            if one not in seen:
                seen.add(one)
                open_.append(one)
    return seen


def test_who_holds_them_is_known(look):
    said, found = look("graph")
    addresses = {one["address"]: one["name"] for one in only_in_cpp(found)}
    kept = collections.Counter(addresses[at] for at in reached(found, said["roots"]["total"]) & addresses.keys())
    assert kept == {"Tensor cpu float32 [%d]" % WIDTH: STEPS}
    for nth in range(PARAMETERS):
        kept = [addresses[at] for at in reached(found, said["roots"]["parameters%d" % nth]) & addresses.keys()]
        assert kept == ["Tensor cpu float32 [%d, 3]" % (nth + 2)]
    said, found = look("threads")
    addresses = {one["address"] for one in only_in_cpp(found)}
    kept = [reached(found, said["roots"]["totals%d" % nth]) & addresses for nth in range(THREADS)]
    assert [len(one) for one in kept] == [STEPS] * THREADS
    assert len(set.union(*kept)) == STEPS * THREADS, "no chain leads into another"


@pytest.mark.parametrize("name", ["graph", "leak", "threads"])
def test_steps_are_those_that_autograd_walks(look, name):
    said, found = look(name)
    steps = {one: count for one, count in found["nodes"] if one != "TensorImpl" and not one.startswith("storage ")}
    # What a leaf's tensor would make again is not held by everybody who could.
    assert steps == said["steps"]


def test_all_that_a_leak_keeps_hangs_on_its_sum(look):
    said, found = look("leak")
    addresses = {one["address"] for one in only_in_cpp(found)}
    kept = reached(found, said["roots"]["total"]) & addresses
    parameters = len([one for one in said["tensors"] if one["requires_grad"] and not one["in_graph"]])
    # All but what the last step still needs: gradients hang on parameters, which the graph leads to.
    assert kept == addresses, len(addresses - kept)
    assert len(kept) > 40 * 5 + parameters


def test_edges_of_steps_are_those_that_are_there(look):
    """What each step saved and which ones are next: none is missed, and next to none is too many."""
    said, found = look("saved")
    after = collections.defaultdict(set)
    for one, other in found["edges"]:
        after[one].add(other)
    storages = {one["address"]: one["data"] for one in found["storages"]}
    tensors = {one["address"]: storages.get(one["storage"]) for one in found["tensors"]}
    steps = {int(key): next(iter(after[int(key)])) for key in said["saved"]}
    all_, extra = 0, []
    for key, truth in said["saved"].items():
        edges = after[steps[int(key)]]
        kept, following = {tensors[at] for at in edges if at in tensors}, edges & set(steps.values())
        saved, then = set(truth["saved"]), {steps[one] for one in truth["next"]}
        assert saved <= kept and then <= following
        all_ += len(saved) + len(then)
        extra += [*(kept - saved), *(following - then)]
    # A block that was used before may have an old word that fits in a place that is not used now.
    assert all_ > 1000 and len(extra) <= all_ * 0.005, (all_, len(extra))
