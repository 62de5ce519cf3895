"""Types of the compiled kernel, whose sources are in runtime/kernel; see `kipwire.native`."""

from collections.abc import Callable
from typing import Any, TypeVar

from kipwire.structs import Message

M = TypeVar("M", bound=Message)

def fall_back_on(
    decode: Callable[..., Any], read: Callable[..., Any], encode: Callable[..., Any], encoded_size: Callable[..., Any]
) -> None: ...
def decode(cls: type[M], data: bytes) -> M: ...
def read(cls: type[M], data: bytes, offset: int = 0) -> tuple[M, int]: ...
def encode(self: Message) -> bytes: ...
def encoded_size(self: Message) -> int: ...
def serves(cls: type[Message]) -> bool: ...

# What an Arrow array is made of: number of values, buffers, and the same of the arrays in it.
Parts = tuple[int, list[Any], list["Parts"]]
# The same of an array that is given, with the number of the first value in its buffers.
Given = tuple[int, int, list[Any], list["Given"]]
# Columns in the order of the spec: each its name, and the columns in it or None.
Names = tuple[tuple[str, "Names | None"], ...]

def read_columns(
    cls: type[Message], wanted: Names, buffers: tuple[Any, Any, Any], large: bool, first: int, count: int, strict: bool
) -> tuple[int, Parts | None]: ...
def write_columns(cls: type[Message], wanted: Names, parts: Given) -> tuple[int, bytearray | None, bytes | None]: ...
