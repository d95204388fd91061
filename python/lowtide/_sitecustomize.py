"""What `lowtide run --inside` puts into each Python of its job, as `sitecustomize`: starts the looks from inside.

It stands alone in a folder that is first on PYTHONPATH. It takes that folder off `sys.path`, gives way to the job's
own `sitecustomize`, and does its own work seconds later in a thread: a Python that is over by then has lost nothing.
Any Python may meet it, so it is written in the grammar of all of them, and does nothing in one that it does not know.
"""

import os
import sys

# Most Pythons of a job are short: compilers' helpers, installers.
AFTER_S = 3.0


def _put_in(here):
    import _thread

    # `gate` is released to end the wait, `done` by what waited: it has to be gone when the process forks.
    state = {"gate": None, "done": None, "started": False, "thread": 0}

    def wait(gate, done):
        try:
            state["thread"] = _thread.get_native_id()
            if not gate.acquire(timeout=AFTER_S):
                _start(here)
                state["started"] = True
        finally:
            done.release()

    def begin():
        gate, done = _thread.allocate_lock(), _thread.allocate_lock()
        gate.acquire()
        done.acquire()
        state["gate"], state["done"] = gate, done
        _thread.start_new_thread(wait, (gate, done))

    def before():
        # Once the looks have begun they see to forks by themselves.
        done, state["done"] = state["done"], None
        # None: another fork has ended the wait, and it was not begun again yet.
        if done is not None and not state["started"]:
            state["gate"].release()
            done.acquire(timeout=1.0)
            # Python 3.12 warns of a fork beside a thread, by what the kernel counts.
            for _ in range(100):
                if not os.path.exists("/proc/self/task/%d" % state["thread"]):
                    break

    def after():
        if state["done"] is None and not state["started"]:
            begin()

    after_in_parent = after
    if sys.version_info >= (3, 13):
        # That one counts threads later than it calls us: see `_quiet_thread`.
        import ctypes
        import functools

        def run(_):
            try:
                after()
            except Exception:
                pass
            return 0

        state["kept"] = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(run)
        after_in_parent = functools.partial(ctypes.pythonapi.Py_AddPendingCall, state["kept"], None)

    os.register_at_fork(before=before, after_in_parent=after_in_parent, after_in_child=after)
    begin()


def _start(here):
    try:
        try:
            # The job's own, if it has one: two of them would not know each other's steps.
            from lowtide import _inside
        except ImportError:
            if "lowtide" in sys.modules:
                return  # an older one that knows nothing of this: it is left as it is
            sys.path.append(os.path.join(here, "package"))
            from lowtide import _inside
        _inside.start(first=0.0)
    except Exception:
        pass  # then there are no looks, and the job goes on


def _give_way(here):
    """To the `sitecustomize` that would have been imported without us."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if "sitecustomize" not in sys.modules and ours is not None:
            sys.modules["sitecustomize"] = ours
        if getattr(sys.exc_info()[1], "name", None) != "sitecustomize":
            raise


def _begin():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if not path or os.path.abspath(path) != here]
    # The finder of our folder is not asked for the next one of our name.
    sys.path_importer_cache.pop(here, None)
    try:
        known = sys.version_info >= (3, 9) and sys.implementation.name == "cpython"
        if known and os.environ.get("LOWTIDE_DIR"):
            _put_in(here)
    except Exception:
        pass  # no threads here (WASI), or a name that this Python does not have
    _give_way(here)


if __name__ == "sitecustomize":
    _begin()
