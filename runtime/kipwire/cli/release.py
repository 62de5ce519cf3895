"""Text of `--version` about an installation."""

from __future__ import annotations

import sys
from platform import python_implementation, python_version

from kipwire import KAFKA_VERSION, __version__, native


def release_line(program: str) -> str:
    """Format the release and what it runs on: `kipgen 0.1.0 (kernel in use; CPython 3.13.0; protocol of Kafka 4.4)`."""
    kernel = "kernel in use" if native.in_use else f"kernel not in use: {native.reason}"
    python = f"{python_implementation()} {python_version()}"
    return f"{program} {__version__} ({kernel}; {python}; protocol of Kafka {KAFKA_VERSION})"


def show_release(program: str) -> bool:
    """Show the release if `--version` is all that a command line asks for, which needs no extra; whether it is."""
    if sys.argv[1:] != ["--version"]:
        return False
    sys.stdout.write(f"{release_line(program)}\n")
    return True
