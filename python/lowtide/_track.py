"""The part that all training loops share: marks, readings and counts, and the few lines for people.

Fed by `hf`, `lightning` and `torch`, which translate their framework's events. Speaks through
`_marks` to a watcher, through `_warn` to people, and through `_loggers` to a metrics store. What it
takes of the run is kept by `_budget`.
"""

import gc
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _budget, _host, _hints, _loggers, _marks, _tensors, _warn
from ._changes import Changes
from ._counting import WORTH_A_LINE, Counting
from ._host import signed, size

# Steps between two readings where nobody asked for lines.
READ_EVERY = 10
# What a reading takes before one was taken: some 0.1 ms with a watcher to tell, on a slow machine more.
READING_GUESS_S = 0.0005
# Readings may take this part of the budget: where steps are short they would use up all of it, and nothing would
# ever be counted.
READINGS_PART = 0.4
# Left free above the peak in the sizing line: a tenth, and at least what one more library import
# or a longer batch takes.
RESERVE_SHARE = 0.10
RESERVE_LEAST = 500_000_000


class Track:
    """One training run, as its loop tells it."""

    def __init__(
        self,
        every: Optional[int] = None,
        count: Union[bool, float] = True,
        lines: bool = True,
        log_to: Optional[Sequence[str]] = None,
        tracemalloc: Optional[Any] = None,
    ) -> None:
        """every: a line after each so many steps (0: marks only; None: readings, but lines only at what changed).
        count: False, or the share of the run's time that looking may take (True: 1 %)."""
        self.every = READ_EVERY if every is None else max(0, int(every))
        self.asked = bool(every)
        self.count = bool(count)
        self.lines = lines
        self.tracemalloc = tracemalloc
        self._log_to = log_to
        self._log: Optional[Callable[[Mapping[str, float], int], None]] = None
        self.budget = _budget.Budget(_budget.SHARE if isinstance(count, bool) else float(count))
        self._counting = Counting(self.budget)
        self._reading_takes = READING_GUESS_S
        self._readings_took = 0.0
        self._changes = Changes(0, 0)
        self._line_held = 0
        self._train_peak = 0
        self._save_spike = 0
        self._before_save: Optional[int] = None
        self._saves = 0
        self._needs: Dict[str, Dict[str, int]] = {}
        self._total: Optional[int] = None

    def begin(
        self,
        model: Any = None,
        optimizer: Any = None,
        geometry: Optional[Mapping[str, Any]] = None,
        total_steps: Optional[int] = None,
        step: int = 0,
        log_dir: Optional[str] = None,
        hints: Sequence[str] = (),
    ) -> None:
        # Its time begins with the training, not with the making of the callback.
        self.budget = _budget.Budget(self.budget.share)
        self._counting = Counting(self.budget)
        self._readings_took = 0.0
        started = self.budget.start()
        self._total = total_steps
        _marks.mark(phase="train", step=step, total_steps=total_steps, geometry=geometry)
        if self._log_to:
            self._log = _loggers.open_all(self._log_to, log_dir)
        try:
            self._needs = _tensors.needs(model, optimizer)
        except Exception as error:
            _warn.once("the static needs could not be counted: %s" % error)
        readings = _host.memory()
        self._line_held = self._train_peak = _host.held(readings)
        self._changes = Changes(step, self._line_held)
        self._emit("begin", {"needs": _flat(self._needs), "host": readings})
        if self.lines:
            _warn.say("lowtide: " + self._begin_line(readings, geometry))
            for hint in hints:
                _warn.say("lowtide: " + hint)
        self.budget.stop(started)

    def step(self, step: int, epoch: Optional[float] = None, examples: Optional[int] = None) -> None:
        """One optimizer step is done."""
        clock = time.perf_counter()
        _marks.mark(step=step, epoch=epoch, examples=examples)
        if self.tracemalloc is not None:
            self.tracemalloc.step(step)
        self.budget.marked(time.perf_counter() - clock)
        # Who asked for lines or metrics gets them; counting stays within its budget all the same.
        due = self.every and step % self.every == 0
        if due and (self.asked or self._log is not None or self._has_room_to_read()):
            started = self.budget.start()
            self._report(step, epoch)
            self.budget.stop(started)

    def _has_room_to_read(self) -> bool:
        budget, readings = self.budget, self._readings_took + self._reading_takes
        return budget.allows(self._reading_takes) and readings <= READINGS_PART * budget.share * budget.ran()

    def phase(self, name: str) -> None:
        """A phase begins. The kernel's high-water mark before and after a save gives its spike."""
        if name == "save":
            self._before_save = _host.peak_held(_host.memory())
        elif self._before_save is not None:
            after = _host.peak_held(_host.memory())
            self._save_spike = max(self._save_spike, after - self._before_save)
            self._saves += 1
            self._before_save = None
        _marks.mark(phase=name)

    def end(self, optimizer: Any = None) -> None:
        try:
            self._sum_up(optimizer)
        finally:
            _marks.mark(phase="end")

    def _sum_up(self, optimizer: Any) -> None:
        started, clock = self.budget.start(), time.perf_counter()
        readings = _host.memory()
        taken = self._counting.at_end() if self.count else None
        sizing = self.sizing(readings, optimizer)
        if self.tracemalloc is not None:
            self.tracemalloc.close()
        if taken is not None:
            wall = time.perf_counter() - clock
            self._send_look(readings, taken, _tensors.cuda(), wall, self.budget.since(started))
        self.budget.stop(started)
        budget, ran = self.budget, max(self.budget.ran(), 1e-9)
        cost = {"seconds": round(budget.spent, 4), "share": budget.spent / ran, "slowest": round(budget.slowest, 4)}
        grew = self._counting.grew()
        self._emit("end", {"grew": {line: 1 for line in grew}, "sizing": sizing, "cost": cost, "host": readings})
        if self.lines:
            for line in self._counting.grew(WORTH_A_LINE):
                _warn.say("lowtide: grew: " + line)
            _warn.say(
                "lowtide: end: %s; its own cost: %.2f s of %.1f s of processor time (%.2f %%)"
                % (_sizing_text(sizing), budget.spent, ran, 100 * budget.spent / ran)
            )

    def sizing(self, readings: Mapping[str, int], optimizer: Any = None) -> Dict[str, int]:
        """How much host memory this run needs, and how much to ask for next time."""
        peak = max(self._train_peak, _host.peak_held(dict(readings)))
        if self._saves:
            # The high-water mark has the saves in it: give them back to get the peak of training.
            spike = self._save_spike
            peak = max(self._train_peak, peak - spike)
        else:
            state = _tensors.optimizer_state(optimizer) or self._needs.get("optimizer", {})
            spike = sum(state.values()) + sum(self._needs.get("gradients", {}).values())
        reserve = max(RESERVE_LEAST, int(RESERVE_SHARE * (peak + spike)))
        needed = peak + spike
        return {"needed": needed, "peak": peak, "checkpoint": spike, "reserve": reserve, "recommended": needed + reserve}

    def _report(self, step: int, epoch: Optional[float]) -> None:
        started, clock = self.budget.start(), time.perf_counter()
        readings = _host.memory()
        now_held = _host.held(readings)
        self._train_peak = max(self._train_peak, now_held)
        collector = gc.get_count()
        gpu = _tensors.cuda()
        record: Dict[str, Any] = {
            "host": readings,
            "gc": {"young": collector[0], "middle": collector[1], "old": collector[2]},
        }
        if gpu:
            record["cuda"] = gpu
        record["cost"] = {"seconds": round(self.budget.since(started), 6)}
        self._emit("step", record)
        self._reading_takes = self.budget.since(started)
        self._readings_took += self._reading_takes
        taken = self._counting.now() if self.count else None
        if taken is not None:
            self._send_look(readings, taken, gpu, time.perf_counter() - clock, self.budget.since(started))
        changed = self._changes.line(step, now_held)
        if self.lines and self.asked:
            _warn.say("lowtide: " + self._step_line(step, epoch, now_held, taken, gpu))
        elif self.lines and changed:
            _warn.say("lowtide: %s: %s" % (self._where(step, epoch), changed))
        if self._log is not None:
            self._log(_metrics(readings, taken, gpu), step)
        self._line_held = now_held

    def _send_look(
        self, readings: Dict[str, int], taken: _tensors.Count, gpu: Dict[str, int], wall: float, cpu: float
    ) -> None:
        """Where this process's bytes are, as far as Python knows."""
        look: Dict[str, Any] = {
            "why": "start" if taken is self._counting.first else "due",
            "held": _host.held(readings),
            "cost": {"wall": round(wall, 6), "cpu": round(cpu, 6)},
            "tracked": taken.objects,
            "with_graph": taken.with_graph,
            "breakdowns": taken.breakdowns(),
        }
        if gpu:
            look["cuda"] = gpu
        _marks.look(look)

    def _emit(self, moment: str, record: Dict[str, Any]) -> None:
        record["moment"] = moment
        _marks.record(record)

    def _begin_line(self, readings: Mapping[str, int], geometry: Optional[Mapping[str, Any]]) -> str:
        parts = ["host %s" % size(_host.held(dict(readings)))]
        for kind, devices in self._needs.items():
            parts += ["%s %s on %s" % (kind, size(count), device) for device, count in devices.items() if count]
        geometry = geometry or {}
        if geometry.get("examples") and geometry.get("epoch_steps"):
            parts.append("%d examples, %g steps an epoch" % (geometry["examples"], geometry["epoch_steps"]))
        return "begin: " + ", ".join(parts)

    def _where(self, step: int, epoch: Optional[float]) -> str:
        where = "step %d" % step if self._total is None else "step %d/%d" % (step, self._total)
        return where if epoch is None else where + " (epoch %.2f)" % epoch

    def _step_line(
        self,
        step: int,
        epoch: Optional[float],
        held: int,
        taken: Optional[_tensors.Count],
        gpu: Mapping[str, int],
    ) -> str:
        parts = ["host %s (%s)" % (size(held), signed(held - self._line_held))]
        if taken is not None:
            for device, count in sorted(taken.tensors.items()):
                parts.append(
                    "%s: %d tensors, %s in %d storages"
                    % (device, count, size(taken.bytes.get(device, 0)), taken.storages.get(device, 0))
                )
        if gpu:
            parts.append("GPU %s of %s reserved, peak %s" % (size(gpu["allocated"]), size(gpu["reserved"]), size(gpu["peak"])))
        return self._where(step, epoch) + ": " + ", ".join(parts)


