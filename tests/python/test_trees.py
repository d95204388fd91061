"""The right process is found in real trees, with its reason, and helpers get their roles."""

import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest

from test_program import wait_until

HERE = pathlib.Path(__file__).parent
JOBS = HERE / "jobs"
LOWTIDE = os.environ.get("LOWTIDE_BIN", "lowtide")


def watch(tmp_path, *command):
    """Runs a command under lowtide and says what was seen: the verdict and all processes."""
    folder = tmp_path / "run"
    done = subprocess.run(
        [LOWTIDE, "run", "--interval", "200ms", "-o", folder, "--", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "LOWTIDE_HOME": str(tmp_path / "home")},
    )
    assert done.returncode == 0, done.stderr
    verdict = subprocess.run([LOWTIDE, "judge", folder, "--json"], capture_output=True, text=True)
    processes = subprocess.run(
        [LOWTIDE, "export", folder, "--what", "processes", "--format", "jsonl"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in processes.stdout.splitlines()]
    return json.loads(verdict.stdout), rows


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def roles(rows):
    """How many different processes had each role at the end."""
    last = {(row["pid"], row["start"]): row["role"] for row in rows}
    counted = {}
    for role in last.values():
        counted[role] = counted.get(role, 0) + 1
    return counted


def test_a_shell_is_never_the_one(tmp_path):
    verdict, rows = watch(tmp_path, "sh", "-c", f"{sys.executable} {JOBS / 'plain.py'}; exit $?")
    assert "plain.py" in verdict["process"]["command"]
    assert not verdict["process"]["command"].startswith("sh ")
    seen = roles(rows)
    # A sample may fall on the `ldconfig -p` that an import starts for a moment: its role is `other`.
    assert (seen["launcher"], seen["trainer"]) == (1, 1)
    assert verdict["process"]["why"]


def test_a_wrapper_with_a_trainer_and_twenty_workers(tmp_path):
    uv = tmp_path / "uv"
    uv.write_text('#!/bin/sh\nshift\n"$@"\nexit $?\n')
    uv.chmod(0o755)
    verdict, rows = watch(tmp_path, uv, "run", sys.executable, JOBS / "workers.py")
    assert verdict["process"]["role"] == "trainer"
    seen = roles(rows)
    assert seen["loader-worker"] == 20
    assert seen["trainer"] == 1
    assert seen["launcher"] >= 1


def test_torchrun_with_two_ranks(tmp_path):
    pytest.importorskip("torch")
    verdict, rows = watch(
        tmp_path, sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2",
        "--master_addr=127.0.0.1", f"--master_port={free_port()}", JOBS / "ranks.py",
    )
    assert verdict["process"]["role"] == "rank 0 of 2"
    seen = roles(rows)
    assert seen["rank"] == 2
    # torchrun itself, and now and then a helper that it starts for a moment.
    assert seen["launcher"] >= 1


def test_a_data_loader_with_four_forked_workers(tmp_path):
    pytest.importorskip("torch")
    verdict, rows = watch(tmp_path, sys.executable, JOBS / "loader.py")
    assert verdict["process"]["role"] == "trainer"
    assert verdict["axis"] == "step"
    assert roles(rows)["loader-worker"] == 4


def test_an_inductor_compile_pool(tmp_path):
    pytest.importorskip("torch")
    verdict, rows = watch(tmp_path, sys.executable, JOBS / "compile.py")
    assert verdict["process"]["role"] == "trainer"
    assert "compile.py" in verdict["process"]["command"]
    assert roles(rows)["compile-worker"] >= 3


def test_a_trainer_that_a_server_starts_late(tmp_path):
    pytest.importorskip("torch")
    verdict, _ = watch(tmp_path, sys.executable, JOBS / "server.py", JOBS / "plain.py", "30000000")
    assert "plain.py" in verdict["process"]["command"]
    assert "server.py" not in verdict["process"]["command"]


def test_workers_stay_workers_when_their_trainer_is_killed(tmp_path):
    """They linger as orphans; without their parent they look like trainers themselves."""
    code = """
import multiprocessing, os, time
def work(number):
    open("worker-%d" % number, "w").close()
    while not os.path.exists("end"): time.sleep(0.02)
for number in range(3): multiprocessing.get_context("fork").Process(target=work, args=(number,)).start()
while True: time.sleep(0.02)
"""
    env = {**os.environ, "LOWTIDE_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    job = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=env)
    wait_until(lambda: all((tmp_path / ("worker-%d" % number)).exists() for number in range(3)))
    watcher = subprocess.Popen(
        [LOWTIDE, "attach", "-q", "-i", "50ms", "-o", "run", str(job.pid)], cwd=tmp_path, env=env,
        stdout=subprocess.DEVNULL,
    )

    def exported(what):
        asked = [LOWTIDE, "export", tmp_path / "run", "--what", what, "--format", "jsonl"]
        return [json.loads(line) for line in subprocess.run(asked, capture_output=True).stdout.splitlines()]

    wait_until(lambda: roles(exported("processes")) == {"trainer": 1, "loader-worker": 3})
    job.kill()
    job.wait()
    # Several looks at the orphans alone.
    alone = lambda: {row["seq"] for row in exported("samples")} - {  # noqa: E731
        row["seq"] for row in exported("samples") if row["pid"] == job.pid
    }
    wait_until(lambda: len(alone()) >= 5)
    (tmp_path / "end").touch()
    assert watcher.wait(120) == 0
    assert roles(exported("processes")) == {"trainer": 1, "loader-worker": 3}
    judged = subprocess.run([LOWTIDE, "judge", tmp_path / "run", "--json"], capture_output=True, text=True)
    assert json.loads(judged.stdout)["process"]["pid"] == job.pid


def test_what_looks_found_outlives_a_killed_trainer(tmp_path):
    """Its orphans are looked into as well; what was seen in the trainer stays the explanation of its growth."""
    code = """
import multiprocessing, os, time
def work(number):
    kept = []
    while not os.path.exists("end"):
        kept.append(bytearray(os.urandom(1) * 20_000)); time.sleep(0.02)
workers = [multiprocessing.get_context("fork").Process(target=work, args=(number,)) for number in range(2)]
for worker in workers: worker.start()
open("ready", "w").close()
kept = []
while True:
    kept.append(bytearray(os.urandom(1) * 200_000)); time.sleep(0.02)
"""
    env = {**os.environ, "LOWTIDE_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    job = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=env)
    wait_until((tmp_path / "ready").exists)
    watcher = subprocess.Popen(
        [LOWTIDE, "attach", "-q", "-i", "200ms", "-o", "run", str(job.pid)], cwd=tmp_path, env=env,
        stdout=subprocess.DEVNULL,
    )

    def looked_into(wanted):
        asked = [LOWTIDE, "export", tmp_path / "run", "--what", "looks", "--format", "jsonl"]
        rows = map(json.loads, subprocess.run(asked, capture_output=True).stdout.splitlines())
        # A census is another kind of look, and compares with its own.
        return {(row["pid"], row["t"]) for row in rows if wanted(row["pid"]) and row["by"] == "mapping"}

    wait_until(lambda: len(looked_into(lambda pid: pid == job.pid)) >= 2)
    before = looked_into(lambda pid: True)
    job.kill()
    job.wait()
    wait_until(lambda: looked_into(lambda pid: pid != job.pid) - before)
    (tmp_path / "end").touch()
    assert watcher.wait(120) == 0
    explained = subprocess.run([LOWTIDE, "explain", tmp_path / "run"], capture_output=True, text=True).stdout
    assert "trainer (pid %d), " % job.pid in explained, explained
    assert "no two looks" not in explained, explained
    assert "P23 decoders and datasets in workers" in explained, explained
