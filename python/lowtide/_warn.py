"""One clear warning at most for each thing that goes wrong, and never an exception."""

import functools
import sys
from typing import Any, Callable, Set, TypeVar

# To the first column, and nothing from there on.
CLEAR_LINE = "\r\x1b[K"

_said: Set[str] = set()
Function = TypeVar("Function", bound=Callable[..., Any])


def once(text: str) -> None:
    if text in _said:
        return
    _said.add(text)
    say("lowtide: " + text)


def say(text: str) -> None:
    """A line for people, on stderr, on a line of its own: above a progress bar where there is one."""
    try:
        stream = sys.stderr
        bars = getattr(getattr(sys.modules.get("tqdm"), "tqdm", None), "_instances", None)
        if not stream.isatty():
            # In a file a bar is drawn by going on in its line, which is ended first.
            print(("\n" if bars else "") + text, file=stream, flush=True)
        elif bars:
            sys.modules["tqdm"].tqdm.write(text, file=stream)
        else:
            # A bar of another kind is drawn again by itself; where there is none this clears nothing.
            print(CLEAR_LINE + text, file=stream, flush=True)
    except Exception:
        pass  # a closed stderr is no reason to end a training run


def harmless(function: Function) -> Function:
    """What watches a training run must not end it: an error here is said once, then ignored."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            once("%s failed and is skipped: %s: %s" % (function.__qualname__, type(error).__name__, error))
            return None

    return wrapper  # type: ignore[return-value]
