"""A record with its headers, and the batch that it came in.

All formats give the same two classes, so that programs need no case for a magic. A batch keeps its bytes, its place for
errors, and the functions of its format that decode the bytes. Readers make instances of both classes without calling
`__init__`: `record_batches`, `message_sets`, `sections` and the kernel. So each of these readers must set a new slot.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from kipwire import native
from kipwire.model.lazy import set_if_none
from kipwire.records.compression import Compression
from kipwire.records.heads import NO_TIMESTAMP
from kipwire.records.producer_sequence import HIGHEST_SEQUENCE

Header = tuple[str, bytes | None]
TimestampType = Literal["CreateTime", "LogAppendTime", "NoTimestampType"]

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


class RawHeaderKey(str):
    """The key of a header by its bytes; every key that is read has this class if its bytes are not UTF-8.

    As a `str`, a key is the text that Java makes of the bytes, `new String(bytes, UTF_8)`, with U+FFFD in the place of
    what is no character. A key is equal to any other `str` of that text, as in Java, also to a key of other bytes. A
    written key has its bytes again. A text that is made of a key, such as a part of it, is a plain `str`.
    """

    __slots__ = ("_raw",)

    _raw: bytes

    def __new__(cls, raw: bytes) -> RawHeaderKey:
        """Make a key of these bytes; its text is as Java decodes them.

        Raises:
            TypeError: the argument is not `bytes`.
        """
        if type(raw) is not bytes:
            raise TypeError(f"a RawHeaderKey is made of bytes, not of {type(raw).__name__}")
        # Python has a U+FFFD for each byte of a surrogate, Java one for the whole surrogate. Other bytes give one text.
        text = _SURROGATE.sub(b"\xef\xbf\xbd", raw).decode(errors="replace")
        key = super().__new__(cls, text)
        key._raw = raw
        return key

    @property
    def raw(self) -> bytes:
        """The key on the wire."""
        return self._raw

    def __reduce__(self) -> tuple[type[RawHeaderKey], tuple[bytes]]:
        return RawHeaderKey, (self.raw,)

    def __repr__(self) -> str:
        return f"RawHeaderKey({self.raw!r})"


def header_key(raw: bytes) -> str:
    """Decode the key of a header: a plain `str` if the bytes are UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return RawHeaderKey(raw)


def bytes_of_key(key: str) -> bytes:
    """Return the bytes that the key of a header has on the wire.

    Raises:
        TypeError: the key is no `str`.
        UnicodeEncodeError: the key has a lone surrogate.
    """
    return key.raw if isinstance(key, RawHeaderKey) else str.encode(key)


NO_OFFSET = -1
"""The offset of a record that is not in a partition yet."""


class Record:
    """One record, with its own offset and timestamp.

    `Record(value=b"x")` is a record to produce: its offset is its position in the batch that it is written into, and
    its timestamp the present time.
    """

    __slots__ = ("headers", "key", "offset", "timestamp", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        *,
        offset: int = NO_OFFSET,
        timestamp: int | None = None,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Iterable[Header] | Mapping[str, bytes | None] = (),
    ) -> None:
        """Take what is given; a wrong value is an `EncodeError` when the record is written.

        Args:
            offset: its position in the partition; by default none yet.
            timestamp: milliseconds since 1970; by default the present time, but -1 for a record that has an offset.
            key: bytes, or None.
            value: bytes, or None, which deletes the key in a compacted topic.
            headers: pairs of key and value, or a mapping.
        """
        self.offset = offset
        """Position in the partition; -1 if the record is not in one yet."""
        if timestamp is None:
            timestamp = time.time_ns() // 1_000_000 if offset == NO_OFFSET else NO_TIMESTAMP
        self.timestamp = timestamp
        """Milliseconds since 1970; -1 if there is none."""
        self.key = key
        self.value = value
        self.headers: list[Header] = _as_list(headers)
        """Keys and values, in the order of the sender; a key may be there more than once.

        A key is a plain `str` if its bytes are UTF-8, else a `RawHeaderKey`, which is the text that Java has.
        """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        return (
            f"Record(offset={self.offset}, timestamp={self.timestamp}, key={self.key!r}, value={self.value!r}, "
            f"headers={self.headers!r})"
        )


