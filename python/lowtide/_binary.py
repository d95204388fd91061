"""Where the `lowtide` program is: the wheel puts it beside the interpreter's other scripts."""

import os
import shutil
import sys
import sysconfig
from typing import Optional

NAME = "lowtide"


def find() -> Optional[str]:
    """The path of the program, or None. `LOWTIDE_BIN` wins, for those who build it themselves."""
    given = os.environ.get("LOWTIDE_BIN")
    beside = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable or "")]
    candidates = [given] if given else []
    candidates += [os.path.join(folder, NAME) for folder in beside if folder]
    for path in candidates:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return shutil.which(NAME)
