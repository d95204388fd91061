"""What has to hold after every story: each check yields sentences about what did not."""

import collections
import re
import zipfile

from chaos.scene import chain
from chaos.story import DISKS, LIMITS, LOST

# Exit codes of `judge` that README documents; 4 where there is nothing to read.
ANSWERS = (0, 1, 3)
LEAK = 1
HUNG_UP = 129
REFUSED = 125  # lowtide itself failed, before anything was started


def broken(scene):
    """(sentences about what is broken, one word for what became of the job)."""
    if scene.hung:
        return ["it did not end: processes %s" % sorted(scene.alive)], "hangs"
    became, sentences = of_the_job(scene)
    for check in (output, recording, no_false_leak, costs, orphans, leftovers, no_panic):
        sentences += check(scene)
    return sentences, became


def of_the_job(scene):
    """Its result is what it would have been alone; or it was stopped, which was told, and nothing was lost."""
    story, steps = scene.story, scene.steps
    killed = story.has("kill-watcher") and scene.code == -9
    codes = [code for pid, code in scene.exits.items() if pid != scene.watcher.pid]
    # When the watcher is dead its keeper ends with the job's code, and becomes a child of ours.
    code = codes[-1] if killed and codes else scene.code
    repeated = len(steps) - len(set(steps))
    told = re.search(r"restarts?, (\d+) steps? done again", scene.stderr)
    told = int(told.group(1)) if told else 0
    if scene.result():
        sentences = []
        if scene.result() != {"steps": story.steps, "state": chain(story.steps)}:
            sentences.append("another result: %s" % scene.result())
        if set(steps) != set(range(1, story.steps + 1)):
            sentences.append("steps are missing from its trace")
        if story.steps in steps[:-1]:
            sentences.append("it was done, and was started again")
        keeper_died = story.has("kill-keeper")
        if code != story.code and not keeper_died:
            sentences.append("it ended with %s instead of %d" % (code, story.code))
        if not killed and not unsure(scene) and repeated != told:
            sentences.append("%d steps were repeated, %d were told" % (repeated, told))
        return ("finished" if not repeated else "finished, steps repeated"), sentences
    if story.has("kill-keeper") and (killed or code == HUNG_UP):
        # As a terminal that is closed: README says so. A watcher that lives has told it.
        untold = not killed and "the keeper is dead" not in scene.stderr
        return "hung up", ["the keeper's death was not told"] if untold else []
    if story.limited and killed and scene.oom_kills:
        return "out of memory without its guard", []
    if story.guard and killed:
        # It had been asked before the guard died: it saved and ended, and nobody started it again.
        at = saved(scene)
        whole = steps and at == steps[-1] and steps == list(range(1, at + 1))
        return "saved and stopped", [] if whole else ["the guard died, steps %s, saved at %s" % (steps[-3:], at)]
    if not steps and code == REFUSED and story.has(*DISKS):
        return "refused", []  # -o on a disk that takes nothing
    if story.limited and story.has(*LIMITS, *LOST, "stop-watcher", "stop-keeper"):
        words = ("last complete checkpoint is", "no complete checkpoint")
        untold = not any(word in scene.stderr for word in words)
        return "stopped, told", ["it ended with %s at step %s, untold" % (code, steps[-1:])] if untold else []
    return "no result", ["no result; it ended with %s at step %s of %d" % (code, steps[-1:], story.steps)]


def unsure(scene):
    """Some step was done in the very moment of a kill, and nobody could have counted it."""
    by_kernel = scene.group is not None and scene.oom_kills > 0
    return by_kernel or "SIGKILL" in scene.stderr or "SIGTERM" in scene.stderr


def saved(scene):
    steps = []
    for path in (scene.folder / "out").glob("step-*.pt"):
        try:
            with zipfile.ZipFile(path) as file:
                steps.append(int(file.read("state").split()[0]))
        except (zipfile.BadZipFile, KeyError, ValueError):
            pass
    return max(steps, default=0)


def output(scene):
    """What it printed came through, line by line."""
    if scene.story.has("kill-keeper"):
        return
    printed = [int(step) for step in re.findall(r"^step (\d+)/", scene.stdout, re.M)]
    if unsure(scene):
        # A step is printed before it is noted: each attempt may have been killed between the two.
        attempts = 1 + scene.stderr.count("guard: starting again from")
        extra = collections.Counter(printed) - collections.Counter(scene.steps)
        printed = scene.steps if sum(extra.values()) <= attempts else printed
    if printed != scene.steps:
        yield "it printed %d steps, %d came through" % (len(scene.steps), len(printed))


def recording(scene):
    ends = [judged for when, judged in scene.judged if when == "at the end"]
    if not ends and scene.steps and not scene.story.has(*DISKS):
        yield "no recording"
    for when, judged in scene.judged:
        can_be_empty = when != "at the end" or scene.story.has(*DISKS)
        if judged.returncode not in ANSWERS + ((4,) if can_be_empty else ()):
            yield "judge (%s) ended with %d: %s" % (when, judged.returncode, judged.stderr[-300:])


def no_false_leak(scene):
    if not scene.story.harmless:
        return
    if re.search(r"^lowtide: leak in|^\S+: LEAK", scene.stderr, re.M):
        yield "called a leak while it ran"
    for when, judged in scene.judged:
        if judged.returncode == LEAK:
            yield "called a leak (%s)" % when


# Bytes. A watcher has 2 MB for frames that wait, its series, and what a look at the job takes: 7 to 10 MB as released
# and 16 MB as built for tests, most of it the program itself. A census of these jobs, of some 60,000 objects at 320 bytes
# while it lasts, adds 20 MB. Twice all that is something that grows. The keeper is the same program, of which it
# touches less.
LARGEST = {"lowtide": 72 << 20, "lowtide-keeper": 16 << 20}
# Seconds of processor time: what starting, judging and telling at the end take, and a share of the time that it ran.
# Twenty ticks a second take 4 % of a core as built for tests; a loop that spins takes what it gets.
CPU_AT_ALL = 1.0
CPU_SHARE = {"lowtide": 0.2, "lowtide-keeper": 0.05}


def costs(scene):
    for spent in scene.spent.values():
        # The keeper has the watcher's name until it has begun.
        name = spent.name if spent.name in LARGEST else "lowtide"
        if spent.peak > LARGEST[name]:
            yield "%s took %.1f MB" % (spent.name, spent.peak / 1e6)
        if spent.cpu > CPU_AT_ALL + CPU_SHARE[name] * scene.seconds:
            yield "%s took %.2f s of CPU in %.1f s" % (spent.name, spent.cpu, scene.seconds)


def orphans(scene):
    if scene.alive:
        yield "still alive: %s" % sorted(scene.alive)


def leftovers(scene):
    if scene.left:
        yield "left behind: %s" % ", ".join(scene.left)


def no_panic(scene):
    texts = [scene.stderr] + [judged.stderr for _, judged in scene.judged]
    for text in texts:
        for line in re.findall(r".*panicked at.*", text):
            yield line


def cost(scene):
    """Processor time and peak of our processes, by name."""
    all_of = collections.defaultdict(lambda: [0.0, 0])
    for spent in scene.spent.values():
        entry = all_of[spent.name]
        entry[0] += spent.cpu
        entry[1] = max(entry[1], spent.peak)
    return {name: {"cpu": round(cpu, 2), "peak": peak} for name, (cpu, peak) in all_of.items()}
