"""Types of the compiled kernel, whose sources are in runtime/kernel; see `kipwire.native`."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from kipwire.messages import Message
from kipwire.records import Record, RecordBatch

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

def serves_columns(cls: type[Message]) -> bool: ...
def read_columns(
    cls: type[Message], wanted: Names, buffers: tuple[Any, Any, Any], large: bool, first: int, count: int, strict: bool
) -> tuple[int, Parts | None]: ...
def write_columns(cls: type[Message], wanted: Names, parts: Given) -> tuple[int, bytearray | None, bytes | None]: ...

class RecordTable:
    def add(
        self,
        number: int,
        section: bytes,
        count: int,
        base_offset: int,
        base_timestamp: int,
        append_time: int | None,
    ) -> bool: ...
    def take(self) -> list[Parts]: ...
    @property
    def count(self) -> int: ...
    @property
    def size(self) -> int: ...

def replacement(name: str, function: Callable[..., Any]) -> Callable[..., Any]: ...
def learn_batches(
    cls: type[RecordBatch],
    *,
    codecs: tuple[str, ...],
    timestamp_types: tuple[str, ...],
    limits: tuple[int, int],
    compress: Callable[..., bytes],
    batches_from: Callable[..., Iterator[RecordBatch]],
    records_of: Callable[[Any], list[Record]],
    section_of: Callable[[Any], bytes],
) -> None: ...
def read_batches(
    data: bytes | bytearray | memoryview,
    *,
    magic_2: str = "kafka",
    check_crcs: bool = True,
    max_decompressed_size: int = ...,
    max_items: int = ...,
) -> Iterator[RecordBatch]: ...
def read_batch(
    data: bytes, location: tuple[int, int, str | None], limits: tuple[int, int], check_crcs: bool
) -> RecordBatch | None: ...
def records_of_batch(self: RecordBatch) -> list[Record]: ...
def write_batch(records: Iterable[Record], **arguments: Any) -> bytes: ...
def read_records(data: bytes, base_offset: int, base_timestamp: int) -> list[Record] | None: ...
def has_more_items(data: bytes, most: int) -> bool: ...
def write_records(records: list[Record], base_offset: int, base_timestamp: int) -> bytes | None: ...
def are_in_order(records: list[Record]) -> bool: ...
