"""What is in the heap of this very process, as Python itself tells it: the truth that the census from outside is held to.

Imported in the process that is looked at (`census_target.py` does it), on CPython 3.9 to 3.15, standard library only.
`dump(path)` writes one JSON object:

    python     [3, 11, 7]
    types      [[id of the type, module, qualified name], ...]; others name a type by its number here
    objects    [[id, type, sys.getsizeof], ...] of all that `gc.get_objects` gives
    frozen     how many are in the permanent generation, which are not among them
    referents  {id: [ids that gc.get_referents gives, sorted]} of every n-th of the objects
    closure    [[type, count, bytes], ...] of all that can be reached from the objects by gc.get_referents
    pymalloc   bytes in use by `sys._debugmallocstats`, None where this Python has no such allocator
    tensors    {"groups": [[device, dtype, [shape], requires_grad, count, bytes], ...],
                "storages": [[device, count, bytes], ...]}, None without torch

The act of measuring is not measured: what it makes is not among the objects, and is gone when it returns. Call it
twice and take the second: the first one leaves behind what is made once (caches, encoders).
"""

import gc
import json
import os
import re
import sys
import tempfile
import types

EVERY = 7
_type_name = type.__dict__["__qualname__"].__get__
_type_module = type.__dict__["__module__"].__get__
_IN_USE = re.compile(rb"^# bytes in allocated blocks\s*=\s*([\d,]+)", re.MULTILINE)


def dump(path, every=EVERY):
    """Writes the truth of this moment."""
    was_enabled = gc.isenabled()
    gc.disable()  # nothing may die or move between generations meanwhile
    try:
        objects = gc.get_objects()
        with open(path, "w") as out:
            _write(out, objects, every)
            # By now nothing of ours is alive but the file.
            objects = None
            out.write(', "pymalloc": %s}' % json.dumps(pymalloc_in_use()))
    finally:
        if was_enabled:
            gc.enable()


def _write(out, objects, every):
    ours = _our_frames()
    _drop(objects, ours)
    names = _Types()
    out.write('{"python": %s, "frozen": %d, "objects": [' % (json.dumps(list(sys.version_info[:3])), gc.get_freeze_count()))
    for number, item in enumerate(objects):
        out.write("%s[%d,%d,%s]" % ("," if number else "", id(item), names.number(type(item)), _size(item)))
    out.write('], "referents": {')
    for number in range(0, len(objects), every):
        inner = sorted(id(each) for each in gc.get_referents(objects[number]))
        out.write('%s"%d": %s' % (", " if number else "", id(objects[number]), inner))
    out.write('}, "closure": %s' % json.dumps(_closure(objects, names, ours)))
    out.write(', "tensors": %s' % json.dumps(tensors(objects)))
    out.write(', "types": %s' % json.dumps(names.told))
    del objects[:]


class _Types:
    """Types by number, in the order in which they were met."""

    def __init__(self):
        self.numbers = {}
        self.told = []

    def number(self, kind):
        found = self.numbers.get(kind)
        if found is None:
            found = self.numbers[kind] = len(self.told)
            self.told.append([id(kind), _module(kind), _type_name(kind)])
        return found


def _module(kind):
    try:
        module = _type_module(kind)
    except AttributeError:
        return None
    return module if isinstance(module, str) else None


def _size(item):
    try:
        return sys.getsizeof(item)
    except Exception:
        return "null"


def _our_frames():
    """Frames of this module's functions that are under way, and of nobody else."""
    found, frame = set(), sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == __file__:
            found.add(id(frame))
        frame = frame.f_back
    return found


def _drop(objects, ours):
    """Frames of ours that Python made objects of before the list was taken (up to 3.10), in place."""
    here = __file__
    for number in range(len(objects) - 1, -1, -1):
        item = objects[number]
        if type(item) is types.FrameType and (id(item) in ours or item.f_code.co_filename == here):
            ours.add(id(item))
            del objects[number]


def _closure(objects, names, ours):
    """What can be reached, by type. The objects themselves are part of it."""
    seen = set(ours)
    seen.update((id(objects), id(seen), id(names), id(names.numbers), id(names.told), id(names.__dict__)))
    counts = {}
    waiting = list(objects)
    seen.add(id(waiting))
    seen.add(id(counts))
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        size = _size(item)
        entry = counts.setdefault(type(item), [0, 0])
        entry[0] += 1
        entry[1] += 0 if size == "null" else size
        waiting += gc.get_referents(item)
    return [[names.number(kind), count, size] for kind, (count, size) in counts.items()]


def pymalloc_in_use():
    """Bytes in blocks that Python's own allocator has given out."""
    told = getattr(sys, "_debugmallocstats", None)
    if told is None:
        return None
    # It writes to the C library's stderr.
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        try:
            os.dup2(file.fileno(), 2)
            told()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        found = _IN_USE.search(file.read())
    return int(found.group(1).replace(b",", b"")) if found else None


def tensors(objects):
    """Tensors that have a Python object, by group; storages count once, however many tensors share them."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    groups, storages, seen = {}, {}, set()
    for item in objects:
        if not issubclass(type(item), torch.Tensor):
            continue
        try:
            device = item.device.type
            key = (device, str(item.dtype).replace("torch.", ""), tuple(item.shape), item.requires_grad)
            own = item.numel() * item.element_size()
            storage = item.untyped_storage()
            place = (device, storage._cdata)
            size = storage.nbytes()
        except Exception:
            continue  # sparse and functional tensors have no plain storage
        entry = groups.setdefault(key, [0, 0])
        entry[0] += 1
        entry[1] += own
        if place not in seen:
            seen.add(place)
            entry = storages.setdefault(device, [0, 0])
            entry[0] += 1
            entry[1] += size
    told = [[device, dtype, list(shape), grad, *entry] for (device, dtype, shape, grad), entry in groups.items()]
    return {"groups": told, "storages": [[device, *entry] for device, entry in storages.items()]}
