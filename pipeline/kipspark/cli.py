"""The command `kipspark`; if an extra is missing, it prints the name of the extra in one line."""

from __future__ import annotations

from kipwire.cli.release import show_release
from kipwire.model.extras import run_with_extra


def main() -> None:
    """Run the command line. Exit status: 0 success, 1 an error, 2 the command cannot run."""
    if not show_release("kipspark"):
        run_with_extra("kipspark", "spark", "kipspark.commands")