def _as_list(headers: Any) -> Any:
    """Return headers as a list; return anything else unchanged, since writing refuses it with its place."""
    if isinstance(headers, str | bytes) or not isinstance(headers, Iterable):
        return headers
    return list(headers.items() if isinstance(headers, Mapping) else headers)


class RecordBatch:
    """A batch of magic 2, or one entry of a message set of magic 0 or 1, which may hold several records too.

    `read_batches` makes them. What a format does not have is -1, as in Kafka's Java classes.
    """

    __slots__ = (
        "_base_offset",
        "_decode",
        "_records",
        "_section",
        "_source",
        "attributes",
        "base_sequence",
        "base_timestamp",
        "compression",
        "crc",
        "delete_horizon",
        "is_control",
        "is_transactional",
        "last_offset",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "position",
        "producer_epoch",
        "producer_id",
        "records_count",
        "size",
        "timestamp_type",
    )

    position: int
    """Position of the batch in its buffer or file, in bytes."""
    size: int
    """Bytes of the batch, all of its header included; the next batch starts at `position + size`."""
    magic: int
    """The message format: 0, 1 or 2."""
    crc: int
    """The checksum as it was read, 0 to 2^32-1."""
    attributes: int
    """All flags as they were read; each known flag has an attribute of its own, too."""
    compression: Compression
    timestamp_type: TimestampType
    """Source of the timestamps: the broker for "LogAppendTime"; "NoTimestampType" is magic 0, which has none."""
    last_offset: int
    """The offset that the batch ends at, even if compaction has removed that record."""
    base_timestamp: int
    """Milliseconds since 1970 that the records' timestamps count from; of magic 1, the entry's own timestamp."""
    max_timestamp: int
    """The highest timestamp of the records, in milliseconds since 1970; with "LogAppendTime" the timestamp of all."""
    records_count: int | None
    """Number of records; None for a compressed entry of magic 0 or 1, which does not say."""
    partition_leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool
    is_control: bool
    """True for control records, which consumers do not see; see `control_record`."""
    delete_horizon: int | None
    """Milliseconds since 1970 from which compaction may remove tombstones and markers (KIP-534), or None."""

    _source: Any
    """Source of the records: the argument of `_decode` and `_section`."""
    _decode: Callable[[Any], list[Record]]
    _section: Callable[[Any], bytes] | None
    """Decompresses the records of magic 2, without decoding them; None for other formats."""
    _records: list[Record] | None
    _base_offset: int | None

    @property
    @native.from_kernel("records_of_batch")
    def records(self) -> list[Record]:
        """The records; decompressed and decoded at the first access, then kept.

        Raises:
            DecodeError: the records are broken, or decompress to more than `max_decompressed_size` bytes.
            MissingExtraError: the codec needs cramjam, which is not installed.
        """
        if self._records is None:
            return set_if_none(self, "_records", self._decode(self._source))
        return self._records

    @property
    def base_offset(self) -> int:
        """The offset that the batch starts at; for a compressed entry of magic 0 or 1, the offset of its first record.

        Raises:
            DecodeError: see `records`, which such an entry has to read.
        """
        if self._base_offset is None:
            self._base_offset = self.records[0].offset
        return self._base_offset

    @property
    def last_offset_delta(self) -> int:
        """Distance of `last_offset` from `base_offset`."""
        return self.last_offset - self.base_offset

    @property
    def last_sequence(self) -> int:
        """The sequence number of `last_offset`; -1 where the batch has none."""
        return self._sequence_at(self.last_offset)

    def sequence(self, record: Record) -> int:
        """Compute the sequence number that its producer gave to a record of this batch; -1 where the batch has none."""
        return self._sequence_at(record.offset)

    def _sequence_at(self, offset: int) -> int:
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + offset - self.base_offset) & HIGHEST_SEQUENCE  # 0 follows the highest

    def __repr__(self) -> str:
        return (
            f"<RecordBatch at {self.position}: magic {self.magic}, {self.size} bytes, last offset {self.last_offset}, "
            f"compression {self.compression}>"
        )
