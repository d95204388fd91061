"""Which code adds to a holder and which empties it, by bytecode, against the syntax tree, on every CPython that can be had.

The job's functions have run a thousand times: their instructions are the specialized ones by then.
"""

import contextlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from interpreters import plain_cpythons

PLACE = Path(__file__).resolve().parent / "writers"
sys.path.insert(0, str(PLACE))
from truth import Site, sites  # noqa: E402

JOB = PLACE / "job.py"
# What share of all places has to be found. What is found has to be there, always.
ENOUGH = 0.95
WITHIN = re.compile(r"(\.<locals>)?\.?<(listcomp|setcomp|dictcomp|genexpr|lambda)>$")


@pytest.fixture(scope="session")
def example():
    build = ["cargo", "build", "--quiet", "-p", "lowtide-census", "--example", "writers"]
    subprocess.run(build, cwd=ROOT, check=True)
    return ROOT / "target" / "debug" / "examples" / "writers"


@contextlib.contextmanager
def started(interpreter, job, *arguments):
    """A job that has come to where it waits."""
    command = interpreter.command(job, *arguments)
    environment = {**interpreter._clean_environment(), **interpreter.extra}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def asked(example, process, holders):
    """The rows that are told of each holder."""
    lines = "\n".join(" ".join(holder) for holder in holders)
    told = subprocess.run([example, str(process.pid)], input=lines, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return [line.split("\t") for line in told.stdout.splitlines()]


def asked_of(interpreter, example, job, holders, *arguments):
    with started(interpreter, job, *arguments) as process:
        return asked(example, process, holders)


def holders_of(truth):
    """As they are asked for, and all that nothing is done to."""
    holders = {("attribute", "Metrics", site.holder[1]) for site in truth if site.holder[0] == "attribute"}
    holders |= {("global", "__main__", site.holder[1]) for site in truth if site.holder[0] == "global"}
    holders |= {site.holder for site in truth if site.holder[0] == "variable"}
    nothing = {("attribute", "Metrics", "never"), ("attribute", "Metrics", "maybe"), ("global", "__main__", "LEFT_ALONE")}
    nothing |= {("attribute", "Metrics", "assigned")}
    return sorted(holders | nothing | {("variable", "local_deleted", "caught")})


def compared(rows, truth, holders):
    """(found, missing, false, unread)"""
    kinds = {holder[1:]: holder[0] for holder in holders}
    claimed, unread = [], 0
    for owner, name, word, *rest in rows:
        assert word != "none", (owner, name)
        if word == "unread":
            unread += int(rest[0])
        if word in ("adds", "empties"):
            how, file, line, function = rest
            assert Path(file).name == JOB.name
            kind = kinds[owner, name]
            holder = ("variable", owner, name) if kind == "variable" else (kind, name)
            claimed.append((holder, word, how, int(line), WITHIN.sub("", function)))
    found, false = set(), []
    for claim in claimed:
        holder, word, how, line, function = claim
        fits = [
            site
            for site in truth
            if (site.holder, site.does, site.how, site.function) == (holder, word, how, function) and site.first <= line <= site.last
        ]
        found.update(fits)
        if not fits:
            false.append(claim)
    return found, [site for site in truth if site not in found], false, unread


def checked(interpreter, example, *arguments, enough=ENOUGH):
    truth = sites(JOB.read_text())
    holders = holders_of(truth)
    rows = asked_of(interpreter, example, JOB, holders, *arguments)
    found, missing, false, unread = compared(rows, truth, holders)
    print("%-40s %3d of %3d places, %d false, %d unread" % (interpreter, len(found), len(set(truth)), len(false), unread))
    for site in missing:
        print("    missing:", site)
    assert not false, false
    assert len(found) >= enough * len(set(truth)), missing
    return unread


@pytest.mark.parametrize("interpreter", plain_cpythons(), ids=str)
def test_every_place_is_found_and_none_that_is_not_there(interpreter, example):
    assert checked(interpreter, example) == 0


@pytest.mark.parametrize("interpreter", plain_cpythons(), ids=str)
def test_profiled_code_is_read(interpreter, example):
    assert checked(interpreter, example, "--profile") == 0


@pytest.mark.parametrize("interpreter", plain_cpythons(), ids=str)
def test_traced_code_is_read_or_left_out_and_counted(interpreter, example):
    # From 3.12 on a tracer's instructions stand in the place of what they trace.
    hidden = int(interpreter.version.split(".")[1]) >= 12
    unread = checked(interpreter, example, "--trace", enough=0 if hidden else ENOUGH)
    assert (unread > 0) == hidden


@pytest.mark.parametrize("interpreter", plain_cpythons(), ids=str)
def test_the_table_of_instructions_is_the_interpreters_own(interpreter):
    told = subprocess.run(
        interpreter.command(PLACE / "opcodes.py"), env=interpreter._clean_environment(), capture_output=True, text=True, check=True
    ).stdout
    table = (ROOT / "crates" / "lowtide-census" / "src" / "writers" / "tables.rs").read_text()
    assert told in table


def test_the_truth_is_worth_something():
    truth = set(sites(JOB.read_text()))
    assert len(truth) > 150
    assert {site.does for site in truth} == {"adds", "empties"}
    assert len({site.function for site in truth}) > 60


# What bytecode shows and this syntax tree does not: a `def` that gives a name anew, `:=` in a generator, a module's global
# by another file. Each was looked at: 2 to 5 of some 5,800 places.
DIFFERENT = 0.001


def own_truth(interpreter, files):
    """By the interpreter itself: others do not know all of its syntax."""
    tell = "\nimport json\nread = lambda file: sites(open(file, encoding='utf-8', errors='replace').read())"
    tell += "\nprint(json.dumps({file: [list(vars(site).values()) for site in read(file)] for file in %r}))" % files
    told = json.loads(interpreter.run((PLACE / "truth.py").read_text() + tell))
    return {file: {Site(tuple(holder), *rest) for holder, *rest in rows} for file, rows in told.items()}


@pytest.mark.parametrize("interpreter", plain_cpythons(), ids=str)
def test_code_that_was_written_by_others(interpreter, example):
    """Variables and globals of the standard library's functions, by name."""
    modules, functions = {}, {}
    with started(interpreter, PLACE / "library.py") as process:
        while (line := process.stdout.readline()) != "end\n":
            if line.startswith("module"):
                _, name, file = line.split()
                modules[file] = name
            else:
                _, name, file = line.rstrip("\n").split("\t")
                functions[name] = file
        truth = own_truth(interpreter, sorted(modules))
        holders = {}
        for file, found in truth.items():
            for site in found:
                if site.holder[0] == "global":
                    holders["global", modules[file], site.holder[1]] = (file, site.holder)
                elif site.holder[0] == "variable" and functions.get(site.holder[1]) == file:
                    holders[site.holder] = (file, site.holder)
        rows = asked(example, process, sorted(holders))
    by_name = {holder[1:]: place for holder, place in holders.items()}
    told, right, found = 0, 0, set()
    for owner, name, word, *rest in rows:
        if word not in ("adds", "empties"):
            continue
        how, file, line, _ = rest
        if file not in truth:
            continue
        told += 1
        fits = {site for site in truth[file] if site.holder == by_name[owner, name][1] and (site.does, site.how) == (word, how)}
        fits = {site for site in fits if site.first <= int(line) <= site.last}
        right += bool(fits)
        found |= {(file, site) for site in fits}
    every = {(file, site) for file, holder in holders.values() for site in truth[file] if site.holder == holder}
    every = {(file, site) for file, site in every if functions.get(site.function) == file}
    print("%-40s %d of %d found, %d of %d others" % (interpreter, len(every & found), len(every), told - right, told))
    assert told > 2000
    assert told - right <= DIFFERENT * told
    assert len(every & found) >= ENOUGH * len(every)
