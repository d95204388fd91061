"""The periodic clean-up that people write by hand, with its worth measured.

    from lowtide.cleanup import MemoryCleanup

    trainer = Trainer(..., callbacks=[MemoryCleanup(every=10)])   # or, in a plain loop:
    cleanup = MemoryCleanup(every=10)
    cleanup.step(step)

Each part can be switched off, and what each freed and cost is recorded, so that the end of the
run can say whether to keep it.
"""

import functools
import gc as _gc
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from . import _host, _marks, _tensors, _warn
from ._events import Events
from ._host import size

# Less than this per call is what the next step allocates again anyway: nothing was freed.
WORTH_A_CALL = 1_000_000


class MemoryCleanup(Events):
    """Cleans up every `every` steps; a callback for the Trainer, or call `step` yourself.

    gc: collect, `passes` times. empty_cache: give torch's unused GPU memory back. trim: give the C
    allocator's free memory back. zero_grad: drop the gradients that the optimizer has used. log_history: keep only
    so many entries of the Trainer's log. processor_caches: empty the caches of the processor.
    """

    def __init__(
        self,
        every: int = 10,
        gc: bool = True,
        passes: int = 1,
        empty_cache: bool = True,
        trim: bool = True,
        zero_grad: bool = False,
        log_history: Optional[int] = None,
        processor_caches: bool = False,
        on_step: bool = True,
        on_optimizer_step: bool = False,
        on_evaluate: bool = True,
        lines: bool = True,
    ) -> None:
        self.every = max(1, int(every))
        self.gc = gc
        self.passes = max(1, int(passes))
        self.empty_cache = empty_cache
        self.trim = trim
        self.zero_grad = zero_grad
        self.log_history = log_history
        self.processor_caches = processor_caches
        self.at = {"step": on_step, "optimizer": on_optimizer_step, "evaluate": on_evaluate}
        self.lines = lines
        self.calls = 0
        self.seconds = 0.0
        self.freed = 0
        self.collected = 0
        self.parts: Dict[str, Dict[str, float]] = {}

    def step(self, step: int, **objects: Any) -> None:
        """For plain loops: clean up when the step is due."""
        if step % self.every == 0:
            self.clean(**objects)

    @_warn.harmless
    def clean(self, optimizer: Any = None, state: Any = None, processor: Any = None) -> None:
        """Clean up now, and measure each part by the memory that was there before and after it."""
        started = time.perf_counter()
        freed_by_part: Dict[str, int] = {}
        for name, part in self._chosen(optimizer, state, processor):
            before, since = _held(), time.perf_counter()
            result = part()
            took, freed = time.perf_counter() - since, before - _held()
            if name == "gc":
                self.collected += int(result or 0)
            totals = self.parts.setdefault(name, {"calls": 0, "seconds": 0.0, "freed": 0})
            totals["calls"] += 1
            totals["seconds"] += took
            totals["freed"] += freed
            self.freed += freed
            freed_by_part[name] = freed
        self.calls += 1
        self.seconds += time.perf_counter() - started
        _marks.cleanup(freed_by_part)

    def worth(self) -> str:
        """The balance, in one line."""
        if not self.calls:
            return "cleanup: never called"
        each = self.freed / self.calls
        balance = "cleanup: %d calls, %.1f s, " % (self.calls, self.seconds)
        if each < WORTH_A_CALL:
            return balance + "freed nothing: remove it"
        parts = sorted(self.parts.items(), key=lambda part: -part[1]["freed"])
        best = ", ".join("%s %s" % (name, size(part["freed"])) for name, part in parts if part["freed"] > 0)
        idle = [name for name, part in parts if part["freed"] < WORTH_A_CALL * self.calls]
        return (
            balance
            + "freed %s a call (%s)" % (size(each), best)
            + ("; switch off %s" % ", ".join(idle) if idle else "")
        )

    def finish(self) -> str:
        """Say and record the balance. The Trainer's end does this by itself."""
        line = self.worth()
        _marks.note(line)
        _marks.record(
            {
                "cleanup": {"calls": self.calls, "seconds": round(self.seconds, 4), "freed": self.freed},
                "cleanup_parts": {"%s_freed" % name: part["freed"] for name, part in self.parts.items()},
                "moment": "end",
            }
        )
        if self.lines:
            _warn.say("lowtide: " + line)
        return line

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._event("step", state.global_step, state, kwargs)

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # The Trainer (4.44 to 5) calls this once the optimizer has used the gradients, so they may go; the step
        # itself is counted a little later.
        self._event("optimizer", state.global_step + 1, state, kwargs)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.at["evaluate"]:
            self.clean(kwargs.get("optimizer"), state, _processor(kwargs))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.finish()

    def _event(self, moment: str, step: int, state: Any, kwargs: Dict[str, Any]) -> None:
        if self.at[moment] and step % self.every == 0:
            self.clean(kwargs.get("optimizer"), state, _processor(kwargs))

    def _chosen(self, optimizer: Any, state: Any, processor: Any) -> List[Any]:
        chosen: List[Any] = []
        if self.zero_grad and optimizer is not None:
            chosen.append(("zero_grad", lambda: optimizer.zero_grad(set_to_none=True)))
        if self.log_history is not None and state is not None:
            chosen.append(("log_history", lambda: _shorten(state.log_history, self.log_history or 0)))
        if self.processor_caches and processor is not None:
            chosen.append(("processor_caches", lambda: _clear_caches(processor)))
        if self.gc:
            chosen.append(("gc", self._collect))
        if self.empty_cache:
            chosen.append(("empty_cache", _empty_cache))
        if self.trim:
            chosen.append(("trim", _host.trim))
        return chosen

    def _collect(self) -> int:
        return sum(_gc.collect() for _ in range(self.passes))


def _held() -> int:
    gpu = _tensors.cuda()
    return _host.held(_host.memory()) + gpu.get("reserved", 0)


def _empty_cache() -> None:
    torch = _tensors.loaded()
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _shorten(history: List[Any], keep: int) -> None:
    del history[: max(0, len(history) - keep)]


def _processor(kwargs: Dict[str, Any]) -> Any:
    # Named `tokenizer` by transformers before 4.46, `processing_class` since.
    return kwargs.get("processing_class") or kwargs.get("tokenizer")


def _clear_caches(processor: Any) -> int:
    """Empty the `functools` caches of the processor, its parts and the modules they come from."""
    owners = [processor] + [getattr(processor, name, None) for name in ("image_processor", "tokenizer", "video_processor")]
    cleared = 0
    for owner in owners:
        if owner is None:
            continue
        modules = [sys.modules.get(kind.__module__) for kind in type(owner).__mro__]
        for place in [owner, type(owner), *modules]:
            for value in list(getattr(place, "__dict__", {}).values()):
                clear: Optional[Callable[[], None]] = getattr(value, "cache_clear", None)
                if isinstance(value, functools._lru_cache_wrapper) and clear is not None:
                    clear()
                    cleared += 1
    return cleared
