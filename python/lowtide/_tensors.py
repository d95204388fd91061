"""What torch holds: tensors and their storages by device, static needs, CUDA's own counters.

Fed by `_track`. Nothing here imports torch: if the loop has not, there is nothing to count. Only
tensors that Python knows are seen; what a graph alone keeps alive is not (the watcher sees that
as memory).
"""

import gc
import sys
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple

# Named in a look, largest first; the others are summed. A look is one datagram of 32 kB at most, and it
# stays in the recording: groups come with every look, types with the first and the last alone.
GROUPS_NAMED = 16
TYPES_NAMED = 100

# Asking a tensor for its storage leaves a Python object behind, which is no growth of the loop's.
OUR_OWN = ("torch.storage.UntypedStorage",)

# Objects between two looks at the clock: some milliseconds.
PIECE = 20_000

Shape = Tuple[str, str, Tuple[int, ...]]


class Group(NamedTuple):
    """Tensors of one device, dtype and shape, or objects of one type."""

    number: int
    bytes: int


class Count:
    """One walk over the objects that the garbage collector knows."""

    def __init__(self, types: bool) -> None:
        self.tensors: Dict[str, int] = {}
        self.storages: Dict[str, int] = {}
        self.bytes: Dict[str, int] = {}
        self.with_graph = 0
        self.shapes: Dict[Shape, Group] = {}
        self.types: Optional[Dict[str, Group]] = {} if types else None
        self.objects = 0
        # Storages that are counted: views share them.
        self.seen: Set[Tuple[str, int]] = set()

    def breakdowns(self) -> List[Dict[str, Any]]:
        """As the watcher reads them: what each is by, and its parts."""
        devices = {device: Group(number, self.bytes.get(device, 0)) for device, number in self.storages.items()}
        groups = {shape_text(shape): group for shape, group in self.shapes.items()}
        found = [_breakdown("device", devices), _breakdown("tensor-group", groups, GROUPS_NAMED)]
        if self.types is not None:
            found.append(_breakdown("python-type", self.types, TYPES_NAMED, on_host=True))
        return found


def loaded() -> Any:
    """The torch module when the loop has imported it, else None."""
    return sys.modules.get("torch")


def count(types: bool = False, give_up: Callable[[], bool] = lambda: False) -> Optional[Count]:
    """Count tensors and their storages; with `types`, all objects by type too (dearer).

    None when `give_up`, which is asked now and then, wants no more of it."""
    result = Count(types)
    torch = loaded()
    tensor_type = getattr(torch, "Tensor", None)
    known: Dict[type, bool] = {}
    counts: Dict[type, List[Any]] = {}
    tensors: List[Any] = []
    objects = gc.get_objects()
    result.objects = len(objects)
    for start in range(0, len(objects), PIECE):
        if give_up():
            return None
        piece = objects[start : start + PIECE]
        for item in piece:
            # `type()` and not `isinstance`: lazy proxies run code when asked for their class.
            kind = type(item)
            is_tensor = known.get(kind)
            if is_tensor is None:
                is_tensor = known[kind] = tensor_type is not None and issubclass(kind, tensor_type)
            if is_tensor:
                tensors.append(item)
        if types:
            _count_types(counts, piece)
    del objects
    for start in range(0, len(tensors), PIECE):
        if give_up():
            return None
        _count_tensors(result, tensors[start : start + PIECE])
    result.seen.clear()
    if types:
        result.types = _by_name(counts)
    return result


def _count_types(counts: Dict[type, List[Any]], objects: Iterable[Any]) -> None:
    for item in objects:
        kind = type(item)
        entry = counts.get(kind)
        if entry is None:
            # A decoded picture is far larger than its Python object.
            entry = counts[kind] = [0, 0, _module(kind).startswith("PIL.")]
        entry[0] += 1
        entry[1] += _size_of(item)
        if entry[2]:
            entry[1] += decoded_size(item)


def _by_name(counts: Mapping[type, List[Any]]) -> Dict[str, Group]:
    found: Dict[str, Group] = {}
    for kind, (number, size, _) in counts.items():
        # Two types may share a name: their counts belong together for a reader.
        name = "%s.%s" % (_module(kind), kind.__qualname__)
        if name in OUR_OWN or name.startswith("lowtide."):
            continue
        before = found.get(name, Group(0, 0))
        found[name] = Group(before.number + number, before.bytes + size)
    return found


def _count_tensors(result: Count, tensors: Iterable[Any]) -> None:
    seen = result.seen
    for tensor in tensors:
        try:
            device = tensor.device.type
            storage = tensor.untyped_storage()
            pointer, size = storage.data_ptr(), storage.nbytes()
            shape = (device, str(tensor.dtype).replace("torch.", ""), tuple(tensor.shape))
            graph = tensor.grad_fn is not None
        except Exception:
            continue  # sparse, functional and dying tensors have no plain storage
        result.tensors[device] = result.tensors.get(device, 0) + 1
        result.with_graph += graph
        own = tensor.numel() * tensor.element_size()
        before = result.shapes.get(shape, Group(0, 0))
        result.shapes[shape] = Group(before.number + 1, before.bytes + own)
        if (device, pointer) in seen or pointer == 0:
            continue
        seen.add((device, pointer))
        result.storages[device] = result.storages.get(device, 0) + 1
        result.bytes[device] = result.bytes.get(device, 0) + size


