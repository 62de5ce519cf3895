"""What a user asks for, checked before Spark starts any task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import pyarrow as pa

from kipspark.errors import JobError
from kipspark.messages.choice import Choice
from kipspark.messages.decoding import decode
from kipspark.messages.union import union_type
from kipspark.sources.options import MODES

Mode = Literal["FAILFAST", "PERMISSIVE"]


def asked_choice(package: str, message: str, version: int | None, fields: Iterable[str] | None) -> Choice:
    """The choice, known to be possible.

    Raises:
        JobError: the package cannot be imported, a field does not exist, or the bytes tell no version.
        UnsupportedVersionError: there is no such message, or not in that version.
    """
    if isinstance(fields, str):
        raise JobError(f"fields are a list of paths, not one text: [{fields!r}]")
    choice = Choice(package, message, version, None if fields is None else tuple(fields))
    union_type(choice)
    decode(choice, pa.array([], pa.binary()))
    return choice


def check_mode(mode: str) -> None:
    """See that a mode is one.

    Raises:
        JobError: it is not; the text tells which there are.
    """
    if mode not in MODES:
        raise JobError(f"mode is {' or '.join(MODES)}, not {mode!r}")
