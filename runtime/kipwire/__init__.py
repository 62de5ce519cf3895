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
from kipwire.messages import Message
from kipwire.structs import DEFAULT, Add, Field, LazyStruct, Rows, Struct, UnknownTaggedFields, slots_of

__all__ = [
    "DEFAULT",
    "Add",
    "ConversionError",
    "DecodeError",
    "EncodeError",
    "Field",
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
    "UnknownTaggedFields",
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
