"""The runtime that generated classes and their users share. Needs only the standard library."""

from importlib import import_module

from kipwire import message
from kipwire.message import native
from kipwire.message.messages import FlexibleMessage, Message
from kipwire.model.errors import (
    ConversionError,
    DecodeError,
    EncodeError,
    FrameError,
    JsonError,
    KipwireError,
    LeftOverError,
    LevelError,
    MissingExtraError,
    PackageError,
    UnknownApiKeyError,
    UnknownVersionError,
    UnsupportedVersionError,
)
from kipwire.model.errors import Malformed as Malformed
from kipwire.model.lazy import LazyModule as LazyModule
from kipwire.model.structs import DEFAULT as DEFAULT
from kipwire.model.structs import Field, FlexibleStruct, Struct
from kipwire.model.structs import LazyStruct as LazyStruct
from kipwire.model.structs import slots_of as slots_of

# What is imported under its own name is for generated code alone: it is no part of the public names.
__all__ = [
    "KAFKA_VERSION",
    "AnsweredBy",
    "ConversionError",
    "DecodeError",
    "EncodeError",
    "Field",
    "FlexibleMessage",
    "FlexibleStruct",
    "FrameError",
    "JsonError",
    "KipwireError",
    "LeftOverError",
    "LevelError",
    "Loss",
    "Message",
    "MissingExtraError",
    "PackageError",
    "Struct",
    "UnknownApiKeyError",
    "UnknownVersionError",
    "UnsupportedVersionError",
    "__version__",
    "asdict",
    "build",
    "combine",
    "convert",
    "native",
]

__version__ = "0.1.0"
"""The release, as in pyproject.toml; asking the installed distribution would take longer than all imports."""

KAFKA_VERSION = "4.4"
"""The release of Kafka whose protocol `kafka_messages` has; see docs/kafka-versions.md for those before it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.combined import combine
    from kipwire.message.conversion import Loss, asdict, build, convert
    from kipwire.message.frames import AnsweredBy
else:  # type checkers take a module with `__getattr__` to have every name

    def __getattr__(name: str) -> object:
        if name in ("Loss", "asdict", "build", "convert"):  # few programs convert, and all of them import kipwire
            return globals().setdefault(name, getattr(message.conversion, name))
        if name == "combine":
            return import_module("kipwire.message.combined").combine
        if name == "AnsweredBy":
            return message.frames.AnsweredBy
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__]
