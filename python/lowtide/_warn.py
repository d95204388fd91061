"""One clear warning at most for each thing that goes wrong, and never an exception."""

import functools
import sys
from typing import Any, Callable, Set, TypeVar

_said: Set[str] = set()
Function = TypeVar("Function", bound=Callable[..., Any])


def once(text: str) -> None:
    if text in _said:
        return
    _said.add(text)
    say("lowtide: " + text)


def say(text: str) -> None:
    """A line for people, on stderr, above a progress bar where there is one."""
    tqdm = sys.modules.get("tqdm")
    try:
        if tqdm is not None and getattr(tqdm.tqdm, "_instances", None):
            tqdm.tqdm.write(text, file=sys.stderr)
        else:
            print(text, file=sys.stderr, flush=True)
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
