"""What generated classes and their users share at run time. Needs nothing outside the standard library."""

from kipwire import native
from kipwire.errors import (
    ConversionError,
    DecodeError,
    EncodeError,
    FrameError,
    JsonError,
    KipwireError,
    LeftOverError,
    LevelError,
    Malformed,
    MissingExtraError,
    PackageError,
    UnknownApiKeyError,
    UnknownVersionError,
    UnsupportedVersionError,
)
from kipwire.messages import FlexibleMessage, Message
from kipwire.structs import DEFAULT, Column, Field, FlexibleStruct, LazyStruct, Rows, Struct, slots_of

__all__ = [
    "DEFAULT",
    "Column",
    "ConversionError",
    "DecodeError",
    "EncodeError",
    "Field",
    "FlexibleMessage",
    "FlexibleStruct",
    "FrameError",
    "JsonError",
    "KipwireError",
    "LazyStruct",
    "LeftOverError",
    "LevelError",
    "Malformed",
    "Message",
    "MissingExtraError",
    "PackageError",
    "Rows",
    "Struct",
    "UnknownApiKeyError",
    "UnknownVersionError",
    "UnsupportedVersionError",
    "build",
    "convert",
    "native",
    "slots_of",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.conversion import build, convert


def __getattr__(name: str) -> object:
    if name in ("build", "convert"):  # few programs convert, and all of them import kipwire
        from kipwire import conversion

        return getattr(conversion, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
