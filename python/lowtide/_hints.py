"""Settings that are known to cost memory, said once at the begin, with numbers and without alarm."""

from typing import Any, List, Optional

from . import _host, _tensors
from ._host import size

# Looking at a few examples is enough to see what a dataset holds, and costs nothing.
PEEK = 3


def find(loader: Any, workers: int, prefetch: Optional[int], pinned: bool) -> List[str]:
    hints = []
    image = _kept_image(getattr(loader, "dataset", None))
    if image is not None:
        pictures, bitmap = image
        hints.append(
            "hint: the dataset keeps %d opened pictures; each stays decoded after its first use (%s), "
            "so expect up to %s more by the end of the first epoch; keep paths or encoded bytes to avoid it"
            % (pictures, size(bitmap), size(pictures * bitmap))
        )
        if workers > 0:
            hints.append(
                "hint: %d workers with pictures in memory: each worker decodes into its own copy, up to %s in all"
                % (workers, size(workers * pictures * bitmap))
            )
    elif workers > 0:
        held = _host.held(_host.memory())
        hints.append(
            "hint: %d workers start as copies of this process (%s now); pages are shared until written, "
            "so they cost between nothing and %s" % (workers, size(held), size(workers * held))
        )
    torch = _tensors.loaded()
    if pinned and torch is not None and torch.cuda.is_available():
        batches = max(1, workers) * (prefetch or 2)
        hints.append(
            "hint: pinned memory: up to %d batches wait in blocks rounded up to a power of two, "
            "kept for reuse and never given back" % batches
        )
    return hints


def _kept_image(dataset: Any) -> Optional[tuple]:
    """(pictures, bytes of one decoded) when the dataset holds opened pictures in a plain list.

    Only attributes are looked at: asking the dataset for an example would run the user's code.
    """
    holders = [dataset] if isinstance(dataset, (list, tuple)) else []
    holders += [held for held in getattr(dataset, "__dict__", {}).values() if isinstance(held, (list, tuple))]
    for holder in holders:
        for item in holder[:PEEK]:
            values = item.values() if isinstance(item, dict) else item if isinstance(item, (list, tuple)) else [item]
            for value in values:
                if type(value).__module__.startswith("PIL.") and hasattr(value, "size"):
                    width, height = value.size
                    bytes_per_pixel = 1 if getattr(value, "mode", "") in ("1", "L", "P") else 4
                    return len(holder), width * height * bytes_per_pixel
    return None
