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


@pytest.fixture
def base(program, tmp_path):
    """A server beside a run that goes on."""
    environment = {**os.environ, "LOWTIDE_HOME": str(tmp_path)}
    run = [program, "run", "-q", "-i", "100ms", "--", sys.executable, "-c", JOB]
    job = subprocess.Popen(run, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    serve = [program, "serve", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(serve, env=environment, stderr=subprocess.PIPE, text=True)
    yield re.search(r"http://[^/]+", server.stderr.readline()).group()
    server.kill()
    job.communicate()
    server.wait()


def scraped(base):
    with urllib.request.urlopen(f"{base}/metrics") as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        return {family.name: family for family in text_string_to_metric_families(answer.read().decode())}


def test_prometheus_reads_the_metrics_of_a_run(base):
    until = time.monotonic() + WITHIN
    # The steps are known last, when the job has printed them.
    while (families := scraped(base)).get("lowtide_steps") is None or families["lowtide_steps"].samples[0].value < STEPS:
        assert time.monotonic() < until, families.keys()
        time.sleep(0.1)
    samples = [sample for family in families.values() for sample in family.samples]
    assert all(name.startswith("lowtide_") for name in families)
    assert len({(s.name, *sorted(s.labels.items())) for s in samples}) == len(samples)
    assert not any("pid" in s.labels for s in samples)
    assert families["lowtide_steps"].type == "counter"
    (info,) = families["lowtide_run_info"].samples
    assert info.labels["command"].endswith(JOB)
    held = [s for s in families["lowtide_process_memory_bytes"].samples if s.labels["kind"] == "held"]
    assert sum(s.value for s in held) > 1_000_000
    classes = families["lowtide_verdict"].samples
    assert sum(s.value for s in classes) == 1
