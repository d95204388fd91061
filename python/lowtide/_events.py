"""A base for callbacks of the Hugging Face Trainer that does not import transformers.

The Trainer calls every event on every callback, by name: the events that a subclass does not
define do nothing, and so do those that a later version of the Trainer adds.
"""

from typing import Any, Callable


def _nothing(*_: Any, **__: Any) -> None:
    return None


class Events:
    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("on_"):
            return _nothing
        raise AttributeError("%r has no attribute %r" % (type(self).__name__, name))
