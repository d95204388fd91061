"""Marks: the state of the training loop, kept here and sent to a watcher when there is one.

Fed by the user's loop and by the callbacks; read by the watcher through `_link`. State is kept
even without a watcher, so that one that comes late learns it all from the next mark. Each
datagram carries all of the state, so a lost one loses nothing but its moment.
"""

import atexit
import itertools
import json
import math
import os
import threading
import time
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from . import _host, _link, _ptracer

VERSION = 1
# A loop faster than this does not get one datagram a step: the sending (about 11 us) would be more than a third
# of the 1 % that we may take, and no watcher samples so often.
MIN_GAP_S = 0.004
# On a busy machine a send takes longer than usual, and the gap grows with it: ten marks a second are enough.
USUAL_SEND_S = 0.000011
WIDEST_GAP = 25.0
PHASES = ("start", "train", "eval", "save", "end")
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")

_monotonic = time.monotonic
_state: Dict[str, Any] = {}
_geometry: Dict[str, Any] = {}
# What a guard has to know before it asks: that somebody listens, where checkpoints go, how the job goes on.
_for_guard: Dict[str, Any] = {}
_sequence = itertools.count(1)
_watcher: Optional[_link.Link] = None
# One whose files somebody removed (`/tmp` is cleaned up): it can be asked by, until it has made them again.
_out_of_reach: Optional[_link.Link] = None
_dead: Optional[tuple] = None
# Two moments on the monotonic clock: before the first, a mark without a watcher returns at once;
# before the second, a mark that only counts on is kept but not sent.
_search_at = 0.0
_send_at = 0.0
_unsent = False
_searching = threading.Lock()
# We were asked to look from inside, and do.
_looks_inside = False


def mark(
    step: Optional[int] = None,
    epoch: Optional[float] = None,
    phase: Optional[str] = None,
    examples: Optional[int] = None,
    total_steps: Optional[int] = None,
    geometry: Optional[Mapping[str, Any]] = None,
) -> None:
    """Say where the loop is. Leave out what has not changed.

    `step` counts optimizer steps done, `epoch` passes over the data with a fraction, `phase` is
    one of start, train, eval, save, end, `examples` counts examples seen so far. `geometry` may
    hold examples, batch, accumulate, world and epoch_steps.
    """
    state = _state
    if step is not None:
        state["step"] = step
    if epoch is not None:
        state["epoch"] = epoch
    if phase is not None:
        state["phase"] = phase
    if examples is not None:
        state["examples"] = examples
    if total_steps is not None:
        state["total_steps"] = total_steps
    if geometry is not None:
        _geometry.update(geometry)
    now = _monotonic()
    if _watcher is None:
        if now < _search_at:
            return
        _search(now)
    _send_state(now, phase is not None or geometry is not None)
    watcher = _watcher
    if step is not None and watcher is not None:
        if watcher.wants_trim():
            _trim_probe()
        if watcher.wants_inside() and not _looks_inside:
            _look_inside()


class phase:  # noqa: N801 - reads as a function: `with lowtide.phase("eval"):`
    """`with lowtide.phase("eval"):` marks the phase, and the one before it when the block ends.

    `with lowtide.phase("save", path):` says where the checkpoint goes, too: a guard looks there.
    """

    __slots__ = ("name", "_before")

    def __init__(self, name: str, path: Optional[Union[str, "os.PathLike[str]"]] = None) -> None:
        self.name = name
        self._before: Optional[str] = None
        if path is not None:
            _tell_place(path)

    def __enter__(self) -> "phase":
        self._before = _state.get("phase")
        mark(phase=self.name)
        return self

    def __exit__(self, *_: object) -> None:
        mark(phase=self._before or "train")


def guard(
    step: Optional[int] = None, *, saves: Optional[Union[str, "os.PathLike[str]"]] = None, resume: Optional[str] = None
) -> bool:
    """Should the loop checkpoint and stop now? One byte of a shared page, no system call.

    The watcher names a step so that all ranks stop at the same one: it is compared with `step`,
    or with the step that was last marked. A guard asks only a job of which it knows where its
    checkpoints go and how it resumes: `saves` is their folder, `resume` the words for the command
    line ("--resume {checkpoint}"), for those who do not say it to `lowtide run --guard`.
    """
    if "hears" not in _for_guard or saves is not None or resume is not None:
        tell_guard(saves=saves, resume=resume)
    watcher = _watcher
    if watcher is None:
        now = _monotonic()
        if now >= _search_at:
            _search(now)
        watcher = _watcher or _out_of_reach
        if watcher is None:
            return False
    try:
        return watcher.stop_at(_state.get("step", 0) if step is None else step)
    except Exception:
        return False


def tell_loop(name: str) -> None:
    """Whose loop this is ("trainer", "lightning", "plain"): what is advised has to fit it. Told with every mark."""
    _state["loop"] = name


def tell_guard(
    saves: Optional[Union[str, "os.PathLike[str]"]] = None,
    folders: Sequence[Any] = (),
    resume: Optional[str] = None,
) -> None:
    """This loop saves and stops when it is asked. Told with every mark, so that a guard that comes late hears it."""
    try:
        _for_guard["hears"] = True
        if saves is not None:
            _for_guard["saves"] = [os.path.abspath(os.fspath(saves))]
        if folders:
            _for_guard["folders"] = [os.path.abspath(os.fspath(folder)) for folder in folders if folder]
        if resume is not None:
            _for_guard["resume"] = str(resume)
    except Exception:
        pass  # a folder that is none must not reach the loop


