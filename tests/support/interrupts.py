"""What a child process does with Ctrl-C."""

from __future__ import annotations

import signal


def heed_interrupts() -> None:
    """Let Ctrl-C reach a child of tests that run in the background, where shells have it ignored; for `preexec_fn`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
