"""Records as KIP-82's version 43 gives them to programs: a producer sets headers, a consumer only reads them."""

from __future__ import annotations

from dataclasses import dataclass, field

from kipwire.drafts.kip_82.headers import Content, Headers, MutableHeaders


class ProducerRecord:
    """A record to write, whose headers can be set.

    Source: KIP-82 version 43, "Add a headers field Map<int, byte[]> to both ProducerRecord and ConsumerRecord". The
    offset is what a message set carries: a producer counts from 0, a broker gives the one of the partition.
    """

    __slots__ = ("headers", "key", "offset", "timestamp", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        *,
        offset: int = 0,
        timestamp: int = -1,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Content = (),
    ) -> None:
        self.offset = offset
        """Position in the message set or in the partition."""
        self.timestamp = timestamp
        """Milliseconds since 1970; -1 if there is none."""
        self.key = key
        self.value = value
        self.headers = MutableHeaders(headers)
        """Headers by key; a copy of the argument."""

    def set_header(self, key: int, value: bytes) -> None:
        """Set a header, in place of one with that key.

        Raises:
            TypeError: the key is not an int, or the value not bytes or another buffer.
            ValueError: the key is not in 0 to 0xffffffff.
        """
        self.headers[key] = value

    def get_header(self, key: int) -> bytes | None:
        """Return the value of a header; None where the record does not have it."""
        return self.headers.get(key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProducerRecord):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        return (
            f"ProducerRecord(offset={self.offset}, timestamp={self.timestamp}, key={self.key!r}, "
            f"value={self.value!r}, headers={self.headers!r})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRecord:
    """A record that was read; neither it nor its headers can be changed.

    Source: as `ProducerRecord`, and "A consumer/interceptors will see the message headers (immutable)".
    """

    offset: int
    """Position in the partition; from a producer, in the message set."""
    timestamp: int = -1
    """Milliseconds since 1970; -1 if there is none."""
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = field(default_factory=Headers)
    """Headers by key; empty for a record of magic 0 or 1."""

    def __post_init__(self) -> None:
        if type(self.headers) is not Headers:  # a mapping of the caller's could change later
            object.__setattr__(self, "headers", Headers(self.headers))

    def get_header(self, key: int) -> bytes | None:
        """Return the value of a header; None where the record does not have it."""
        return self.headers.get(key)

    def to_producer_record(self) -> ProducerRecord:
        """Copy the record to one whose headers can be set, to pass it on."""
        return ProducerRecord(
            offset=self.offset, timestamp=self.timestamp, key=self.key, value=self.value, headers=self.headers
        )
