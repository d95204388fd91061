"""A job that leaks and says nothing: `run` and `attach` find who holds it, on their own, and only where they may."""

import json
import subprocess
import sys
import time

import pytest

from guarding import JOBS, PATIENCE, Attached, Group, Job, needs_limit

KEEPS = str(JOBS / "keeps.py")
# Where it does that.
(APPENDS,) = [nth for nth, line in enumerate(open(KEEPS), 1) if "CACHE.append" in line]


def looks(program, recording, examiner):
    """The moments at which an examiner looked, as recorded so far."""
    done = subprocess.run(
        [program, "export", str(recording), "--what", "looks", "--format", "jsonl"], capture_output=True, text=True
    )
    rows = map(json.loads, done.stdout.splitlines())
    return sorted({row["t"] for row in rows if row["examiner"] == examiner})


def wait(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def explained(program, recording):
    done = subprocess.run([program, "explain", str(recording), "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)


def the_holder_is_named(program, recording):
    told = explained(program, recording)
    (first, *_), explained_share = told["explanation"]["held"]["lines"], told["explanation"]["held"]["explained"]
    assert "x bytearray (+" in first["says"] and "held by keeps.CACHE (list, " in first["says"], first
    assert first["holders"] == ["keeps.CACHE"] and first["share"] > 0.7, first
    assert explained_share > 0.7, told["explanation"]["held"]
    assert any("append in main, keeps.py:%d" % APPENDS in fact for fact in first["facts"]), first
    assert [one["share"] for one in told["suspects"] if one["who"] == "keeps.CACHE"][0] > 0.7, told["suspects"]
    text = subprocess.run([program, "explain", str(recording)], capture_output=True, text=True).stdout
    assert "Who holds it\n" in text and "keeps.CACHE" in text


def test_run_names_the_holder(program, tmp_path):
    end = tmp_path / "end"
    job = Job(tmp_path, [sys.executable, KEEPS, end], program)
    wait(lambda: len(looks(program, job.recording, "census")) >= 2)
    end.touch()
    assert job.wait() == 0
    the_holder_is_named(program, job.recording)
    # The end of the run says it too.
    assert "held" in job.output and "keeps.CACHE" in job.output, job.output


def test_attach_names_the_holder_and_may_stop_the_job(program, tmp_path):
    end = tmp_path / "end"
    job = Job(tmp_path, [sys.executable, KEEPS, end])
    attached = Attached(tmp_path / "a", program, ["--looks", "stop", "--no-tui", str(job.process.pid)])
    wait(lambda: len(looks(program, attached.recording, "census")) >= 2)
    end.touch()
    assert job.wait() == 0
    attached.wait()
    the_holder_is_named(program, attached.recording)


def test_looks_off_looks_into_nothing(program, tmp_path):
    end = tmp_path / "end"
    job = Job(tmp_path, [sys.executable, KEEPS, end], program, flags=["--looks", "off"])
    # As long as another one would take for its first.
    wait(lambda: seconds(program, job.recording) > 10)
    end.touch()
    assert job.wait() == 0
    assert not looks(program, job.recording, "census") and not looks(program, job.recording, "mappings")
    assert explained(program, job.recording)["explanation"]["held"] is None


def seconds(program, recording):
    done = subprocess.run(
        [program, "export", str(recording), "--what", "samples", "--format", "jsonl"], capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    return json.loads(lines[-1])["t"] if lines else 0


@needs_limit
def test_a_census_that_would_take_much_of_what_is_left_is_not_taken_and_that_is_said_once(program, tmp_path):
    """150,000 objects are 54 MB: more than a tenth of what is left below 400 MB."""
    end, group = tmp_path / "end", Group(400)
    job = Job(tmp_path, [sys.executable, KEEPS, end, "150000"], program, group=group)
    said = r"no census of \d+: it would take about [\d.]+ MB, more than a tenth of the [\d.]+ MB that are left"
    job.wait_for(said)
    wait(lambda: len(looks(program, job.recording, "mappings")) >= 2)
    end.touch()
    assert job.wait() == 0, job.output
    assert job.output.count("no census of") == 1, job.output
    assert not looks(program, job.recording, "census")


@pytest.mark.parametrize("counted", [True, False])
def test_the_callback_counts_where_the_watcher_does_not(watched, counted):
    import os

    from lowtide import _counting, _link, _marks
    from lowtide._budget import Budget

    _marks.mark(step=1)
    assert _marks.watched()
    if counted:
        watched.counts_objects_of(os.getpid(), _link.own_start())
    else:
        # Another process's.
        watched.counts_objects_of(os.getpid(), 1)
    counting = _counting.Counting(Budget(share=1e9))
    assert (counting.now() is None) == counted
    assert (counting.at_end() is None) == counted
    # What a watcher said that is gone is void.
    watched.write_page(heartbeat=1)
    assert counting.now() is not None
