"""What `lowtide export` writes is read by pandas and DuckDB, alike in every format."""

import json
import os
import subprocess
import sys

import duckdb
import pandas
import pytest

LOWTIDE = os.environ.get("LOWTIDE_BIN", "lowtide")
TABLES = ["samples", "marks", "processes", "node", "cgroups"]
FORMATS = ["csv", "jsonl", "parquet"]

# Holds 1 MB more at every step, and a comma and a quote are in its command line.
JOB = """
import time
held, odd = [], 'a "b", c'
for step in range(1, 11):
    held.append(bytearray(1_000_000))
    print(f"step {step}/10", flush=True)
    time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a run, recorded for real."""
    home = tmp_path_factory.mktemp("home")
    folder = tmp_path_factory.mktemp("out") / "run"
    subprocess.run(
        [LOWTIDE, "run", "--interval", "50ms", "-o", folder, "--", sys.executable, "-c", JOB],
        check=True,
        env={**os.environ, "LOWTIDE_HOME": str(home)},
    )
    return folder


def export(folder, what, format):
    target = folder / f"{what}.{format}"
    subprocess.run([LOWTIDE, "export", folder, "--what", what, "-o", target], check=True)
    return target


def by_pandas(path):
    match path.suffix:
        case ".csv":
            return pandas.read_csv(path, parse_dates=["time"] if "time" in header(path) else [])
        case ".jsonl":
            frame = pandas.DataFrame(json.loads(line) for line in path.read_text().splitlines())
            if "time" in frame:
                frame["time"] = pandas.to_datetime(frame["time"], format="ISO8601")
            return frame
        case ".parquet":
            return pandas.read_parquet(path)


def header(path):
    return path.open().readline().strip().split(",")


@pytest.mark.parametrize("what", TABLES)
def test_pandas_reads_the_same_from_every_format(folder, what):
    csv, jsonl, parquet = (by_pandas(export(folder, what, format)) for format in FORMATS)
    if what != "cgroups":  # a machine may have no memory controller
        assert len(parquet) > 0
    assert list(csv.columns) == list(jsonl.columns) == list(parquet.columns) or len(jsonl) == 0
    assert len(csv) == len(jsonl) == len(parquet)
    for column in parquet.columns if len(parquet) else []:
        for other in (csv, jsonl):
            expected, found = parquet[column], other[column]
            assert (expected.isna() == found.isna()).all(), column
            assert list(expected.dropna()) == list(found.dropna()), column


def test_samples_tell_the_story_of_the_job(folder):
    samples = pandas.read_parquet(export(folder, "samples", "parquet"))
    trainer = samples[samples["watched"]]
    assert trainer["pid"].nunique() == 1
    assert trainer["t"].is_monotonic_increasing
    assert str(samples["time"].dtype).startswith("datetime64[us, UTC")
    assert (samples["rss"] == samples["anon"] + samples["file"] + samples["shmem"]).all()
    assert (samples["held"] == samples["anon"] + samples["shmem"] + samples["swap"]).all()
    # Not the last row: it may have been read while the process was being taken down.
    assert trainer["held"].max() - trainer["held"].min() > 5_000_000
    assert trainer["step"].max() >= 9
    marks = pandas.read_parquet(export(folder, "marks", "parquet"))
    assert list(marks["step"].dropna().drop_duplicates()) == list(range(1, 11))


@pytest.mark.parametrize("format", FORMATS)
def test_duckdb_reads_and_joins_the_tables(folder, format):
    samples, processes = (export(folder, what, format) for what in ("samples", "processes"))
    rows = duckdb.sql(
        f"""
        select p.command, max(s.held) as held, any_value(p.peak_held) as peak
        from '{samples}' s join '{processes}' p on s.pid = p.pid and s.start = p.start
        group by p.command order by held desc
        """
    ).fetchall()
    command, held, peak = rows[0]
    assert 'a "b", c' in command
    assert held == peak > 10_000_000
