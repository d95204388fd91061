"""The interpreters that other tests look into: they start, run the jobs, and what cannot be had is said."""

import subprocess

import distributions
import interpreters as provider
import pytest
from conftest import ROOT
from inside.judge import Log

JOBS = ROOT / "tests" / "python" / "jobs"


@pytest.mark.parametrize("tqdm", ["newest", "older"])
@pytest.mark.parametrize(
    ("job", "arguments", "steps"),
    [
        ("standin_trainer.py", ["--steps=5", "--epochs=2.5", "--accumulate=2", "--evaluate-every=3"], 8),
        ("tqdm_loop.py", ["--steps=6", "--epochs=2"], 12),
    ],
)
def test_jobs_run_everywhere_and_log_their_steps(interpreters, job, arguments, steps, tqdm, tmp_path):
    wrong = {}
    for each in interpreters:
        if each.kind == "micropython":
            continue  # has neither dataclasses nor tqdm
        log = each.folder(tmp_path) / "log"
        log.unlink(missing_ok=True)
        command = each.command(JOBS / job, "--seconds=0.001", "--log", each.inside(log), *arguments)
        done = subprocess.run(command, env=each.environment(tqdm), capture_output=True, text=True, timeout=60)
        counters = list(Log.read(log).counters.values()) if done.returncode == 0 else []
        if [(len(counter.steps), counter.total) for counter in counters] != [(steps, [steps])]:
            wrong[str(each)] = done.stderr[-300:] or counters
    assert not wrong


def test_every_interpreter_is_what_it_says(interpreters):
    for each in interpreters:
        if each.kind != "micropython":
            told = each.run("import sys; print('%d.%d.%d' % sys.version_info[:3])").strip()
            assert told == each.version, each


def test_what_is_missing_has_a_reason(interpreters):
    found = {each.version.rpartition(".")[0] for each in interpreters if each.kind == "cpython"}
    for version in provider.VERSIONS:
        assert version in found or provider.missing()["CPython " + version]
    assert all(provider.missing().values())


def test_a_mirror_that_fails_leaves_a_reason_and_nothing_half_made(monkeypatch, tmp_path):
    monkeypatch.setattr(provider, "PLACE", tmp_path)
    monkeypatch.setattr(provider, "_must_be_enterable", lambda: None)
    asked = []

    def nobody_there():
        asked.append(1)
        return "debian", "http://127.0.0.1:9/debian", "/nonexistent"

    monkeypatch.setattr(distributions, "own_mirror", nobody_there)
    for _ in range(2):
        with pytest.raises(distributions.Unavailable):
            provider._root("debian-sid", ["3.15"])
    left = sorted(path.name for path in tmp_path.iterdir())
    # Asked once: the second test process does not wait again.
    assert len(asked) == 1 and left == [".lock", "debian-sid.unavailable"], left


def test_a_package_that_does_not_unpack_is_thrown_away(monkeypatch, tmp_path):
    monkeypatch.setattr(provider, "PLACE", tmp_path)
    monkeypatch.setattr(provider, "_must_be_enterable", lambda: None)

    class HalfWay:
        def __init__(self, *_):
            pass

        def has(self, _package):
            return True

        def unpack(self, _packages, root):
            (root / "usr").mkdir()
            raise distributions.Unreachable("the mirror went away")

    monkeypatch.setattr(provider, "Apt", HalfWay)
    with pytest.raises(distributions.Unavailable, match="went away"):
        provider._root("debian-sid", ["3.15"])
    assert not (tmp_path / "debian-sid").exists()
    assert not list(tmp_path.glob(".making-*"))
