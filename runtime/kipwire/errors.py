"""What can go wrong, each with its place. All of them are `ValueError`s."""

from __future__ import annotations


class KipwireError(ValueError):
    """Base of every error that kipwire raises on purpose."""


class _PlacedError(KipwireError):
    """An error at one place of a message."""

    def __init__(self, message: str, version: int, path: str, reason: str) -> None:
        super().__init__(message, version, path, reason)
        self.message = message
        """Name of the message, as in its spec."""
        self.version = version
        self.path = path
        """Field path with indexes, such as `topics[0].partitions[7].leader_id`; "" for the message itself."""
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.message} v{self.version}: {self.path or 'message'}: {self.reason}"


class EncodeError(_PlacedError):
    """A value that the wire form of its field cannot carry: wrong type, out of range, null, too long, no valid text."""


class JsonError(_PlacedError):
    """JSON that does not describe a message of this version."""


class ConversionError(_PlacedError):
    """Something that the other version cannot carry and that may not be dropped; `reason` names all of it."""


class DecodeError(KipwireError):
    """Bytes that are not a message of this version, in the strict sense of docs/strictness.md."""

    def __init__(self, message: str, version: int, path: str, offset: int, reason: str) -> None:
        super().__init__(message, version, path, offset, reason)
        self.message = message
        """Name of the message, as in its spec."""
        self.version = version
        self.path = path
        """Field path with indexes, such as `topics[0].partitions[7].leader_id`; "" for the message itself."""
        self.offset = offset
        """Where in the given buffer the fault is, in bytes from its start."""
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.message} v{self.version}: {self.path or 'message'} at byte {self.offset}: {self.reason}"


class MissingExtraError(KipwireError, ImportError):
    """What an extra of kipwire brings is not installed; the text names what is needed for what, and how to get it."""


class UnsupportedVersionError(KipwireError):
    """A message, an API key or a version that the package has no class for."""


class Malformed(Exception):
    """Raised inside generated code where the bytes or a value are wrong; never leaves kipwire.

    It carries nothing: the place and the reason are found by walking the message again, so that the good path need
    not keep track of them.
    """


def path_text(path: list[str | int]) -> str:
    """A path as people read it: `topics[0].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def short_text(value: object) -> str:
    """A value as errors show it."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
