"""`lowtide check` as CI sees it: exit codes, JUnit that parses, annotations, and what became of a baseline."""

import json
import os
import subprocess
import xml.etree.ElementTree as xml

import pytest

STEPS = 400


@pytest.fixture
def table(tmp_path):
    def write(name, level, slope):
        """A run of 400 steps, in megabytes; its floor wobbles as a real one does."""
        path = tmp_path / name
        rows = (f"{step},{level + step * slope + step * 7919 % 13 / 10:.3f}" for step in range(STEPS))
        path.write_text("step,rss_mb\n" + "\n".join(rows) + "\n")
        return path

    return write


def check(program, environment, *arguments, **more):
    environment = {**environment, **more}
    return subprocess.run(
        [program, "check", *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=60
    )


def test_what_failed_and_by_how_much_is_on_every_channel(program, environment, table, tmp_path):
    source, junit = table("a&b <\"x'>.csv", 1000, 5), tmp_path / "out.xml"
    summary = tmp_path / "summary.md"
    done = check(
        program, environment, source, "--max-peak", "2GB", "--max-rate", "1MB/step", "--min-steps", "500",
        "--junit", junit, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    rate = next(line for line in done.stdout.splitlines() if "max-rate" in line)
    assert "rises 5.00 MB/step (" in rate and "allowed 1.00 MB/step: 4.00 MB/step too much" in rate
    peak = "allowed 2.00 GB: 996 MB too much"
    assert peak in done.stdout and peak in done.stderr and peak in summary.read_text()
    assert "::error title=lowtide%3A max-rate::" in done.stderr
    assert "::warning title=lowtide%3A min-steps::" in done.stderr

    suite = xml.parse(junit).getroot().find("testsuite")
    assert suite.get("name") == f"lowtide check {source}"
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "2", "1")
    cases = {case.get("name"): case for case in suite}
    failure = cases["max-peak"].find("failure")
    assert peak in failure.get("message") and peak in failure.text
    assert failure.get("type") == "max-peak" and str(source) in failure.text and "verdict: " in failure.text
    skipped = cases["min-steps"].find("skipped")
    assert "watched until step 399 of 500 steps; 101 steps more decide it" in skipped.get("message")


@pytest.mark.parametrize(
    ("this", "other", "code", "says"),
    [
        ((3000, 0), (4480, 0), 0, "an improvement: plateau 1.48 GB lower; rate as before"),
        ((1200, 0), (1000, 0), 1, "a regression: plateau 200 MB higher; rate as before"),
        ((1000, 0), (1000, 0), 0, "no difference: plateau as before; rate as before"),
        ((1000, 0), (1000, 5), 0, "an improvement: plateau not higher; rate 5.00 MB/step lower"),
    ],
)
def test_a_baseline_says_what_changed(program, environment, table, this, other, code, says):
    source, baseline = table("this.csv", *this), table("other.csv", *other)
    done = check(program, environment, source, "--baseline", baseline)
    assert f"  against the baseline: {says}\n" in done.stdout
    assert done.returncode == code, done.stdout
    found = json.loads(check(program, environment, source, "--baseline", baseline, "--json").stdout)["findings"]
    change = {finding["criterion"]: finding["change"] for finding in found}
    assert change["no-leak"] is None and change["baseline-level"] is not None


def test_what_is_not_decided_is_said_and_exits_3(program, environment, table):
    source = table("grows.csv", 1000, 5)
    done = check(program, environment, source)
    assert done.returncode == 3, done.stdout
    assert "open no-leak: growing, not decided: rises 5.00 MB/step (" in done.stdout
    assert "--epoch-steps" in done.stdout, "what would decide it"
    assert check(program, environment, source, "--on-inconclusive", "fail").returncode == 1
    assert check(program, environment, os.path.join(source.parent, "none.csv")).returncode == 4
