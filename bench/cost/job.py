"""A tree to watch: a parent with a heap of small objects and forked workers.

`job.py MEGABYTES WORKERS [busy]` prints its pid and stays until its input ends. `busy` makes the
workers read some of the parent's heap all the time, which copies pages; else all are idle.
"""
import ctypes, os, sys, time

megabytes, workers = int(sys.argv[1]), int(sys.argv[2])
busy = "busy" in sys.argv
try:
    import torch  # a real trainer's libraries, when they are there
except ImportError:
    pass
heap = [str(i) * 8 for i in range(megabytes * 8_000)]
for number in range(workers):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, 9)  # end with the parent
        at = 0
        while True:
            if busy:
                for word in heap[at : at + 20_000]:
                    pass
                at = (at + 20_000) % len(heap)
            time.sleep(1)
print(os.getpid(), flush=True)
sys.stdin.read()
os._exit(0)
