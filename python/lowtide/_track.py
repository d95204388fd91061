"""The part that all training loops share: marks, the every-N line and record, begin and end.

Fed by `hf`, `lightning` and `torch`, which translate their framework's events. Speaks through
`_marks` to a watcher, through `_warn` to people, and through `_loggers` to a metrics store.
"""

import gc
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from . import _host, _hints, _loggers, _marks, _tensors, _warn
from ._host import signed, size

# Counting walks all Python objects (about 0.15 us each). It may take this share of the run's
# time; where it would take more, it is left out of a line rather than slow the loop.
COUNT_SHARE = 0.01
# Left free above the peak in the sizing line: a tenth, and at least what one more library import
# or a longer batch takes.
RESERVE_SHARE = 0.10
RESERVE_LEAST = 500_000_000


class Track:
    """One training run, as its loop tells it."""

    def __init__(
        self,
        every: int = 10,
        count: bool = True,
        lines: bool = True,
        log_to: Optional[Sequence[str]] = None,
        tracemalloc: Optional[Any] = None,
    ) -> None:
        self.every = max(0, int(every))
        self.count = count
        self.lines = lines
        self.tracemalloc = tracemalloc
        self._log_to = log_to
        self._log: Optional[Callable[[Mapping[str, float], int], None]] = None
        self._first: Optional[_tensors.Count] = None
        self._last: Optional[_tensors.Count] = None
        self._count_due = 0.0
        self._spent = 0.0
        self._slowest = 0.0
        self._began = 0.0
        self._start_held = 0
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
        self._began = time.perf_counter()
        self._total = total_steps
        _marks.mark(phase="train", step=step, total_steps=total_steps, geometry=geometry)
        if self._log_to:
            self._log = _loggers.open_all(self._log_to, log_dir)
        try:
            self._needs = _tensors.needs(model, optimizer)
        except Exception as error:
            _warn.once("the static needs could not be counted: %s" % error)
        readings = _host.memory()
        self._start_held = self._line_held = self._train_peak = _host.held(readings)
        self._emit("begin", {"needs": _flat(self._needs), "host": readings})
        if self.lines:
            _warn.say("lowtide: " + self._begin_line(readings, geometry))
            for hint in hints:
                _warn.say("lowtide: " + hint)
        self._spent += time.perf_counter() - self._began

    def step(self, step: int, epoch: Optional[float] = None, examples: Optional[int] = None) -> None:
        """One optimizer step is done."""
        _marks.mark(step=step, epoch=epoch, examples=examples)
        if self.tracemalloc is not None:
            self.tracemalloc.step(step)
        if self.every and step % self.every == 0:
            self._report(step, epoch)

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
        started, cpu = time.perf_counter(), time.thread_time()
        readings = _host.memory()
        taken = None
        if self.count and self._first is not None:  # without a first count there is nothing to compare
            taken = self._take_count(types=True, due=True)
        grew = self.grew()
        sizing = self.sizing(readings, optimizer)
        if self.tracemalloc is not None:
            self.tracemalloc.close()
        now = time.perf_counter()
        self._spent += now - started
        ran = max(now - self._began, 1e-9)
        cost = {"seconds": round(self._spent, 4), "share": self._spent / ran, "slowest": round(self._slowest, 4)}
        if taken is not None:
            self._send_look(readings, taken, _tensors.cuda(), now - started, time.thread_time() - cpu)
        self._emit("end", {"grew": {line: 1 for line in grew}, "sizing": sizing, "cost": cost, "host": readings})
        if self.lines:
            for line in grew:
                _warn.say("lowtide: grew: " + line)
            _warn.say("lowtide: " + _sizing_line(sizing))
            _warn.say(
                "lowtide: its own cost: %.2f s of %.1f s (%.2f %%), slowest line %.0f ms"
                % (self._spent, ran, 100 * self._spent / ran, 1000 * self._slowest)
            )

    def grew(self) -> List[str]:
        """What grew between the first count and the last, in words."""
        first, last = self._first, self._last
        if first is None or last is None or first is last:
            return []
        lines = []
        for name, before, after in _tensors.grown(first.types, last.types):
            lines.append("%s %d -> %d (%s)" % (name, before.number, after.number, signed(after.bytes - before.bytes)))
        for shape, before, after in _tensors.grown(first.shapes, last.shapes, top=3):
            if after.bytes > before.bytes:
                lines.append(
                    "tensors %s %d -> %d (%s)"
                    % (_tensors.shape_text(shape), before.number, after.number, signed(after.bytes - before.bytes))
                )
        return lines

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
        started, cpu = time.perf_counter(), time.thread_time()
        readings = _host.memory()
        now_held = _host.held(readings)
        self._train_peak = max(self._train_peak, now_held)
        taken = self._take_count(types=self._first is None, due=started >= self._count_due) if self.count else None
        collector = gc.get_count()
        gpu = _tensors.cuda()
        record: Dict[str, Any] = {
            "host": readings,
            "gc": {"young": collector[0], "middle": collector[1], "old": collector[2]},
        }
        if gpu:
            record["cuda"] = gpu
        took = time.perf_counter() - started
        if taken is not None:
            self._send_look(readings, taken, gpu, took, time.thread_time() - cpu)
        record["cost"] = {"seconds": round(took, 6)}
        self._emit("step", record)
        if self.lines:
            _warn.say("lowtide: " + self._step_line(step, epoch, now_held, taken, gpu, collector, took))
        if self._log is not None:
            self._log(_metrics(readings, taken, gpu), step)
        self._line_held = now_held
        total = time.perf_counter() - started
        self._spent += total
        self._slowest = max(self._slowest, total)

    def _take_count(self, types: bool, due: bool) -> Optional[_tensors.Count]:
        if not due:
            return None
        started = time.perf_counter()
        taken = _tensors.count(types)
        now = time.perf_counter()
        self._count_due = now + (now - started) / COUNT_SHARE
        if self._first is None:
            self._first = taken
        self._last = taken
        return taken

    def _send_look(
        self, readings: Dict[str, int], taken: _tensors.Count, gpu: Dict[str, int], wall: float, cpu: float
    ) -> None:
        """Where this process's bytes are, as far as Python knows."""
        look: Dict[str, Any] = {
            "why": "start" if taken is self._first else "due",
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

    def _step_line(
        self,
        step: int,
        epoch: Optional[float],
        held: int,
        taken: Optional[_tensors.Count],
        gpu: Mapping[str, int],
        collector: Sequence[int],
        took: float,
    ) -> str:
        where = "step %d" % step if self._total is None else "step %d/%d" % (step, self._total)
        if epoch is not None:
            where += " (epoch %.2f)" % epoch
        parts = ["host %s (%s)" % (size(held), signed(held - self._line_held))]
        if taken is not None:
            for device, count in sorted(taken.tensors.items()):
                parts.append(
                    "%s: %d tensors, %s in %d storages"
                    % (device, count, size(taken.bytes.get(device, 0)), taken.storages.get(device, 0))
                )
        if gpu:
            parts.append("GPU %s of %s reserved, peak %s" % (size(gpu["allocated"]), size(gpu["reserved"]), size(gpu["peak"])))
        parts.append("gc %d/%d/%d" % tuple(collector))
        parts.append("took %.1f ms" % (1000 * took))
        return where + ": " + ", ".join(parts)


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


def _sizing_line(sizing: Mapping[str, int]) -> str:
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
