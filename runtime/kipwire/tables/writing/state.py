"""The state of exports: what was read up to now, and which files have its rows.

It is written when the files of a round are on the disk, and before readers see them: that moment decides. A run that is
killed before it has written nothing, since the files are removed; a run that is killed after it has written all, since
the next run shows the files. A lock keeps a second run away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from kipwire.tables.errors import JobError
from kipwire.tables.sources.changing_logs.checkpoints import Reached, document, parse_checkpoint
from kipwire.tools import locks
from kipwire.tools.atomic import replace_durably
from kipwire.tools.files import read_regular

_VERSION = 1
_LARGEST = 1 << 28
"""Bytes of a state; a partition takes some hundred."""


class State(NamedTuple):
    """The work that runs have done."""

    of: Mapping[str, Any]
    """The arguments of the first run, which no later run may change."""
    round: int = 0
    """Number of the last round that has written files."""
    reached: Reached = Reached()
    """The next offsets, by folder or by partition."""
    topics: Mapping[str, str] = {}
    """Ids of topics of brokers."""
    files: tuple[str, ...] = ()
    """Files of the last round, which readers may not see yet."""


@contextmanager
def locked(lock: Path, what: Path) -> Iterator[None]:
    """Keep other runs from using something while the block runs; see `kipwire.tools.locks.locked`.

    Raises:
        JobError: a run is using it.
        OSError: there is no such folder, or it cannot be written to.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.locked(lock, what))
        except BlockingIOError as error:
            raise JobError(f"{what}: {error.strerror}") from None
        yield


def read_state(file: Path) -> State | None:
    """Read a state; None if there is none.

    Raises:
        JobError: it is something else, or a later release has written it.
        OSError: it cannot be read.
    """
    try:
        content = read_regular(file, _LARGEST)
    except FileNotFoundError:
        return None
    try:
        found = json.loads(content)
        version = found["kipwire_export"]
        if isinstance(version, int) and version > _VERSION:
            raise JobError(f"{file}: a later release of kipwire has written this state; use that release")
        names = found["files"]
        if version != _VERSION or not isinstance(found["of"], dict) or not isinstance(names, list):
            raise ValueError
        if any(Path(name).is_absolute() or ".." in Path(name).parts for name in names):
            raise ValueError
        topics = {str(name): str(id_) for name, id_ in found["topics"].items()}
        return State(found["of"], int(found["round"]), parse_checkpoint(found["reached"]), topics, tuple(names))
    except JobError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise JobError(f"{file}: is not a state that kipwire has written; give the name of a new file") from None


def write_state(file: Path, state: State) -> None:
    """Replace a state, so that it is on the disk, whole, when this returns.

    Raises:
        OSError: it cannot be written.
    """
    content = {
        "kipwire_export": _VERSION,
        "of": state.of,
        "round": state.round,
        "reached": document(state.reached),
        "topics": dict(state.topics),
        "files": list(state.files),
    }
    replace_durably(file, json.dumps(content, indent=1, ensure_ascii=True))


_WORDS = {"out": "wrote to", "source": "read"}
_SHOWN = 200
"""Characters of a difference that an error shows."""


def expect_same(file: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Check that a run asks for what the runs before have asked for.

    Raises:
        JobError: it does not.
    """
    for key in dict.fromkeys((*now, *before)):
        if before.get(key) != now.get(key):
            word = _WORDS.get(key, f"had other {key}:")
            theirs, ours = _first_difference(before.get(key), now.get(key))
            raise JobError(
                f"{file}: the runs of this state {word} {theirs}, this one {ours}; give another --state and --out"
            )


def _first_difference(before: Any, now: Any) -> tuple[str, str]:
    if isinstance(before, list) and isinstance(now, list):
        pairs = zip_longest(before, now)
        before, now = next((one, other) for one, other in pairs if one != other)
    return _shown(before), _shown(now)


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
