"""What generated classes and their users share at run time. Needs nothing outside the standard library."""

from kipwire import native
from kipwire.errors import (
    ConversionError,
    DecodeError,
    EncodeError,
    JsonError,
    KipwireError,
    LevelError,
    Malformed,
    MissingExtraError,
    PackageError,
    UnsupportedVersionError,
)
from kipwire.messages import FlexibleMessage, Message
from kipwire.structs import DEFAULT, Add, Field, FlexibleStruct, LazyStruct, Rows, Struct, slots_of

__all__ = [
    "DEFAULT",
    "Add",
    "ConversionError",
    "DecodeError",
    "EncodeError",
    "Field",
    "FlexibleMessage",
    "FlexibleStruct",
    "JsonError",
    "KipwireError",
    "LazyStruct",
    "LevelError",
    "Malformed",
    "Message",
    "MissingExtraError",
    "PackageError",
    "Rows",
    "Struct",
    "UnsupportedVersionError",
    "convert",
    "native",
    "slots_of",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.conversion import convert


def __getattr__(name: str) -> object:
    if name == "convert":  # few programs convert, and all of them import kipwire
        from kipwire.conversion import convert

        return convert
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
