"""Contract between generated code and the runtime: the levels of generated code that this release runs.

A generated package states its level before it imports anything else from the runtime. docs/compatibility.md says what a
level is and when one is raised.

Code that users have generated runs with later releases. So a name, an argument or a meaning that generated code relies
on stays while its level runs, and what the generator newly needs is a new level:

1. Raise `LEVEL`, once between two releases, and complete the table in docs/compatibility.md. Later additions join that
   level: remove its package and `kept.json`, and make both again.
2. Copy the specs of the last level in `tests/data`, and add the news as fields of their messages: the tests know the
   names of the messages. The tests know, too, that the kernel serves all of them, so leave out what it does not know.
   `python -m tests.support.level_checks` then keeps a package of the new level there, with its behaviour. Commit it,
   and never make it again after the release: `tests/generator/package/test_generated_levels.py` runs all of them.
3. `make generate`: every package says its level.

To drop old levels, raise `OLDEST` and remove the packages of the levels below.
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
