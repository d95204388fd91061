"""What is worth a line while a run goes on: the process holds clearly more than was said last, or it has
not risen since. Plain facts; whether it is a leak is the watcher's to say."""

from typing import Optional

from ._host import signed, size

# Said again when it holds a quarter more, and so much at least: a run that grows for ever gets a line each
# time, ever more rarely, and one that works as it should gets one or two.
RISE_SHARE = 0.25
RISE_LEAST = 100_000_000
# Less than this is no rise: it comes and goes with the batches.
LEVEL_SHARE = 0.02
LEVEL_LEAST = 20_000_000
# A rise is over after as many steps without one as it took, and at least so many.
LEVEL_STEPS = 50


class Changes:
    """Fed with what the process holds after a step."""

    def __init__(self, step: int, held: int) -> None:
        self._began = step
        self._said_step, self._said = step, held
        self._top_step, self._top = step, held
        # A rise was told, and not yet that it is over.
        self._rising = False

    def line(self, step: int, held: int) -> Optional[str]:
        """A line when something has changed."""
        if held > self._top + max(LEVEL_LEAST, LEVEL_SHARE * self._top):
            self._top_step, self._top = step, held
        if held - self._said >= max(RISE_LEAST, RISE_SHARE * self._said):
            text = "host %s, %s since step %d" % (size(held), signed(held - self._said), self._said_step)
            if not self._rising:
                self._began = self._said_step
            self._rising = True
            self._said_step, self._said = step, held
            return text
        if self._rising and step - self._top_step >= max(LEVEL_STEPS, self._top_step - self._began):
            self._rising = False
            self._said_step, self._said = step, max(held, self._top)
            return "host %s, level: %s since step %d" % (size(held), signed(held - self._top), self._top_step)
        return None
