"""The judge of steps that were read from memory, on logs and marks made up for it: who judges must be right first."""

import json
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from inside.judge import Log, judge

START = 1_000.0


def log(lines):
    """A log whose program began a moment ago; `lines` are (seconds, word, rest)."""
    offset = time.time() - time.monotonic()
    about = {"pid": 1, "wall": int((START + offset) * 1e9), "argv": []}
    told = [(0.0, "about", json.dumps(about)), *lines]
    return Log(["%d %s %s\n" % (int((START + at) * 1e9), word, rest) for at, word, rest in told])


def counter(name, at=0.0, **more):
    told = {"total": None, "epoch": None, "ahead": 0, "restarts": False, "standing": "right", "start": 0, **more}
    return (at, "counter", "%s %s" % (name, json.dumps(told)))


def steps(name, first, number, every=0.1, value=1):
    return [(first + every * i, "step", "%s %d" % (name, value + i)) for i in range(number)]


def mark(at, step, **more):
    wall = START + at + time.time() - time.monotonic()
    when = datetime.fromtimestamp(wall, timezone.utc).isoformat()
    return {"time": when, "step": step, "source": "memory", "total_steps": None, "epoch": None, "epoch_steps": None, **more}


def test_a_step_is_right_at_its_time_and_wrong_a_second_later():
    one = log([counter("a", total=[100]), *steps("a", 0.1, 100)])
    assert judge(one, [mark(1.0, 10), mark(2.04, 20)], slack=0.05).word == "right"
    assert judge(one, [mark(1.0, 10), mark(3.0, 20)], slack=0.05).wrong == 1
    assert judge(one, [], slack=0.05).word == "none"


def test_totals_and_lengths_are_judged_by_the_counter_that_was_told():
    one = log([
        counter("batch", total=[400], epoch=[40]), *steps("batch", 0.025, 400, 0.025),
        counter("optimizer", total=[100], epoch=[10]), *steps("optimizer", 0.1, 100),
    ])
    good = [mark(t, int(t * 10), total_steps=100, epoch_steps=10, epoch=t) for t in (3.0, 4.0, 5.0)]
    assert judge(one, good, slack=0.05).word == "right"
    bad = [mark(t, int(t * 10), total_steps=400, epoch_steps=40) for t in (3.0, 4.0, 5.0)]
    found = judge(one, bad, slack=0.05)
    assert (found.right, found.totals["wrong"], found.epochs["wrong"]) == (3, 3, 3), found
    assert judge(one, [mark(3.0, 30, epoch=7.0)], slack=0.05).progress["wrong"] == 1


def test_a_bar_may_lag_behind_by_what_it_holds():
    lines = [counter("bar"), *steps("bar", 0.1, 50), *[(i * 0.5, "shown", "bar %d" % (i * 5)) for i in range(1, 10)]]
    one = log(sorted(lines, key=lambda line: line[0]))
    assert judge(one, [mark(2.45, 20), mark(2.45, 24)], slack=0.02).word == "right"
    assert judge(one, [mark(2.45, 14)], slack=0.02).word == "wrong"


def test_whole_epochs_may_be_missing_where_nothing_tells_which_one_it_is():
    one = log([counter("batch", total=[100], epoch=[10], restarts=True), *steps("batch", 0.1, 100)])
    assert judge(one, [mark(4.35, 3), mark(5.65, 16), mark(8.65, 46)], slack=0.04).word == "right"
    # Begins again with every epoch: no count of anything.
    assert judge(one, [mark(4.35, 3), mark(5.65, 6)], slack=0.04).wrong == 1
    assert judge(one, [mark(4.35, 5)], slack=0.04).wrong == 1


def test_the_counter_changes_only_where_a_loop_does():
    both = [counter("a"), *steps("a", 0.1, 60), counter("b", start=1000), *steps("b", 0.05, 120, 0.05, 1001)]
    assert judge(log(both), [mark(3.0, 30), mark(4.0, 1080)], slack=0.02).wrong == 1
    turn = [counter("a"), *steps("a", 0.1, 30), (3.1, "end", "a"), counter("a", 3.2), *steps("a", 3.3, 30)]
    assert judge(log(turn), [mark(2.0, 20), mark(3.15, 30), mark(4.0, 8)], slack=0.05).word == "right"
    assert judge(log(turn), [mark(2.0, 20), mark(7.0, 30)], slack=0.05).word == "right"  # the second one's last
    assert judge(log(turn), [mark(2.0, 20), mark(5.0, 30)], slack=0.05).word == "right"  # just over
    assert judge(log(turn), [mark(2.0, 20), mark(5.9, 30)], slack=0.05).wrong == 1


def test_what_is_no_step_is_named():
    one = log([counter("examples", standing="wrong"), *[(i * 0.1, "step", "examples %d" % (i * 8)) for i in range(1, 30)]])
    found = judge(one, [mark(1.05, 80)], slack=0.02)
    assert found.wrong == 1 and "examples" in found.why[0], found


TELLS = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import lowtide
from truth import Truth
truth = Truth()
truth.counter("own", total=60, epoch=20)
for done in range(1, 61):
    time.sleep(0.05)
    lowtide.mark(step=done, total_steps=60)
    truth.step("own", done)
"""


def test_the_clock_of_a_recording_is_the_clock_of_a_log(program, tmp_path, environment):
    """Marks that a loop sends itself, judged like those that are read: the times of both have to fit together."""
    environment.update(INSIDE_LOG=str(tmp_path / "log"), LOWTIDE_HOME=str(tmp_path / "home"))
    inside = Path(__file__).resolve().parent / "inside"
    done = subprocess.run(
        [program, "run", "-o", str(tmp_path / "run"), "--", sys.executable, "-c", TELLS, str(inside)],
        env=environment, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    told = subprocess.run(
        [program, "export", str(tmp_path / "run"), "--what", "marks", "--format", "jsonl"],
        env=environment, capture_output=True, text=True, check=True,
    )
    marks = [json.loads(line) for line in told.stdout.splitlines()]
    found = judge(Log.read(tmp_path / "log"), marks, source="callback")
    assert found.word == "right" and found.right > 10 and found.totals["right"] > 10, found
    late = [{**mark, "step": mark["step"] - 10} for mark in marks if mark["step"] is not None and mark["step"] > 10]
    assert judge(Log.read(tmp_path / "log"), late, source="callback").wrong == len(late)


def test_what_nobody_could_tell_is_doubtful():
    """A bar of 30 twice: two trainings, or two epochs of one."""
    twice = [counter("a", total=[30]), *steps("a", 0.1, 30), (3.1, "end", "a"), counter("a", 3.2, total=[30]), *steps("a", 3.3, 30)]
    assert judge(log(twice), [mark(2.0, 20, total_steps=30), mark(4.0, 8, total_steps=30)], slack=0.05).word == "right"
    counted_on = [mark(2.0, 20), mark(4.0, 38, epoch_steps=30)]
    assert judge(log(twice), counted_on, slack=0.05).word == "doubtful"
    told = [line if line[1] != "counter" else counter("a", line[0], total=[30], anew=True) for line in twice]
    assert judge(log(told), counted_on, slack=0.05).wrong == 1
    bare = log([counter("a", total=[90], epoch=[30], looks_like=[30]), *steps("a", 0.1, 90)])
    assert judge(bare, [mark(2.0, 20, total_steps=30)], slack=0.05).totals["doubtful"] == 1
    assert judge(bare, [mark(2.0, 20, total_steps=40)], slack=0.05).word == "wrong"
