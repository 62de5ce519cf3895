"""`Message`, the class under every generated message: the outermost struct, which reads and writes itself.

Reading and writing are generated code, or the kernel's, and neither explains an error. So each method here tries first,
and only after a failure goes through the same bytes or values again: by `description.trace` for bytes, by
`description.values` for values. Both raise the error with its path. If nothing wrong is found, there is a defect in the
engine or in the explanation, and it is raised as such; only a value that another thread changed in between may be right
by then. So there is one text for each error, whatever engine was in use.
"""

from __future__ import annotations

import struct
from importlib import import_module

from kipwire import description
from kipwire.codec.wire import new
from kipwire.model.errors import DecodeError, EncodeError, Malformed, UnsupportedVersionError, abbreviate
from kipwire.model.structs import FlexibleStruct, Root
from kipwire.tools.text import leftover_reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Self


class _Counterpart:
    """Descriptor for the response class of a request class, or the reverse; imported on first access."""

    def __init__(self, asked_of: str, found: str) -> None:
        self.asked_of = asked_of
        self.found = found

    def __get__(self, instance: Message | None, owner: type[Message]) -> type[Message]:
        if getattr(owner, "TYPE", None) != self.asked_of:
            raise AttributeError(f"{owner.__name__} has no {self.found}: it is not the class of a {self.asked_of}")
        package = import_module(owner.__module__.rsplit(".", 2)[0])
        try:
            cls: type[Message] = package.REGISTRY.counterpart(owner)
        except UnsupportedVersionError as error:
            raise AttributeError(str(error)) from None
        return cls


class Message(Root):
    """A message of one version: what can be sent, received or stored by itself."""

    __slots__ = ()

    if not TYPE_CHECKING:  # generated classes declare the class
        RESPONSE = _Counterpart("request", "response")
        """The class of the response in the same version; only requests have it."""
        REQUEST = _Counterpart("response", "request")
        """The class of the request in the same version; only responses have it."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode the message that the buffer holds, from its first to its last byte.

        Raises:
            DecodeError: the buffer is not exactly one message of this version; the error has the path of the field and
                the byte offset.
        """
        if type(data) is not bytes:
            data = content_of(data)
        try:
            message = new(cls)
            end = message._read(data, 0)
            if end == len(data):
                return message
        except Exception as failure:
            _explain_decode(cls, data, 0, failure, whole=True)
        _explain_decode(cls, data, 0, None, whole=True)

    @classmethod
    def read(cls, data: bytes, offset: int = 0) -> tuple[Self, int]:
        """Decode the message that starts at `offset` of a longer buffer: (message, offset after it).

        Pass `bytes` where you can: any other buffer is copied first, at each call.

        Raises:
            DecodeError: there is no message of this version; the error's offset counts from the start of the buffer.
            ValueError: the offset is outside the buffer.
        """
        if type(data) is not bytes:
            data = content_of(data)
        if not 0 <= offset <= len(data):
            raise ValueError(f"offset {offset} is outside the buffer of {len(data)} bytes")
        try:
            message = new(cls)
            end = message._read(data, offset)
            if end <= len(data):
                return message, end
        except Exception as failure:
            _explain_decode(cls, data, offset, failure, whole=False)
        _explain_decode(cls, data, offset, None, whole=False)

    def encode(self) -> bytes:
        """Encode the message to bytes, without a header.

        Raises:
            EncodeError: a value does not fit its field; the error has the path of the field.
        """
        parts: list[bytes] = []
        try:
            self._write(parts)
            return b"".join(parts)
        except Exception as failure:
            _explain_encode(self, failure)

    def encoded_size(self) -> int:
        """Count the bytes that `encode` returns, without joining them.

        Raises:
            EncodeError: see `encode`.
        """
        parts: list[bytes] = []
        try:
            self._write(parts)
            return sum(map(len, parts))
        except Exception as failure:
            _explain_encode(self, failure)

    def to_json(self) -> dict[str, Any]:
        """Convert the message to the JSON form of Kafka's Java converters, as data for `json.dumps`; see docs/json.md.

        Unknown tagged fields are left out.

        Raises:
            EncodeError: a value does not fit its field.
        """
        return description.json_codec.write_json(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Decode the message that a JSON object describes, the reverse of `to_json`.

        A key of a field that only other versions have is accepted where its value may be dropped: where it is the
        default, or the field is ignorable.

        Raises:
            JsonError: a key is unknown or missing, or a value is not of its field's type; the error has the path.
        """
        return description.json_codec.read_json(cls, value)


class FlexibleMessage(FlexibleStruct, Message):
    """A message of a flexible version."""

    __slots__ = ()


def described(value: object) -> str:
    """Describe for an error what was given for a message: name and version of a message, the type of anything else."""
    if isinstance(value, Message):
        return f"{value.NAME} v{value.VERSION}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return (
        "None"
        if value is None
        else f"{'an' if type(value).__name__[0] in 'AEIOUaeiou' else 'a'} {type(value).__name__}"
    )


def content_of(data: object) -> bytes:
    """Return the content of a buffer as bytes.

    Raises:
        TypeError: the data is no buffer. A number is none, though `bytes` turns a number into zeros.
    """
    try:
        view = memoryview(data)  # type: ignore[arg-type]
    except TypeError:
        what = "None" if data is None else f"{type(data).__name__} {abbreviate(data)}"
        raise TypeError(f"a message must be bytes or another buffer, not {what}") from None
    return view.tobytes()


def expect_end(cls: type[Message], end: int, data: bytes) -> None:
    """Check that a message that ends there takes the buffer to its last byte.

    Raises:
        DecodeError: bytes are left over.
    """
    if end < len(data):
        raise DecodeError(cls.NAME, cls.VERSION, "", end, leftover_reason(len(data) - end, "the message"))


def _explain_decode(
    cls: type[Message], data: bytes, offset: int, failure: Exception | None, *, whole: bool
) -> NoReturn:
    """Raise the DecodeError with the location of the error that stopped the reader."""
    end = description.trace.trace(cls, data, offset)
    if whole:
        expect_end(cls, end, data)
    raise failure or AssertionError(f"{cls.NAME} v{cls.VERSION}: the reader refused what the tracer accepts")


def _explain_encode(message: Message, failure: Exception) -> NoReturn:
    """Raise the EncodeError for the value that stopped the writer."""
    description.values.check(message)
    if isinstance(failure, (Malformed, struct.error)):  # neither names a value, and by now another value is there
        raise EncodeError(message.NAME, message.VERSION, "", "it changed while it was written") from None
    raise failure
