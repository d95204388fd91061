"""A large process that measures its own page faults: `faults.py GIGABYTES`.

Each line of input starts a measurement of ten seconds: fresh pages are touched one by one, and the
time of each touch is taken. Prints quantiles in microseconds.
"""
import json, mmap, os, sys, time

size = int(sys.argv[1]) << 30
resident = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
resident.madvise(mmap.MADV_NOHUGEPAGE)
for offset in range(0, size, 4096):
    resident[offset] = 1
print(os.getpid(), flush=True)
for _ in sys.stdin:
    times = []
    end = time.perf_counter() + 10
    while time.perf_counter() < end:
        fresh = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        fresh.madvise(mmap.MADV_NOHUGEPAGE)
        for offset in range(0, len(fresh), 4096):
            began = time.perf_counter_ns()
            fresh[offset] = 1
            times.append(time.perf_counter_ns() - began)
        fresh.close()
        time.sleep(0.002)
    times.sort()
    at = lambda share: times[min(len(times) - 1, int(share * len(times)))] / 1000
    print(json.dumps({"p50": at(0.5), "p99": at(0.99), "p999": at(0.999), "max": times[-1] / 1000}), flush=True)
os._exit(0)
