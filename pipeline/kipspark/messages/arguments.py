"""Check a user's arguments, before Spark starts any task."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from kipspark.errors import MODES, JobError, Mode
from kipspark.messages.all_versions import all_versions_type
from kipspark.messages.decoding import decode
from kipspark.messages.selection import Selection


def checked_selection(package: str, message: str, version: int | None, fields: Iterable[str] | None) -> Selection:
    """The selection that arguments describe, checked.

    Raises:
        JobError: the package cannot be imported, a field does not exist, or the bytes do not include a version.
        UnsupportedVersionError: there is no such message, or not in that version.
    """
    if isinstance(fields, str):
        raise JobError(f"fields must be a list of paths, not a string: [{fields!r}]")
    selection = Selection(package, message, version, None if fields is None else tuple(fields))
    all_versions_type(selection)
    decode(selection, pa.array([], pa.binary()))
    return selection


def checked_mode(mode: str) -> Mode:
    """One of the modes, given in any case.

    Raises:
        JobError: it is none of them; the text says which they are.
    """
    for known in MODES:
        if mode.upper() == known:
            return known
    raise JobError(f"mode must be {' or '.join(MODES)}, not {mode!r}")
