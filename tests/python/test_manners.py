"""The callback's manners: what it takes of a run, when it speaks, and where its lines land."""

import subprocess
import sys

import pytest
from lowtide import _counting, _marks, _tensors
from lowtide._budget import Budget
from lowtide._changes import Changes
from test_package import run

MB = 1_000_000


class Clock:
    """Time that passes when it is told to: the run's, and that of our thread."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def counts_that_take(clock, error, monkeypatch):
    """Counts that take so many times what was guessed, piece by piece; what came of each."""
    outcomes = []

    def count(types, give_up):
        rate = _counting.GUESS_TYPES_S if types else _counting.GUESS_S
        for _ in range(100):
            if give_up():
                outcomes.append("given up")
                return None
            clock.now += error * rate * _counting._blocks() / 100
        outcomes.append("types" if types else "plain")
        return _tensors.Count(types)

    monkeypatch.setattr(_tensors, "count", count)
    monkeypatch.setattr(_counting, "_blocks", lambda: 2_000_000)
    return outcomes


@pytest.mark.parametrize("error", [0.5, 1, 8])
def test_the_budget_is_kept_whatever_a_count_takes(error, monkeypatch):
    clock = Clock()
    outcomes = counts_that_take(clock, error, monkeypatch)
    budget = Budget(clock=clock, used=clock, work=clock)
    counting = _counting.Counting(budget)
    # A count that takes longer than there is room for is given up after the piece in which that shows.
    piece = error * _counting.GUESS_TYPES_S * 2_000_000 / 100

    def look(moment):
        before, started = len(outcomes), budget.start()
        taken = moment()
        budget.stop(started)
        if len(outcomes) > before:
            assert budget.spent <= 0.01 * budget.ran() + (piece if outcomes[-1] == "given up" else 0)
        return taken

    for _ in range(3000):
        look(counting.now)
        clock.now += 1
    assert outcomes.count("plain") >= 10 and ("given up" in outcomes) == (error > 2)
    # The last one always finds the room that was left for it.
    assert look(counting.at_end) is not None and outcomes[-1] == "types" and outcomes.count("types") == 2


def test_others_on_the_machine_do_not_widen_the_budget():
    wall, used, work = Clock(), Clock(), Clock()
    budget = Budget(clock=wall, used=used, work=work)
    wall.now, used.now = 1000, 250
    assert budget.allows(2.5) and not budget.allows(2.6)
    # Many threads have no more time than has passed.
    used.now = 8000
    assert budget.allows(10) and not budget.allows(10.1)


def test_a_short_run_is_not_counted_at_all(monkeypatch):
    clock = Clock()
    outcomes = counts_that_take(clock, 1, monkeypatch)
    counting = _counting.Counting(Budget(clock=clock, used=clock, work=clock))
    for _ in range(20):
        assert counting.now() is None
        clock.now += 1
    assert counting.at_end() is None and outcomes == []


def test_a_real_loop_keeps_its_budget_from_the_first_look_on(watcher, environment):
    """By the callback's own accounting, in a loop of short steps that goes on until it has counted twice."""
    code = """
import time
from lowtide.torch import Loop
with Loop(lines=False) as loop:
    track, counts, deadline = loop._track, [], time.monotonic() + 100
    while len(counts) < 2 and time.monotonic() < deadline:
        until = time.process_time() + 0.02
        while time.process_time() < until: pass
        loop.step()
        taken = track._counting.last
        if taken is not None:
            assert track.budget.spent <= 0.01 * track.budget.ran(), (track.budget.spent, track.budget.ran())
            if taken not in counts:
                counts.append(taken)
assert len(counts) == 2 and track.budget.spent <= 0.01 * track.budget.ran()
print("kept")
"""
    assert run(environment, code, LOWTIDE_DIR=str(watcher.folder)).stdout == "kept\n"


@pytest.mark.parametrize("took", [0.000011, 0.0001, 0.02])
def test_marks_of_tiny_steps_stay_a_small_part_of_the_run(took, monkeypatch):
    """However long one takes to send; ten a second are sent in any case."""
    clock, sent = Clock(), []

    def send(now, extra):
        sent.append(now)
        clock.now += took

    monkeypatch.setattr(_marks, "_monotonic", clock)
    monkeypatch.setattr(_marks, "_send", send)
    monkeypatch.setattr(_marks, "_send_at", 0.0)
    while clock.now < 10:
        clock.now += 0.001
        _marks._send_state(clock.now, False)
    ten_a_second = 10 * 10
    assert ten_a_second - 20 <= len(sent)
    assert len(sent) * took <= 0.003 * clock.now or len(sent) <= ten_a_second + 1


def lines(held):
    changes = Changes(0, held(0))
    found = [(step, changes.line(step, held(step))) for step in range(1, 2001)]
    return [(step, line) for step, line in found if line]


def test_changes_are_few_and_true():
    assert lines(lambda step: 500 * MB + step % 7 * 10 * MB) == []
    assert lines(lambda step: 500 * MB + min(step, 100) * 4 * MB) == [
        (32, "host 628 MB, +128 MB since step 0"),
        (72, "host 788 MB, +160 MB since step 32"),
        (192, "host 900 MB, level: +16.0 MB since step 96"),
    ]
    assert 5 <= len(lines(lambda step: 500 * MB + step * 4 * MB)) <= 12


@pytest.mark.parametrize("terminal", [False, True])
def test_a_line_beside_a_bar_of_tqdm(environment, terminal):
    """Above the bar at a terminal, on a line of its own in a file."""
    pytest.importorskip("tqdm")
    code = """
from tqdm import tqdm
from lowtide import _warn
bar = tqdm(total=9, ncols=40, mininterval=0)
bar.update(3); _warn.say("lowtide: said"); bar.update(1); bar.close()
_warn.say("lowtide: over")
"""
    if terminal:
        size = "import fcntl, struct, termios\nfcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))"
        code = "import pty, sys\npty.spawn([sys.executable, '-c', %r])" % (size + code)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    text = done.stdout if terminal else done.stderr
    shown = text.replace("\x1b[K", "").replace("\r\n", "\n")
    for said in ("lowtide: said", "lowtide: over"):
        (line,) = [line for line in shown.split("\n") if said in line]
        # At a terminal the bar was wiped off before, by blanks.
        assert line.rpartition("\r")[2] == said and (terminal or line == said), shown
    assert "4/9" in shown
