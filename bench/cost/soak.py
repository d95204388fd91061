"""The tree of `soak`: a trainer with a saw-tooth of memory and three workers, one of which is replaced all the time.

Prints its pid and stays until its input ends; workers end with it.
"""
import os, select, sys, time

MEGABYTE = 1_000_000


def worker():
    ours, its = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(its)
        memory = bytearray(os.urandom(1) * 2 * MEGABYTE)
        os.read(ours, 1)
        os._exit(len(memory) % 2)
    os.close(ours)
    return pid, its


workers = [worker() for _ in range(3)]
teeth = []
print(os.getpid(), flush=True)
while not select.select([sys.stdin], [], [], 0.02)[0]:
    teeth.append(bytearray(os.urandom(1) * MEGABYTE))
    if len(teeth) > 20:
        teeth.clear()
        # The youngest: older ones hold its sisters' pipes open.
        pid, pipe = workers.pop()
        os.close(pipe)
        os.waitpid(pid, 0)
        workers.append(worker())
os._exit(0)
