"""The program `kipwire`: run a command, or name the missing extra in one line."""

from __future__ import annotations

import sys

from kipwire.console.release import show_release
from kipwire.model.extras import run_with_extra


def main() -> None:
    """Run the command line. Exit status: 0 success, 1 something was found, 2 the command cannot run."""
    if not show_release("kipwire"):
        try:
            run_with_extra("kipwire", "console", "kipwire.console.app")
        except KeyboardInterrupt:  # before a command could take it, while modules are imported
            sys.stderr.write("kipwire: interrupted\n")
            sys.exit(130)
