"""lowtide: tell a memory watcher where the training loop is.

Everything here is standard library only and safe to leave in a training script: without a watcher
the calls do nothing, and with one they never raise and never wait.

    import lowtide

    lowtide.mark(step=12, epoch=0.14)       # once a step
    with lowtide.phase("eval"):             # around an evaluation or a save
        evaluate()
    if lowtide.guard():                     # should I checkpoint and stop?
        save(); raise SystemExit

`lowtide.hf`, `lowtide.lightning` and `lowtide.torch` do this for the common training loops.
"""

from ._marks import guard, mark, note, phase, record
from ._watch import watch

__all__ = ["guard", "mark", "note", "phase", "record", "watch", "__version__"]
__version__ = "0.1.0"
