"""Verdicts on real runs of examples/vision. No flag is given: all context comes from the run."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")

from conftest import PACKAGE, ROOT  # noqa: E402
from vision import EARLY_STEP, KEPT_EPOCH, TRAIN, judge  # noqa: E402

sys.path.insert(0, str(ROOT / "bench" / "explain"))
import table  # noqa: E402

RATED = ["list", "collator", "native", "graph-aux"]


def test_kept_pictures_are_too_early_to_call_in_the_first_epoch(recordings):
    run = recordings["kept"]
    early = run.verdict_at(EARLY_STEP)
    assert early["verdict"] == "too-early", (early, run)
    assert early["leaking"] is None
    # At the end of the epoch, or as much later as it takes to see that growth has ended.
    assert KEPT_EPOCH <= early["decides_at"] <= 1.5 * KEPT_EPOCH, (early, run)
    # The prediction holds: what came is within 5 % of it.
    assert early["predicted_plateau"] == pytest.approx(run.verdict["plateau"], rel=0.05), run


def test_kept_pictures_are_a_warm_up_by_new_examples(recordings):
    run = recordings["kept"]
    verdict = run.verdict
    assert verdict["verdict"] == "warm-up" and verdict["leaking"] is False, run
    assert verdict["growth"]["driver"] == "new-example", run
    assert verdict["growth"]["per_unit"] == pytest.approx(run.decoded, rel=0.10), run
    # One sample a second, and steps of about half a second: the end is known to a few steps.
    assert verdict["settled_at"] == pytest.approx(KEPT_EPOCH, abs=3), run
    assert verdict["axis"] == "step" and verdict["process"]["role"] == "trainer"


def test_kept_pictures_without_the_callback(recordings):
    run = recordings["kept-no-callback"]
    assert run.verdict["verdict"] == recordings["kept"].verdict["verdict"], run
    assert run.verdict["axis"] == "step", run


def test_pictures_on_demand_are_stable(recordings):
    assert recordings["on-demand"].verdict["verdict"] == "stable", recordings["on-demand"]


def test_evaluations_are_spikes(recordings):
    run = recordings["eval"]
    assert run.verdict["verdict"] == "spikes", run
    assert run.verdict["leaking"] is False


@pytest.mark.parametrize("name", RATED)
def test_a_leak_is_found_with_its_rate(recordings, name):
    run = recordings[name]
    assert run.verdict["verdict"] == "leak" and run.verdict["leaking"] is True, run
    assert run.verdict["rate"]["unit"] == "bytes/step", run
    assert run.verdict["rate"]["value"] == pytest.approx(run.leaked, rel=0.10), run


def test_a_leak_without_the_callback(recordings):
    run = recordings["list-no-callback"]
    assert run.verdict["verdict"] == "leak", run
    assert run.verdict["rate"]["unit"] == "bytes/step", run
    assert run.verdict["rate"]["value"] == pytest.approx(run.leaked, rel=0.10), run


def test_a_kept_graph_is_a_leak_or_too_early_with_the_reason(recordings):
    run = recordings["graph"]
    assert run.verdict["verdict"] in ("leak", "too-early"), run
    if run.verdict["verdict"] == "too-early":
        assert run.verdict["evidence"], run


def test_a_leaking_worker_is_named(recordings):
    run = recordings["worker"]
    assert run.verdict["verdict"] == "leak", run
    assert "worker" in run.verdict["process"]["role"], run


def test_a_growing_log_history_is_a_leak(recordings):
    run = recordings["log-history"]
    assert run.verdict["verdict"] == "leak", run
    assert run.verdict["rate"]["value"] == pytest.approx(run.leaked, rel=0.10), run


@pytest.mark.parametrize("name", sorted(n for n, row in table.EXPECTED["vision"].items() if row.get("asserted", True)))
def test_the_explanation_names_driver_memory_and_cause(recordings, name):
    run = recordings[name]
    found = judge(run.program, run.folder, verb="explain")
    off, _ = table.faults(found, table.EXPECTED["vision"][name])
    assert not off, (off, found["explanation"], run)


def losses(output):
    return [line.split("'loss': ")[1].split(",")[0] for line in output.splitlines() if "{'loss': " in line]


def train(tmp_path, *flags):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(TRAIN), "--out", str(tmp_path / "out"), "--threads", "1", "--every", "0", *flags],
        env=environment, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_a_resumed_run_goes_on_as_if_it_had_not_stopped(tmp_path):
    """Same seed, same threads, no random numbers in the data: the losses are the same numbers."""
    whole = losses(train(tmp_path / "a", "--steps", "10"))
    assert len(whole) == 2
    train(tmp_path / "b", "--steps", "10", "--save-every", "5")
    for later in (tmp_path / "b" / "out").glob("checkpoint-10"):
        later.rename(tmp_path / "b" / "later")
    resumed = train(tmp_path / "b", "--steps", "10", "--resume")
    assert "done: 5 steps" in resumed
    assert losses(resumed) == whole[1:]


def test_resume_without_a_checkpoint_starts_anew(tmp_path):
    output = train(tmp_path, "--steps", "2", "--resume")
    assert "starting at step 0" in output and "done: 2 steps" in output