def geometry_of(
    loader: Any = None,
    batch: Optional[int] = None,
    accumulate: Optional[int] = None,
    world: Optional[int] = None,
) -> Dict[str, Any]:
    """How the data is cut into steps, as far as the loader tells."""
    found: Dict[str, Any] = {}
    accumulate = max(1, int(accumulate or 1))
    world = max(1, int(world or 1))
    if batch is None:
        batch = getattr(loader, "batch_size", None) or getattr(loader, "total_batch_size", None)
    examples = _length(getattr(loader, "dataset", None))
    batches = _length(loader)
    if examples is not None:
        found["examples"] = examples
    if batch:
        found["batch"] = int(batch)
    found["accumulate"] = accumulate
    found["world"] = world
    if batches:
        # A loader that is shared out over the ranks has its own length in batches of one rank; the
        # last, smaller group of batches is a step too.
        found["epoch_steps"] = -(-batches // accumulate)
    return found


def examples_seen(geometry: Mapping[str, Any], step: int) -> Optional[int]:
    """Examples seen after so many steps. The last step of an epoch may hold fewer than the others."""
    batch, examples = geometry.get("batch"), geometry.get("examples")
    if not batch:
        return None
    per_step = batch * geometry.get("accumulate", 1) * geometry.get("world", 1)
    epoch_steps = geometry.get("epoch_steps")
    if not examples or not epoch_steps:
        return step * per_step
    epochs, within = divmod(step, int(epoch_steps))
    return epochs * examples + min(examples, within * per_step)


def _length(thing: Any) -> Optional[int]:
    try:
        return len(thing)
    except Exception:
        return None  # a stream has no length, and says so in its own way


def _flat(needs: Mapping[str, Mapping[str, int]]) -> Dict[str, int]:
    return {"%s_%s" % (kind, device): count for kind, devices in needs.items() for device, count in devices.items()}


def _metrics(readings: Mapping[str, int], taken: Optional[_tensors.Count], gpu: Mapping[str, int]) -> Dict[str, float]:
    found: Dict[str, float] = {"lowtide/host_%s" % meter: count for meter, count in readings.items()}
    if taken is not None:
        for device, count in taken.tensors.items():
            found["lowtide/tensors_%s" % device] = count
            found["lowtide/storage_bytes_%s" % device] = taken.bytes.get(device, 0)
    found.update({"lowtide/gpu_%s" % name: count for name, count in gpu.items()})
    return found


def _sizing_text(sizing: Mapping[str, int]) -> str:
    workers = _host.workers()
    return "sizing: needed %s (peak %s + checkpoint %s), recommended %s with %s in reserve%s" % (
        size(sizing["needed"]),
        size(sizing["peak"]),
        size(sizing["checkpoint"]),
        size(sizing["recommended"]),
        size(sizing["reserve"]),
        "; its %d child processes come on top" % workers if workers else "",
    )


def hints_for(loader: Any, workers: int, prefetch: Optional[int], pinned: bool) -> List[str]:
    """Hints need the loader and its settings; a failure in them is no reason to say nothing else."""
    try:
        return _hints.find(loader, workers, prefetch, pinned)
    except Exception as error:
        _warn.once("no hints: %s" % error)
        return []
