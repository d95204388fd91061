"""What libraries count of their own memory, asked only of those that the job has imported."""

import sys
from typing import Any, Dict, List

from . import _tensors

# Functions that dynamo has compiled: nobody has more, and each is one question.
MOST_CODES = 2_000


def parts() -> List[Dict[str, Any]]:
    """As parts of a breakdown by library."""
    found = []
    for ask in (_arrow, _dynamo, _pinned):
        try:
            found += ask()
        except Exception:
            pass  # another version of theirs: then it is not told
    return found


def _arrow() -> List[Dict[str, Any]]:
    arrow = sys.modules.get("pyarrow")
    # A module that is being imported has no such function yet.
    total = getattr(arrow, "total_allocated_bytes", None)
    return [] if total is None else [{"name": "pyarrow", "bytes": int(total())}]


def _dynamo() -> List[Dict[str, Any]]:
    """Compiled versions of functions that torch.compile keeps, one for each guard that held."""
    frames = sys.modules.get("torch._dynamo.convert_frame")
    native = sys.modules.get("torch._C._dynamo.eval_frame")
    entries = getattr(native, "_debug_get_cache_entry_list", None)
    tracker = getattr(frames, "input_codes", None)
    if entries is None or tracker is None:
        return []
    count = 0
    for code in list(tracker.seen)[:MOST_CODES]:
        # Weak references, in the versions that we have seen.
        code = code() if callable(code) else code
        count += 0 if code is None else len(entries(code))
    return [{"name": "torch dynamo cache entries", "count": count}]


def _pinned() -> List[Dict[str, Any]]:
    counters = _tensors.cuda()
    if "pinned" not in counters:
        return []
    return [{"name": "torch pinned memory", "bytes": counters["pinned"]}]
