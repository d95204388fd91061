"""What happens on the way. Each fault is a generator: it begins at once, and ends where it yields."""

import errno
import shutil
import signal
import struct
import subprocess

HOUR = 3600 * 10**9
# Bytes that a disk has left: some frames, and a part of the next one.
ROOM = 3000

HOG = """
import os, sys, time
held = bytearray(os.urandom(1) * int(sys.argv[1]) * 1_000_000)
print(flush=True)
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.05)
"""


def kill_watcher(scene):
    scene.signal("lowtide", signal.SIGKILL)
    yield


def kill_keeper(scene):
    scene.signal("lowtide-keeper", signal.SIGKILL)
    yield


def stop_watcher(scene):
    pid = scene.signal("lowtide", signal.SIGSTOP)
    yield
    scene.go_on(pid)


def stop_keeper(scene):
    pid = scene.signal("lowtide-keeper", signal.SIGSTOP)
    yield
    scene.go_on(pid)


def disk_full(scene):
    scene.disk.room = ROOM
    yield
    scene.disk.heal()


def disk_read_only(scene):
    scene.disk.error = errno.EROFS
    yield
    scene.disk.heal()


def disk_broken(scene):
    scene.disk.error = errno.EIO
    yield
    scene.disk.heal()


def disk_slow(scene):
    scene.disk.delay = 0.3
    yield
    scene.disk.heal()


def disk_hangs(scene):
    scene.disk.answers.clear()
    yield
    scene.disk.heal()


def memory_hog(scene):
    """A neighbour in the same group takes some of what is left, and gives it back."""
    words = [scene.python, "-c", HOG, str(scene.levels.hog)]
    hog = subprocess.Popen(words, stdout=subprocess.PIPE, preexec_fn=scene.group.enter)
    scene.neighbours.add(hog.pid)
    yield
    hog.kill()
    hog.wait()


def limit_lower(scene):
    scene.group.limit(scene.levels.lower)
    yield
    scene.group.limit(scene.levels.limit)


def limit_higher(scene):
    scene.group.limit(scene.levels.higher)
    yield
    scene.group.limit(scene.levels.limit)


def lost_socket(scene):
    lose(scene, "**/marks.sock")
    yield


def lost_page(scene):
    lose(scene, "**/page")
    yield


def lost_folder(scene):
    lose(scene, "*")
    yield


def lose(scene, pattern):
    """As cleaners of /tmp do with what looks old; what a dead watcher left is no loss.

    A watcher makes again what it misses, also while this removes it: that is no error.
    """
    if scene.is_watched():
        for path in list(scene.runtime.glob(pattern)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def fork_storm(_scene):
    yield  # The job does it by itself, at that step.


def clock_forward(scene):
    scene.clock.write_bytes(struct.pack("q", 3 * HOUR))
    yield


def clock_back(scene):
    scene.clock.write_bytes(struct.pack("q", -3 * HOUR))
    yield


def judged_meanwhile(scene):
    scene.judge_meanwhile()
    yield


def begin(name, scene):
    fault = globals()[name.replace("-", "_")](scene)
    next(fault)
    return fault


def truncated(dice, content):
    return content[: dice.randrange(len(content))]


def flipped(dice, content):
    content = bytearray(content)
    for _ in range(dice.choice((1, 1, 3, 30))):
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    return bytes(content)


def damage(name, dice, content):
    return globals()[name](dice, content) if content else content
