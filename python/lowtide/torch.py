"""Plain PyTorch loops, with or without accelerate.

    from lowtide.torch import Loop

    with Loop(model, optimizer, loader, epochs=3) as loop:
        for batch in loop.batches(): ...; loop.step()
        with loop.phase("eval"): evaluate()

`loop.step()` counts optimizer steps. With accelerate, pass `accelerator=`: accumulation and the
number of processes come from it, and `step()` counts only where gradients were synchronised.
"""

import os
from typing import Any, Iterator, Optional, Sequence, Union

from . import _marks, _track, _warn, _watch


class Loop:
    """One training run of a hand-written loop."""

    def __init__(
        self,
        model: Any = None,
        optimizer: Any = None,
        loader: Any = None,
        *,
        accumulate: int = 1,
        epochs: Optional[float] = None,
        total_steps: Optional[int] = None,
        step: int = 0,
        accelerator: Any = None,
        every: Optional[int] = None,
        count: Union[bool, float] = True,
        lines: bool = True,
        watch: bool = False,
        log_to: Optional[Sequence[str]] = None,
        log_dir: Optional[str] = None,
        tracemalloc: Optional[Any] = None,
    ) -> None:
        self.steps = step
        self.epoch = 0.0
        self._model, self._optimizer, self._loader = model, optimizer, loader
        self._accelerator = accelerator
        self._watch = watch
        self._log_dir = log_dir
        self._total = total_steps
        self._epochs = epochs
        self._accumulate = accumulate
        main = accelerator.is_main_process if accelerator is not None else _rank() == 0
        self._track = _track.Track(every, count, lines and main, log_to, tracemalloc)
        self._geometry: dict = {}
        self._begun = False

    @_warn.harmless
    def begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        if self._watch:
            _watch.watch()
        _marks.tell_loop("plain")
        accelerator = self._accelerator
        accumulate = accelerator.gradient_accumulation_steps if accelerator is not None else self._accumulate
        world = accelerator.num_processes if accelerator is not None else _world()
        self._geometry = _track.geometry_of(self._loader, accumulate=accumulate, world=world)
        steps = self._geometry.get("epoch_steps")
        if self._total is None and steps and self._epochs:
            self._total = int(steps * self._epochs)
        loader = self._loader
        self._track.begin(
            self._model,
            self._optimizer,
            self._geometry,
            self._total,
            self.steps,
            self._log_dir,
            _track.hints_for(
                loader,
                getattr(loader, "num_workers", 0),
                getattr(loader, "prefetch_factor", None),
                getattr(loader, "pin_memory", False),
            ),
        )

    @_warn.harmless
    def step(self, step: Optional[int] = None, epoch: Optional[float] = None) -> None:
        """An optimizer step is done. Gives the step a number of its own unless you give one."""
        self.begin()
        if step is None:
            if self._accelerator is not None and not self._accelerator.sync_gradients:
                return
            step = self.steps + 1
        self.steps = step
        per_epoch = self._geometry.get("epoch_steps")
        self.epoch = epoch if epoch is not None else step / per_epoch if per_epoch else self.epoch
        known = self.epoch if per_epoch or epoch is not None else None
        self._track.step(step, known, _track.examples_seen(self._geometry, step))

    def phase(self, name: str) -> "_Phase":
        """`with loop.phase("eval"):` or "save"."""
        self.begin()
        return _Phase(self._track, name)

    def batches(self) -> Iterator[Any]:
        """The loader's batches, for one epoch."""
        self.begin()
        return iter(self._loader)

    @property
    def should_stop(self) -> bool:
        """Has the guard asked to checkpoint and stop at this step?"""
        return _marks.guard(self.steps)

    @_warn.harmless
    def end(self) -> None:
        if self._begun:
            self._begun = False
            self._track.end(self._optimizer)

    def __enter__(self) -> "Loop":
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class _Phase:
    def __init__(self, track: _track.Track, name: str) -> None:
        self._track, self._name = track, name

    def __enter__(self) -> None:
        self._before = _marks.current().get("phase") or "train"
        _enter(self._track, self._name)

    def __exit__(self, *_: object) -> None:
        _enter(self._track, self._before)


@_warn.harmless
def _enter(track: _track.Track, name: str) -> None:
    track.phase(name)


def _rank() -> int:
    return _number("RANK", 0)


def _world() -> int:
    return _number("WORLD_SIZE", 1)


def _number(name: str, default: int) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else default