def _size_of(item: Any) -> int:
    try:
        return sys.getsizeof(item)
    except Exception:
        return 0


def _module(kind: type) -> str:
    # A class may define `__module__` for its instances, as a property: then it names no module.
    module = getattr(kind, "__module__", None)
    return module if isinstance(module, str) else "?"


def decoded_size(image: Any) -> int:
    """Bytes of a PIL image's bitmap, 0 while it is not decoded."""
    try:
        core = image.__dict__.get("_im", image.__dict__.get("im"))
        if core is None:
            return 0
        width, height = core.size
        # Pillow stores one byte per pixel for the modes below, four for all others.
        return width * height * (1 if core.mode in ("1", "L", "P") else 4)
    except Exception:
        return 0


def grown(
    first: Optional[Mapping[Any, Group]], last: Optional[Mapping[Any, Group]], top: int = 5
) -> List[Tuple[Any, Group, Group]]:
    """What grew most between two counts, by bytes and then by count."""
    if not first or not last:
        return []
    changes = []
    for name, after in last.items():
        before = first.get(name, Group(0, 0))
        if after.bytes > before.bytes or after.number > before.number:
            changes.append((name, before, after))
    changes.sort(key=lambda change: (change[1].bytes - change[2].bytes, change[1].number - change[2].number))
    return changes[:top]


def _breakdown(by: str, groups: Mapping[str, Group], named: int = 0, on_host: bool = False) -> Dict[str, Any]:
    largest = sorted(groups.items(), key=lambda item: item[1].bytes, reverse=True)
    named = named or len(largest)
    parts = []
    for name, group in largest[:named]:
        part: Dict[str, Any] = {"name": name, "count": group.number, "bytes": group.bytes}
        # A GPU's memory is none of the process's own; that of a "meta" tensor is none at all.
        if not on_host and name.split(" ", 1)[0] != "cpu":
            part["held"] = False
        parts.append(part)
    found: Dict[str, Any] = {"by": by, "parts": parts}
    rest = [group for _, group in largest[named:]]
    if rest:
        found["rest"] = {
            "parts": len(rest),
            "count": sum(group.number for group in rest),
            "bytes": sum(group.bytes for group in rest),
        }
    return found


def shape_text(shape: Shape) -> str:
    device, dtype, sizes = shape
    return "%s %s[%s]" % (device, dtype, "x".join(map(str, sizes)))


def needs(model: Any, optimizer: Any) -> Dict[str, Dict[str, int]]:
    """Bytes that training needs whatever the data: by kind, then by device.

    Gradients and optimizer state are what they will be after the first step: the state as it is
    when it exists, else two values per trained parameter, as Adam keeps.
    """
    found: Dict[str, Dict[str, int]] = {"parameters": {}, "gradients": {}, "buffers": {}, "optimizer": {}}
    if model is None:
        return found
    seen = set()
    for parameter in model.parameters():
        if id(parameter) in seen:
            continue
        seen.add(id(parameter))
        _add(found["parameters"], parameter)
        if parameter.requires_grad:
            _add(found["gradients"], parameter)
    for buffer in model.buffers():
        _add(found["buffers"], buffer)
    state = optimizer_state(optimizer)
    if state:
        found["optimizer"] = state
    else:
        found["optimizer"] = {device: 2 * size for device, size in found["gradients"].items()}
    return found


def optimizer_state(optimizer: Any) -> Dict[str, int]:
    """Bytes of the optimizer's state by device; empty before its first step."""
    found: Dict[str, int] = {}
    # accelerate wraps the optimizer, and reads through to the state of the real one.
    for values in list(getattr(optimizer, "state", {}).values()):
        if isinstance(values, dict):
            for value in values.values():
                if hasattr(value, "untyped_storage"):
                    _add(found, value)
    return found


def _add(into: Dict[str, int], tensor: Any) -> None:
    device = tensor.device.type
    into[device] = into.get(device, 0) + tensor.numel() * tensor.element_size()


def cuda() -> Dict[str, int]:
    """torch's counters of GPU and pinned memory; empty without a GPU in use."""
    torch = loaded()
    try:
        if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
            return {}
        found = {
            "allocated": torch.cuda.memory_allocated(),
            "reserved": torch.cuda.memory_reserved(),
            "peak": torch.cuda.max_memory_allocated(),
        }
        stats = getattr(torch.cuda, "host_memory_stats", None)
        if stats is not None:
            pinned = stats()
            for ours, theirs in (
                ("pinned", "allocated_bytes.current"),
                ("pinned_peak", "allocated_bytes.peak"),
                ("pinned_in_use", "active_bytes.current"),
            ):
                if theirs in pinned:
                    found[ours] = int(pinned[theirs])
        return found
    except Exception:
        return {}
