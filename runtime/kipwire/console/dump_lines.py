"""Batches from the JSON lines of `kipwire dump -r -f json`, each checked before it is used, for pack and produce.

A line is the head of a batch, a record of the last batch, or an error. Errors say which line it is, and which field.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, BinaryIO

from kipwire.logs.names import Partition, base_offset_of, partition_of, snapshot_end_of
from kipwire.model.errors import KipwireError
from kipwire.model.types import TYPES
from kipwire.records import Record
from kipwire.records.checks import MAX_DECOMPRESSED_SIZE, MAX_ITEMS
from kipwire.records.compression import COMPRESSIONS
from kipwire.records.heads import CONTROL, FORMATS, HIGHEST_INT32, MAGIC_2, TRANSACTIONAL
from kipwire.records.model import Header, header_key
from kipwire.records.reading import MagicTwo
from kipwire.records.rebuilding import BatchHead
from kipwire.tools.text import did_you_mean, json_words
from kipwire.traffic.captures import CaptureError, json_object, whole_number

LONGEST_LINE = 7 * MAX_DECOMPRESSED_SIZE
"""Bytes: each byte of the largest record may be an escape of six."""

_INT16, _INT32, _INT64 = (TYPES[name].range for name in ("int16", "int32", "int64"))
_NUMBERS = {
    "magic": (0, 2),
    "attributes": _INT16,
    "base_offset": _INT64,
    "last_offset": _INT64,
    "base_timestamp": _INT64,
    "max_timestamp": _INT64,
    "leader_epoch": _INT32,
    "producer_id": _INT64,
    "producer_epoch": _INT16,
    "base_sequence": _INT32,
}
"""The lowest and the highest number for the fields of a batch, in the order of `BatchHead`."""
_CRC = (0, 2**32 - 1)
_NEWEST = len(FORMATS) - 1
_OF_BYTES = range(-128, 128)
"""The attributes of entries, which have one byte."""
_OTHERS = {
    "file": "a summary has no records; dump with --records instead of --summary",
    "space": "a summary has no records; dump with --records instead of --summary",
    "frame": "a frame of a capture is not of a log; dump segments, or topics with --brokers",
}
"""Types of lines of other dumps, and what to do."""
_ENTRY = "an entry of an index is not of a log; brokers make indexes from segments"


class LineError(KipwireError):
    """A line that is not as a dump writes it; the text starts with the file and the line."""


@dataclass
class JsonBatch:
    """A batch as lines say it."""

    place: str
    """Place of its line, for errors."""
    partition: Partition | None
    """Partition of the log; None if its folder is not one of a partition."""
    shown: tuple[object, object, object]
    """Topic, partition and position, as all lines of its records have them."""
    file: str | None
    position: int | None
    head: BatchHead
    crc: int
    magic_2: MagicTwo
    """Format of batches with magic 2."""
    count: int | None
    """Number of its records; None if unknown."""
    records: list[Record] = field(default_factory=list)
    content: int = 0
    """Bytes of keys and values so far."""

    @property
    def is_entry(self) -> bool:
        """True for an entry of a message set, which has at least one record."""
        return self.head.magic < _NEWEST or self.magic_2 == "kip-82"

    @property
    def segment(self) -> int | None:
        """The first offset of its segment, by the name of the file."""
        return None if self.file is None else base_offset_of(PurePath(self.file).name)

    @property
    def snapshot(self) -> str:
        """The name of the snapshot that it was in; empty for a segment."""
        name = "" if self.file is None else PurePath(self.file).name
        return name if snapshot_end_of(name) is not None else ""


@dataclass
class Left:
    """Lines that belong to no batch."""

    errors: int = 0
    """Lines that say that something could not be read."""


def batches_of(stream: BinaryIO, name: str, left: Left, magic_2: MagicTwo = "kafka") -> Iterator[JsonBatch]:
    """Read the batches of a dump, with one in memory.

    Args:
        stream: its lines.
        name: the file in errors.
        left: counts what no batch is made of.
        magic_2: the format of batches with magic 2, which their lines must name.

    Raises:
        LineError: a line is wrong.
        OSError: the stream cannot be read.
    """
    number = 0
    current: JsonBatch | None = None
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        place = f"{name}:{number}"
        if len(line) > LONGEST_LINE:
            raise LineError(f"{place}: the line is longer than {LONGEST_LINE:,} bytes, the limit for a dump")
        if not line.strip():
            continue
        try:
            values = json_object(place, line)
            match values.get("type"):
                case "record":
                    _add_record(current, place, values)
                case "batch":
                    if current is not None:
                        yield current
                    current = _batch(place, values, magic_2)
                case "error":
                    left.errors += 1
                    if current is not None and _is_unread(current, values):
                        current = None
                case type_:
                    raise LineError(f'{place}: "type" {_other(type_, values)}')
        except CaptureError as error:
            raise LineError(str(error)) from None
    if current is not None:
        yield current


def _other(type_: object, values: dict[str, Any]) -> str:
    if type_ is None and "type" not in values:
        return "is missing; give the lines of kipwire dump --records --format json"
    if isinstance(type_, str) and type_ in _OTHERS:
        return f"is {json_words(type_)}: {_OTHERS[type_]}"
    if isinstance(type_, str) and type_.endswith(("_index", "_transaction", "producer", "_epoch", "_offset")):
        return f"is {json_words(type_)}: {_ENTRY}"
    hint = did_you_mean(type_, ("batch", "record", "error")) if isinstance(type_, str) else ""
    return f'is {json_words(type_)}; it must be "batch", "record" or "error"{hint}'


def _is_unread(batch: JsonBatch, error: dict[str, Any]) -> bool:
    """Decide whether an error is about the records of a batch whose head could be read."""
    is_of_it = error.get("position") == batch.position and error.get("file") == batch.file
    return is_of_it and not batch.records and batch.count != 0


def _batch(place: str, values: dict[str, Any], magic_2: MagicTwo) -> JsonBatch:
    numbers: list[Any] = [whole_number(place, values, name, *bounds) for name, bounds in _NUMBERS.items()]
    head = BatchHead(*numbers)
    said = values.get("magic_2", "kafka")
    if said != (magic_2 if head.magic == _NEWEST else "kafka"):
        raise LineError(f'{place}: "magic_2" {_other_format(said, head.magic, magic_2)}')
    is_entry = head.magic < _NEWEST or magic_2 == "kip-82"
    if is_entry and head.attributes not in _OF_BYTES:
        raise LineError(f'{place}: "attributes" is {head.attributes}; magic {head.magic} has one byte for them')
    _expect_flags(place, values, head, magic_2)
    if magic_2 == "kip-98 draft" and values.get("is_control"):
        head = head._replace(is_control=True)
    count = None if values.get("records_count") is None else whole_number(place, values, "records_count", *_INT32)
    position = None if values.get("position") is None else whole_number(place, values, "position", *_INT64)
    file = values.get("file")
    if file is not None and not isinstance(file, str):
        raise LineError(f'{place}: "file" must be a string or null; it is {json_words(file)}')
    crc = whole_number(place, values, "crc", *_CRC)
    shown = values.get("topic"), values.get("partition"), position
    return JsonBatch(place, _partition(place, values), shown, file, position, head, crc, magic_2, count)


def _other_format(said: object, magic: int, magic_2: MagicTwo) -> str:
    """Say what is right instead of the format that a line has, or does not have."""
    if magic < _NEWEST:
        return f"is {json_words(said)}, but magic {magic} has one format; leave it out"
    if isinstance(said, str) and said in MAGIC_2 and said != "kafka":
        return f"is {json_words(said)}; give --magic-2 {json_words(said)} for such a log"
    if said == "kafka":
        return f"is missing or 'kafka', but --magic-2 is {magic_2!r}; it is for logs dumped with it"
    return f"is {json_words(said)}; it must be one of {', '.join(map(repr, MAGIC_2))}"


def _expect_flags(place: str, values: dict[str, Any], head: BatchHead, magic_2: MagicTwo) -> None:
    """Check that what is said twice is the same: the attributes, and the parts of them by name.

    Raises:
        LineError: the two differ.
    """
    has_flags = head.magic == _NEWEST and magic_2 != "kip-82"
    codec = COMPRESSIONS[head.codec] if head.codec < len(COMPRESSIONS) else None
    expected = {
        "compression": codec,
        "timestamp_type": "LogAppendTime" if head.is_append_time else "CreateTime",
        "is_transactional": has_flags and head.attributes & TRANSACTIONAL != 0,
        "is_control": has_flags and head.attributes & CONTROL != 0,
    }
    if magic_2 == "kip-98 draft" and has_flags:
        expected["is_control"] = values.get("is_control") is True  # its messages say it, not its attributes
    if head.magic == 0:
        expected["timestamp_type"] = "NoTimestampType"
    for name, right in expected.items():
        if name in values and values[name] != right:
            raise LineError(
                f'{place}: "{name}" is {json_words(values[name])}, but "attributes" is {head.attributes}, which says '
                f"{right!r}; change both"
            )


def _partition(place: str, values: dict[str, Any]) -> Partition | None:
    topic = values.get("topic")
    if topic is None:
        return None
    number = whole_number(place, values, "partition", 0, HIGHEST_INT32)
    found = partition_of(f"{topic}-{number}") if isinstance(topic, str) else None
    if found is None:
        raise LineError(f'{place}: "topic" must be the name of a topic; it is {json_words(topic)}')
    return found


def _add_record(batch: JsonBatch | None, place: str, values: dict[str, Any]) -> None:
    if batch is None:
        raise LineError(f"{place}: a record without a batch line before it")
    if (values.get("topic"), values.get("partition"), values.get("batch_position")) != batch.shown:
        raise LineError(f"{place}: the record is not of the batch before it, which is at {batch.place}")
    if len(batch.records) >= (MAX_ITEMS if batch.count is None else batch.count):
        raise LineError(f"{place}: one record more than the batch at {batch.place} declares in records_count")
    created = "create_timestamp" if "create_timestamp" in values else "timestamp"
    offset, timestamp = values.get("offset"), values.get(created)
    if type(offset) is not int or type(timestamp) is not int or not _fit(offset, timestamp):
        whole_number(place, values, "offset", *_INT64)
        whole_number(place, values, created, *_INT64)
    key, value = _content(place, values, "key"), _content(place, values, "value")
    headers = values.get("headers", [])
    record = Record(offset=offset, timestamp=timestamp, key=key, value=value)  # type: ignore[arg-type]  # both are
    if headers != []:
        record.headers = _headers(place, headers)
    batch.content += (0 if key is None else len(key)) + (0 if value is None else len(value))
    if batch.content > MAX_DECOMPRESSED_SIZE:
        raise LineError(f"{place}: the records of one batch have more than {MAX_DECOMPRESSED_SIZE:,} bytes")
    batch.records.append(record)


def _fit(offset: int, timestamp: int) -> bool:
    lowest, highest = _INT64
    return lowest <= offset <= highest and lowest <= timestamp <= highest


def _content(place: str, values: dict[str, Any], name: str) -> bytes | None:
    """Return the bytes of a key or a value: those that are given as such, if it is shown in another form."""
    raw = f"{name}_bytes"
    if raw in values:
        value = values[raw]
        return None if value is None else _from_base64(place, raw, value)
    if name not in values:
        raise LineError(f'{place}: "{name}" is missing')
    return _bytes(place, name, values[name])


def _bytes(place: str, name: str, value: object) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise LineError(f'{place}: "{name}" has a lone surrogate, which is not text') from None
    if isinstance(value, dict) and set(value) == {"base64"}:
        return _from_base64(place, name, value["base64"])
    raise LineError(
        f'{place}: "{name}" must be a string, {{"base64": ...}} or null; it is {json_words(value)}. A value in another '
        f"form needs {name}_bytes beside it"
    )


def _from_base64(place: str, name: str, value: object) -> bytes:
    try:
        if isinstance(value, str):
            return b64decode(value, validate=True)
    except (Base64Error, ValueError):
        pass
    raise LineError(f'{place}: "{name}" must be base64; it is {json_words(value)}')


def _headers(place: str, value: object) -> list[Header]:
    if not isinstance(value, list):
        raise LineError(f'{place}: "headers" must be a list of pairs; it is {json_words(value)}')
    headers: list[Header] = []
    for number, pair in enumerate(value):
        name = f"headers[{number}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise LineError(f'{place}: "{name}" must be a pair of a key and a value; it is {json_words(pair)}')
        key = _bytes(place, f"{name}[0]", pair[0])
        if key is None:
            raise LineError(f'{place}: "{name}[0]" is null; a header has a key')
        headers.append((header_key(key), _bytes(place, f"{name}[1]", pair[1])))
    return headers
