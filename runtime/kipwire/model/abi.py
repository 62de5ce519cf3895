"""Contract between generated code and the runtime: the levels of generated code that this release runs.

A generated package states its level before it imports anything else from the runtime. docs/compatibility.md says what a
level is and when one is raised.
"""

from __future__ import annotations

from kipwire.model.errors import LevelError

LEVEL = 1
"""Level that this release's kipgen generates for; raised when generated code needs more than earlier releases have."""
OLDEST = 1
"""The lowest level that still runs; raised when something goes that generated code of that level needs."""


def expect_level(level: int, package: str) -> None:
    """Check that this release runs the level that a package was generated for.

    Args:
        level: the level that the package was generated for.
        package: its dotted name.

    Raises:
        LevelError: this release does not run the level; the text says what to do.
    """
    if not OLDEST <= level <= LEVEL:
        raise _mismatch(level, package)


def _mismatch(level: int, package: str) -> LevelError:
    from importlib.metadata import PackageNotFoundError, version  # here, since they are slow to import

    try:
        release = f" {version('kipwire')}"
    except PackageNotFoundError:  # a checkout on the path
        release = ""
    levels = f"levels {OLDEST} to {LEVEL}" if OLDEST < LEVEL else f"level {LEVEL} alone"
    other = "upgrade kipwire" if level > LEVEL else "install an earlier kipwire"
    return LevelError(
        f"{package} was generated for level {level} of kipwire's runtime; this is kipwire{release} with {levels}: "
        f"{other}, or generate {package} again with this release's kipgen"
    )
