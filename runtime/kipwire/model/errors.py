"""The errors of kipwire, each with its location. All of them are `ValueError`s."""

from __future__ import annotations

import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

MOST_CHARACTERS = 2000
"""Limit for a path or a reason in an error; longer texts lose their middle."""
_WORDS_OF_A_CUT = 40
"""Characters that say what was left out, at most; a text with them, as errors are copied from, loses nothing more."""
_MOST_OF_A_VALUE = 80


def abbreviate(value: object) -> str:
    """Format any value as errors show it: cut if it is long, and never an error itself."""
    if isinstance(value, int) and int.bit_length(value) > 128:  # Python refuses to write out thousands of digits
        return f"a number of {int.bit_length(value)} bits"
    if type(value) in (str, bytes) and len(value) > _MOST_OF_A_VALUE:  # type: ignore[arg-type]
        unit = "characters" if type(value) is str else "bytes"
        return f"{value[:_MOST_OF_A_VALUE]!r}... ({len(value)} {unit})"  # type: ignore[index, arg-type]
    try:
        text = repr(value)
    except Exception:  # of a repr of one's own
        return f"a {type(value).__name__}"
    return text if len(text) <= _MOST_OF_A_VALUE else f"{text[:_MOST_OF_A_VALUE]}..."


def shorten(text: str) -> str:
    """Shorten a text for an error: the middle of a long one is left out."""
    if len(text) <= MOST_CHARACTERS + _WORDS_OF_A_CUT:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}... ({len(text) - 2 * half} characters) ...{text[-half:]}"


class KipwireError(ValueError):
    """Base of every error that kipwire raises on purpose."""


class _LocatedError(KipwireError):
    """An error at one location in a message."""

    def __init__(self, message: str, version: int, path: str, reason: str) -> None:
        path, reason = shorten(path), shorten(reason)
        super().__init__(message, version, path, reason)
        self.message = message
        """Name of the message, as in its spec."""
        self.version = version
        self.path = path
        """Field path with indexes, such as `topics[0].partitions[7].leader_id`; "" for the message itself."""
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.message} v{self.version}: {self.path or 'message'}: {self.reason}"


class EncodeError(_LocatedError):
    """A value that the wire form of its field cannot carry: wrong type, out of range, null, too long, no valid text."""


class JsonError(_LocatedError):
    """JSON that does not describe a message of this version."""


class ConversionError(_LocatedError):
    """Something that the other version cannot carry and that must not be dropped; `reason` names all of it."""

    def __str__(self) -> str:
        return f"{self.message} v{self.version}: {self.reason}"  # which has the path


class DecodeError(_LocatedError):
    """Bytes that are not a message of this version, in the strict sense of docs/strictness.md."""

    def __init__(self, message: str, version: int, path: str, offset: int, reason: str) -> None:
        super().__init__(message, version, path, reason)
        self.args = (message, version, self.path, offset, self.reason)  # what a copy is made of
        self.offset = offset
        """Position of the error, in bytes from the start of the given buffer."""

    def __str__(self) -> str:
        return f"{self.message} v{self.version}: {self.path or 'message'} at byte {self.offset}: {self.reason}"


class FrameError(DecodeError):
    """A complete frame with wrong content, with the facts that identify the frame, as far as known.

    `message` has the error; `version` is its version.
    """

    api_key: int | None = None
    """API key of the request, or of the request that a response answers; None if the frame does not say."""
    api_version: int | None = None
    correlation_id: int | None = None

    def of(self, api_key: int | None, api_version: int | None, correlation_id: int | None) -> Self:
        """Set the facts that identify the frame; return the error itself."""
        self.api_key, self.api_version, self.correlation_id = api_key, api_version, correlation_id
        return self


class LeftOverError(FrameError):
    """A frame with bytes after its message; `offset` is the position of the first of them."""


class UnsupportedVersionError(KipwireError):
    """A message, an API key or a version that the package has no class for."""


class UnknownApiKeyError(FrameError, UnsupportedVersionError):
    """A frame of an API that the package does not have."""


class UnknownVersionError(FrameError, UnsupportedVersionError):
    """A frame of an API that the package has, but not in that version."""


class MissingExtraError(KipwireError, ImportError):
    """A library from an extra of kipwire is not installed.

    The text names the user of the library and how to install it.
    """


class PackageError(KipwireError):
    """A Python package that cannot be imported, or that kipgen did not generate."""


class LevelError(PackageError, ImportError):
    """A package that was generated for a level that this release does not run; see `kipwire.model.abi`."""


class Malformed(Exception):
    """Raised inside generated code if the bytes or a value are wrong; never leaves kipwire.

    It carries nothing: the location and the reason are found by tracing the message again, so that the normal path
    need not track them.
    """


def path_text(path: list[Any]) -> str:
    """Format a path as people read it: `topics[0].name`. What is neither a name nor a number is a wrong key."""
    text = ""
    for part in path:
        if type(part) is not str:
            text += f"[{abbreviate(part)}]"
        else:
            text += f".{part}" if text else part
    return text


def expect_version(version: object) -> int:
    """Return a version as the number that it is: an int, or a number of another class, such as of numpy.

    True is equal to 1, and so is 1.0, but neither is a version.

    Raises:
        UnsupportedVersionError: the version is not a whole number.
    """
    if not isinstance(version, bool):
        try:
            return operator.index(version)  # type: ignore[arg-type]  # which it checks
        except TypeError:
            pass
    raise UnsupportedVersionError(f"a version is a whole number, not {abbreviate(version)}")


def unknown_version(version: object, known: Sequence[int], message: str = "") -> str:
    """Format the reason for refusing a version, such as `unknown version 9; known versions are 0 to 3`.

    Args:
        version: the version.
        known: the versions that there are, ascending and without gaps; at least one.
        message: the name of the message, where a reader does not see it otherwise.
    """
    there = f"versions are {known[0]} to {known[-1]}" if len(known) > 1 else f"version is {known[0]}"
    return f"unknown version {abbreviate(version)}{message and f' of {message}'}; known {there}"
