"""What the callback may take of a run, kept from the first look on.

A look is taken only when all that was spent before and what this one is expected to take stay within
the share of the time that has passed. Spending is processor time of the loop's thread, and the run's time is what
its process has had of the processors, or the time that has passed if that is less: beside others on a busy machine
the loop gets a part of the time only, and we may take our share of that part.
"""

import time
from typing import Callable

# The promise of the documentation.
SHARE = 0.01
# A mark takes microseconds (11 us when it is sent); what took longer was somebody else's turn on the processor.
MARK_MOST_S = 0.0001


class Budget:
    def __init__(
        self,
        share: float = SHARE,
        clock: Callable[[], float] = time.perf_counter,
        used: Callable[[], float] = time.process_time,
        work: Callable[[], float] = time.thread_time,
    ) -> None:
        self.share = share
        self.spent = 0.0
        self.slowest = 0.0
        self._clock, self._used, self._work = clock, used, work
        self._began = clock(), used()

    def ran(self) -> float:
        clock, used = self._began
        return min(self._clock() - clock, self._used() - used)

    def allows(self, cost: float) -> bool:
        """Is there room for something that takes so many seconds?"""
        return self.spent + cost <= self.share * self.ran()

    def marked(self, seconds: float) -> None:
        """Enters a mark, by the clock on the wall: asking for the thread's own time is a system call, which on some
        machines takes as long as the mark."""
        self.spent += min(seconds, MARK_MOST_S)

    def start(self) -> float:
        return self._work()

    def since(self, started: float) -> float:
        return self._work() - started

    def stop(self, started: float) -> float:
        """Enters what was done since `start`, and says how long that took."""
        took = self.since(started)
        self.spent += took
        self.slowest = max(self.slowest, took)
        return took
