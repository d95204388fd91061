"""The callback for Lightning.

    from lowtide.lightning import LowtideCallback

    trainer = Trainer(..., callbacks=[LowtideCallback()])
    trainer.fit(model, loader)

The same as for Hugging Face: steps, epochs, phases and geometry as marks; records of what the process
holds; a line at the begin, at what changed and at the end; when the guard asks, a checkpoint
`lowtide-<step>.ckpt` and a stop.
"""

import os
from typing import Any, Dict, Optional, Sequence, Union

from . import _marks, _track, _warn, _watch

try:
    from lightning.pytorch.callbacks import Callback as _Base
except ImportError:
    try:
        from pytorch_lightning.callbacks import Callback as _Base  # type: ignore[no-redef,assignment]
    except ImportError:
        _Base = object  # type: ignore[assignment,misc]


class LowtideCallback(_Base):  # type: ignore[misc,valid-type]
    """Tells lowtide where a Lightning Trainer is. The options are those of `lowtide.hf`."""

    def __init__(
        self,
        every: Optional[int] = None,
        count: Union[bool, float] = True,
        lines: bool = True,
        watch: bool = False,
        log_to: Optional[Sequence[str]] = None,
        tracemalloc: Optional[Any] = None,
    ) -> None:
        super().__init__()
        self._options: Dict[str, Any] = {"every": every, "count": count, "log_to": log_to, "tracemalloc": tracemalloc}
        self._lines = lines
        self._watch = watch
        self._track: Optional[_track.Track] = None
        self._geometry: Dict[str, Any] = {}
        self._step = 0
        self._asked = False

    @_warn.harmless
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        others = [c for c in trainer.callbacks if isinstance(c, LowtideCallback)]
        if others and others[0] is not self:
            _warn.once("the LowtideCallback was added twice; the first one does the work")
            return
        if self._watch:
            _watch.watch()
        loader = trainer.train_dataloader
        self._geometry = _track.geometry_of(
            loader, accumulate=trainer.accumulate_grad_batches, world=trainer.world_size
        )
        self._track = _track.Track(lines=self._lines and trainer.is_global_zero, **self._options)
        self._step = trainer.global_step
        self._asked = False
        writers = [getattr(writer, "dirpath", None) for writer in getattr(trainer, "checkpoint_callbacks", [])]
        _marks.tell_loop("lightning")
        _marks.tell_guard(folders=[trainer.default_root_dir, *writers])
        total = trainer.estimated_stepping_batches
        self._track.begin(
            pl_module,
            trainer.optimizers[0] if trainer.optimizers else None,
            self._geometry,
            int(total) if total not in (None, float("inf")) else None,
            trainer.global_step,
            trainer.default_root_dir,
            _track.hints_for(
                loader,
                getattr(loader, "num_workers", 0),
                getattr(loader, "prefetch_factor", None),
                getattr(loader, "pin_memory", False),
            ),
        )

    @_warn.harmless
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        step = trainer.global_step
        if self._track is None or step == self._step:
            return  # a batch that only accumulates is no step
        self._step = step
        per_epoch = self._geometry.get("epoch_steps")
        self._track.step(step, step / per_epoch if per_epoch else None, _track.examples_seen(self._geometry, step))
        if _marks.guard(step) and not self._asked:
            self._asked = True
            _warn.say("lowtide: the guard asks for a checkpoint and a stop at step %d" % step)
            self._track.phase("save")
            trainer.save_checkpoint(os.path.join(trainer.default_root_dir, "lowtide-%d.ckpt" % step))
            self._track.phase("train")
            trainer.should_stop = True

    @_warn.harmless
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if self._track is not None:
            self._track.phase("eval")

    @_warn.harmless
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self._track is not None:
            self._track.phase("train")

    @_warn.harmless
    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        # Lightning calls this while it gathers the checkpoint, and nothing when it is written:
        # the phase ends with the next event.
        if self._track is not None and not self._asked:
            self._track.phase("save")

    @_warn.harmless
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self._track is not None and _marks.current().get("phase") != "train":
            self._track.phase("train")

    @_warn.harmless
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if self._track is not None:
            track, self._track = self._track, None
            track.end(trainer.optimizers[0] if trainer.optimizers else None)
