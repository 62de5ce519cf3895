"""The program `kipwire`: run a command, or name the missing extra in one line."""

from __future__ import annotations

from kipwire.cli.release import show_release
from kipwire.model.extras import run_with_extra


def main() -> None:
    """Run the command line. Exit status: 0 success, 1 something was found, 2 the command cannot run."""
    if not show_release("kipwire"):
        run_with_extra("kipwire", "console", "kipwire.console.app")
