"""`/metrics` as Prometheus' own parser reads it, of a run that goes on."""

import os
import re
import subprocess
import sys
import time
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

# A command line that would break out of a label's quotes. It tells its steps and goes on until its input ends.
JOB = 'import sys  # "} 1\n# \\evil{x="1\nfor step in range(1, 10): print(f"step {step}/9", flush=True)\nsys.stdin.read()'
STEPS = 9
WITHIN = 60
# What Python holds at the least once it runs a line; a sample may fall before that.
AN_INTERPRETER = 1_000_000


@pytest.fixture
def base(program, tmp_path):
    """A server beside a run that goes on."""
    environment = {**os.environ, "LOWTIDE_HOME": str(tmp_path)}
    run = [program, "run", "-q", "-i", "100ms", "--", sys.executable, "-c", JOB]
    job = subprocess.Popen(run, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    serve = [program, "serve", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(serve, env=environment, stderr=subprocess.PIPE, text=True)
    yield re.search(r"(http://[^/]+)/#token=(\w+)", server.stderr.readline()).groups()
    server.kill()
    job.communicate()
    server.wait()


def scraped(base):
    address, token = base
    asked = urllib.request.Request(f"{address}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        return {family.name: family for family in text_string_to_metric_families(answer.read().decode())}


def held(families):
    memory = families["lowtide_process_memory_bytes"].samples if "lowtide_process_memory_bytes" in families else []
    return sum(sample.value for sample in memory if sample.labels["kind"] == "held")


def is_told(families):
    """The job has printed all its steps, and a sample saw the interpreter that prints them."""
    steps = families.get("lowtide_steps")
    return steps is not None and steps.samples[0].value >= STEPS and held(families) > AN_INTERPRETER


def test_prometheus_reads_the_metrics_of_a_run(base):
    until = time.monotonic() + WITHIN
    while not is_told(families := scraped(base)):
        assert time.monotonic() < until, families
        time.sleep(0.1)
    samples = [sample for family in families.values() for sample in family.samples]
    assert all(name.startswith("lowtide_") for name in families)
    assert len({(s.name, *sorted(s.labels.items())) for s in samples}) == len(samples)
    assert not any("pid" in s.labels for s in samples)
    assert families["lowtide_steps"].type == "counter"
    (info,) = families["lowtide_run_info"].samples
    assert info.labels["command"].endswith(JOB)
    classes = families["lowtide_verdict"].samples
    assert sum(s.value for s in classes) == 1
