"""The callback for the Hugging Face Trainer, and for TRL's trainers, which are built on it.

    from lowtide.hf import LowtideCallback

    trainer = Trainer(..., callbacks=[LowtideCallback()])
    trainer.train()

It marks steps, epochs and phases, reads the geometry of the data from the Trainer, and records what
the process holds; it says a line at the begin, at what changed and at the end. When the guard asks, it
has the Trainer save and stop at the step that was named.
"""

import time
import weakref
from typing import Any, Dict, Optional, Sequence, Union

from . import _marks, _track, _warn, _watch
from ._events import Events

try:
    from transformers.trainer_callback import TrainerCallback as _Base
except ImportError:  # a duck does as well: the Trainer calls events by name
    _Base = object  # type: ignore[assignment,misc]

# A step that takes less than this needs no news from inside it.
SUBSTEP_EVERY_S = 1.0

# The training run that has a callback already, so that a second one stays silent. The Trainer
# hands the same state object to all its callbacks.
_active: Dict[str, Any] = {"state": None, "callback": None}


class LowtideCallback(Events, _Base):  # type: ignore[misc,valid-type]
    """Tells lowtide where a Trainer is, and the user what its process holds.

    every: a line after each so many steps, too (0: marks only). count: tensors and objects, within 1 % of the
    run's time; another share as a number; False. lines: say it on stderr. watch: start a watcher when none is there. log_to: any of
    "wandb", "tensorboard", "mlflow". tracemalloc: a `lowtide.tracemalloc.Window`.
    """

    def __init__(
        self,
        every: Optional[int] = None,
        count: Union[bool, float] = True,
        lines: bool = True,
        watch: bool = False,
        log_to: Optional[Sequence[str]] = None,
        tracemalloc: Optional[Any] = None,
    ) -> None:
        self._options: Dict[str, Any] = {"every": every, "count": count, "log_to": log_to, "tracemalloc": tracemalloc}
        self._lines = lines
        self._watch = watch
        self._track: Optional[_track.Track] = None
        self._geometry: Dict[str, Any] = {}
        # Where phases return to: "start" before the training, "train" in it, "end" after it.
        self._rest = "start"
        self._phase = "start"
        self._step = -1
        self._substep = 0
        self._marked_at = 0.0
        self._asked_at: Optional[int] = None

    @_warn.harmless
    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if _is_second(self, state):
            return
        if self._watch:
            _watch.watch()
        loader = kwargs.get("train_dataloader")
        self._geometry = _geometry(args, state, loader)
        main = bool(getattr(state, "is_world_process_zero", True))
        self._track = _track.Track(lines=self._lines and main, **self._options)
        self._phase = self._rest = "train"
        self._step = state.global_step
        self._asked_at = None
        _marks.tell_loop("trainer")
        _marks.tell_guard(folders=[getattr(args, "output_dir", None)])
        self._track.begin(
            model=kwargs.get("model"),
            optimizer=kwargs.get("optimizer"),
            geometry=self._geometry,
            total_steps=state.max_steps if state.max_steps > 0 else None,
            step=state.global_step,
            log_dir=getattr(args, "logging_dir", None) or getattr(args, "output_dir", None),
            hints=_track.hints_for(
                loader,
                getattr(args, "dataloader_num_workers", 0),
                getattr(args, "dataloader_prefetch_factor", None),
                getattr(args, "dataloader_pin_memory", False),
            ),
        )

    @_warn.harmless
    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._to("train")

    @_warn.harmless
    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._substep = 0
        self._to("train")

    @_warn.harmless
    def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Accumulation can make a step long: then the examples go on counting inside it."""
        self._substep += 1
        now = time.monotonic()
        if self._track is None or now - self._marked_at < SUBSTEP_EVERY_S:
            return
        self._marked_at = now
        seen = _track.examples_seen(self._geometry, state.global_step)
        if seen is not None:
            _marks.mark(examples=seen + self._substep * self._geometry["batch"] * self._geometry["world"])

    @_warn.harmless
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        track, step = self._track, state.global_step
        if track is None or step == self._step:
            return  # not begun, or the same callback was added twice and has heard this already
        self._step = step
        self._marked_at = time.monotonic()
        track.step(step, state.epoch, _track.examples_seen(self._geometry, step))
        if _marks.guard(step):
            if self._asked_at is None:
                self._asked_at = step
                _warn.say("lowtide: the guard asks for a checkpoint and a stop at step %d" % step)
            control.should_save = True
            control.should_training_stop = True
        self._to_coming(control)

    @_warn.harmless
    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._track is not None and state.epoch is not None:
            _marks.mark(epoch=state.epoch)
        self._to_coming(control)

    @_warn.harmless
    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._to("eval")

    @_warn.harmless
    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._to("save" if control.should_save else self._rest)

    @_warn.harmless
    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        self._to(self._rest)

    @_warn.harmless
    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """The Trainer's own numbers (loss, learning rate) beside ours, for whoever compares."""
        if self._track is not None and logs:
            numbers = {name: value for name, value in logs.items() if isinstance(value, (int, float))}
            _marks.log(numbers)

    @_warn.harmless
    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # `should_save` may be decided after our `on_step_end`: then this save had no begin.
        self._to(self._rest)
        if self._asked_at is not None:
            _marks.note("checkpoint at step %d, as the guard asked" % state.global_step)

    @_warn.harmless
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._track is None:
            return
        self._to("train")
        track, self._track = self._track, None
        self._rest = self._phase = "end"
        track.end(kwargs.get("optimizer"))
        _active.update(state=None, callback=None)

    def _to_coming(self, control: Any) -> None:
        """The Trainer evaluates and saves right after a step end, in this order."""
        if control.should_evaluate:
            self._to("eval")
        elif control.should_save:
            self._to("save")

    def _to(self, phase: str) -> None:
        if phase == self._phase:
            return
        self._phase = phase
        if self._track is not None:
            self._track.phase(phase)
        elif self._rest != "train":
            _marks.mark(phase=phase)  # an evaluation before or after the training


def _is_second(callback: LowtideCallback, state: Any) -> bool:
    known = _active["state"]
    if known is not None and known() is state:
        _warn.once("the LowtideCallback was added twice; the first one does the work")
        return True
    _active.update(state=weakref.ref(state), callback=weakref.ref(callback))
    return False


def _geometry(args: Any, state: Any, loader: Any) -> Dict[str, Any]:
    # The Trainer's own batch size, which counts all devices of this process: the loader that it
    # prepared may have been wrapped and then shows another one.
    batch = getattr(args, "train_batch_size", None) or getattr(state, "train_batch_size", None)
    return _track.geometry_of(
        loader,
        batch=batch,
        accumulate=getattr(args, "gradient_accumulation_steps", 1),
        world=getattr(args, "world_size", 1),
    )
