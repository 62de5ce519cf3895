"""What the command lines kipwire and kipgen have in common: how they say why a command cannot run."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import NoReturn

from kipwire.tools.lines import print_err
from kipwire.tools.printable import printable_line


def fail(*lines: str) -> NoReturn:
    """Say why a command cannot run, each text on a line of its own, and exit with 2."""
    for number, line in enumerate(lines):
        print_err(*([("kipgen: ", "red")] if not number else []), one_line(line))
    sys.exit(2)


def system_error(error: OSError) -> str:
    """An error of the system in one line, with what is in the way where the system's own words leave that open."""
    if not isinstance(error.filename, str):
        return error.strerror or str(error)
    path = Path(error.filename)
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        for part in (*reversed(path.parents), path):
            if os.path.lexists(part) and not part.is_dir():
                return f"{part}: is a file; a folder is needed"
    if error.errno == errno.ENOENT and not path.parent.exists():
        return f"{path}: the folder {path.parent} does not exist"
    return f"{path}: {error.strerror or error}"


def one_line(text: object) -> str:
    """A path or a name for a message: always one line."""
    return printable_line(str(text))