def _tell_place(checkpoint: Any) -> None:
    try:
        _for_guard["saves"] = [os.path.dirname(os.path.abspath(os.fspath(checkpoint)))]
    except Exception:
        pass  # as above


def record(values: Mapping[str, Any]) -> None:
    """Put numbers and strings (two levels at most) into the recording, at this step."""
    _send_extra("record", values)


def look(counted: Mapping[str, Any]) -> None:
    """Where this process's bytes are, as Python sees it (see `_tensors`)."""
    _send_extra("look", counted)


def cleanup(freed: Mapping[str, int]) -> None:
    """What each part of a clean-up gave back, in bytes."""
    _send_extra("cleanup", freed)


def log(numbers: Mapping[str, Any]) -> None:
    """The loop logged these."""
    _send_extra("log", numbers)


def note(text: str) -> None:
    """Put one line for people into the recording."""
    _send_extra("note", text)


def counted_outside() -> bool:
    """Does the watcher count this process's objects itself?"""
    watcher = _watcher
    try:
        return watcher is not None and watcher.counts_objects()
    except Exception:
        return False


def watched() -> bool:
    """Is there a watcher? Searches now, whatever the last search said."""
    if _watcher is None:
        _search(_monotonic())
    return _watcher is not None


def current() -> Dict[str, Any]:
    """A copy of the state, for those who add to it."""
    return dict(_state)


def _look_inside() -> None:
    """The watcher cannot read this process and asks us to look. Imported now: most runs need nothing of it."""
    global _looks_inside
    _looks_inside = True
    try:
        from . import _inside

        _inside.start()
    except Exception:
        pass  # then there are no looks, and the loop goes on


def _trim_probe() -> None:
    """`lowtide run --probe trim`: give the C allocator's free memory back once, and say what came of it."""
    try:
        before, since = _host.held(_host.memory()), _monotonic()
        _host.trim()
        took, freed = _monotonic() - since, before - _host.held(_host.memory())
        cleanup({"trim": freed})
        note("trim probe: %s of %s came back in %.2f s" % (_host.size(max(0, freed)), _host.size(before), took))
    except Exception:
        pass  # a probe that fails tells nothing, and must not reach the loop


def _search(now: float) -> None:
    global _watcher, _search_at, _out_of_reach
    if not _searching.acquire(blocking=False):
        return  # another thread searches already: nobody waits
    try:
        _search_at = now + _link.SEARCH_EVERY_S
        if _watcher is None:
            _watcher = _link.find(_dead)
            if _watcher is not None:
                _out_of_reach = None
                _ptracer.allow(*_watcher.watcher())
    except Exception:
        _watcher = None
    finally:
        _searching.release()


def _send_extra(kind: str, value: Any) -> None:
    now = _monotonic()
    if _watcher is None:
        if now < _search_at:
            return
        _search(now)
    _send(now, {"kind": kind, "text" if kind == "note" else kind: value})


def _send_state(now: float, must: bool) -> None:
    global _send_at, _unsent
    if now < _send_at and not must:
        _unsent = True
        return
    _unsent = False
    _send(now, None)
    took = _monotonic() - now
    _send_at = now + MIN_GAP_S * min(max(took / USUAL_SEND_S, 1.0), WIDEST_GAP)


def _send(now: float, extra: Optional[Dict[str, Any]]) -> None:
    global _watcher, _search_at, _dead, _out_of_reach
    watcher = _watcher
    if watcher is None:
        return
    message: Dict[str, Any] = {
        "v": VERSION,
        "seq": next(_sequence),
        "t": time.monotonic_ns(),
        "pid": os.getpid(),
        "rank": _rank,
    }
    try:
        message.update(_state)
        if _geometry:
            message["geometry"] = dict(_geometry)
        if _for_guard:
            message["guard"] = _for_guard
        if extra:
            message.update(extra)
        data = _encode(message)
    except Exception:
        return
    if not watcher.send(data):
        _dead = watcher.identity
        _watcher = None
        _out_of_reach = watcher if watcher.alive else None
        _search_at = now + _link.SEARCH_EVERY_S
        watcher.close()


def _encode(message: Dict[str, Any]) -> bytes:
    try:
        text = _encoder.encode(message)
    except ValueError:  # a loss that went to NaN: JSON has no word for it, and null says as much
        text = _encoder.encode(_finite(message))
    return text.encode("utf-8", "replace")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _plain(value: Any) -> Any:
    """Numbers of numpy and torch arrive as objects: take their value, else their text."""
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)


# Made once: `json.dumps` with options makes one for each call.
_encoder = json.JSONEncoder(separators=(",", ":"), default=_plain, allow_nan=False)


def _find_rank() -> Optional[int]:
    for name in RANK_VARIABLES:
        value = os.environ.get(name)
        if value is not None and value.isdigit():
            return int(value)
    return None


_rank = _find_rank()


def _after_fork() -> None:
    """A child starts with nothing said: it is not where its parent is, and has its own watcher."""
    global _watcher, _out_of_reach, _dead, _search_at, _send_at, _unsent, _sequence, _searching, _rank, _looks_inside
    _looks_inside = False
    inherited, _watcher = _watcher, None
    _out_of_reach = None
    if inherited is not None:
        inherited.close()
    _searching = threading.Lock()  # another thread may have held it when we were forked
    _dead = None
    _search_at = _send_at = 0.0
    _unsent = False
    _sequence = itertools.count(1)
    _rank = _find_rank()
    _state.clear()
    _geometry.clear()
    _for_guard.clear()


def _at_exit() -> None:
    global _watcher
    if _unsent:
        _send(_monotonic(), None)
    watcher, _watcher = _watcher, None
    if watcher is not None:
        watcher.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
