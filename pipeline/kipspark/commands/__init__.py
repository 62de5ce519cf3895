"""The command line `kipspark`: each job runs on your own data, or on the samples that come with it."""

from __future__ import annotations

import logging
import sys

from kipspark.commands import captures, class_archive, compaction, conform, connector, logs, metadata, offsets
from kipspark.commands.app import app
from kipspark.reasons import SPARK_ERRORS, reason
from kipwire import KipwireError
from kipwire.tools.terminal import ERR

__all__ = [
    "app",
    "captures",
    "class_archive",
    "compaction",
    "conform",
    "connector",
    "logs",
    "main",
    "metadata",
    "offsets",
]

_INTERRUPTED = 130
"""The exit status that typer has for Ctrl-C, and for nothing else."""


def main() -> None:
    """Run the command line. An error is one message and exit status 1, Ctrl-C one and exit status 130."""
    logging.disable()  # py4j would log the same errors with tracebacks
    try:
        app()
    except (KipwireError, *SPARK_ERRORS, OSError) as error:
        ERR.print(f"kipspark: {reason(error)}")
        sys.exit(1)
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            ERR.print("kipspark: interrupted")
        raise
