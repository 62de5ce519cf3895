"""The lines of a log for programs: JSON objects, each a file, a batch, a record or an error, told apart by `type`.

The lines of batches and records have all that `kipwire pack` needs to make the batches again. Where `key` and `value`
are not the bytes themselves, `key_bytes` and `value_bytes` have them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from json.encoder import encode_basestring_ascii
from typing import Any

from kipwire.console.dump.contents import Contents
from kipwire.console.dump.log_files import Log
from kipwire.console.dump.reading import Damage, Summary
from kipwire.console.dump.values import PARTS, Decoders, ValueFailedError, json_text
from kipwire.console.json_text import JsonText
from kipwire.console.schema_registry.heads import Part
from kipwire.model.errors import KipwireError
from kipwire.records import RawHeaderKey, Record, RecordBatch
from kipwire.records.reading import MagicTwo, draft
from kipwire.records.record_batches import created_timestamps
from kipwire.records.space import Space

Make = Callable[[RecordBatch, Record], tuple[str, str]]
"""Makes the key and the value of a record, and the end of its line."""
_MAGIC = 2
_END = "}\n"
_compact = JsonText(ascii=True).any
_result = json_text(ascii=True)


class JsonLines:
    """The lines of a log."""

    def __init__(self, decoders: Decoders | None = None, magic_2: MagicTwo = "kafka") -> None:
        """Make them; `decoders` has the functions of users, if any, and `magic_2` is the format of that magic."""
        self._magic_2: MagicTwo = magic_2
        self._internal: str | None = None
        self._log: dict[str, Any] = {}
        self._partition = ""
        self._has_positions = True
        self._contents = Contents(ascii=True, magic_2=magic_2)
        self._decoders = decoders or Decoders()
        self._batch: RecordBatch | None = None
        self._created: dict[int, int] = {}
        """The producer's timestamps of a batch whose broker set others, by the ids of its records."""

    def turn_to(self, log: Log) -> None:
        """Say which log the next lines are of."""
        self._internal = log.internal
        self._log = _of_log(log)
        # Records have this without a call for each of them.
        self._partition = _compact({"topic": log.topic, "partition": log.partition})[1:-1]
        self._has_positions = log.has_positions
        self._decoders.turn_to(log.topic, log.partition)

    def heading(self, log: Log, size: int | None) -> str:
        """Return no text: each batch names its log."""
        return ""

    def batch(self, batch: RecordBatch) -> str:
        """Format a batch as an object: everything in its head.

        Raises:
            DecodeError: it is compressed, of magic 0 or 1, and broken.
        """
        return _line(
            {
                "type": "batch",
                **self._log,
                "position": batch.position if self._has_positions else None,
                "size": batch.size,
                "magic": batch.magic,
                **({} if self._magic_2 == "kafka" or batch.magic != _MAGIC else {"magic_2": self._magic_2}),
                "base_offset": batch.base_offset,
                "last_offset": batch.last_offset,
                "records_count": batch.records_count,
                "base_timestamp": batch.base_timestamp,
                "max_timestamp": batch.max_timestamp,
                "timestamp_type": batch.timestamp_type,
                "compression": batch.compression,
                "crc": batch.crc,
                "attributes": batch.attributes,
                "leader_epoch": batch.partition_leader_epoch,
                "producer_id": batch.producer_id,
                "producer_epoch": batch.producer_epoch,
                "base_sequence": batch.base_sequence,
                "last_sequence": batch.last_sequence,
                "is_transactional": batch.is_transactional,
                "is_control": batch.is_control,
                "delete_horizon": batch.delete_horizon,
            }
        )

    def records(self, batch: RecordBatch, records: list[Record]) -> tuple[str, int]:
        """Format the objects of records of a batch, and count those that are not what they should be."""
        position = batch.position if self._has_positions else "null"
        head = f'{{"type":"record",{self._partition},"batch_position":{position},"offset":'
        if batch.is_control or self._internal is not None:
            make: Make = self._content
        elif self._decoders:
            make = self._by_users
        elif batch.timestamp_type != "LogAppendTime":
            return _plain(head, batch, records), 0
        else:
            make = _bytes_themselves
        has_creation_times = batch.magic == _MAGIC and batch.timestamp_type == "LogAppendTime"
        created = self._creation_times(batch) if has_creation_times else None
        lines, errors = [], 0
        for record in records:
            pair, said = make(batch, record)
            errors += said.startswith(',"error":')
            time = "" if created is None else f'"create_timestamp":{created[id(record)]},'
            lines.append(
                f'{head}{record.offset},"timestamp":{record.timestamp},{time}"sequence":{batch.sequence(record)},'
                f'"key_size":{_size(record.key)},"value_size":{_size(record.value)},'
                f'{pair},"headers":{_header_json(record) if record.headers else "[]"}{said}'
            )
        return "".join(lines), errors

    def damage(self, log: Log, damage: Damage) -> str:
        """Format damage as an object of type `error`."""
        places = (damage.position, damage.at) if log.has_positions else (None, None)
        found = {"position": places[0], "at": places[1], "path": damage.path, "reason": damage.reason}
        return _line({"type": "error", **_of_log(log), **found})

    def summary(self, log: Log, summary: Summary) -> str:
        """Format a file as one object, instead of its batches."""
        return _line({"type": "file", **_of_log(log), **summary.plain()})

    def space(self, topic: str | None, space: Space) -> str:
        """Format the bytes of a topic's records as one object."""
        return _line({"type": "space", "topic": topic, **vars(space)})

    def _content(self, batch: RecordBatch, record: Record) -> tuple[str, str]:
        """Format the key and the value of a record of a control batch or an internal topic, and the end of the line."""
        try:
            content = self._contents.of(record, self._internal, is_control=batch.is_control)
        except KipwireError as error:
            return _bytes_themselves(batch, record)[0], _error(str(error))
        if content is None:
            return _bytes_themselves(batch, record)
        version = "null" if content.version is None else content.version
        return (
            f'"key":{content.key or "null"},"value":{content.value},{_bytes_of(record)}',
            f',"record_type":"{content.type}","record_type_id":{content.type_id},"version":{version}}}\n',
        )

    def _by_users(self, _: RecordBatch, record: Record) -> tuple[str, str]:
        """Return key and value as decoded by functions of the user."""
        wrong: list[str] = []
        parts = []
        for part in PARTS:
            text = self._part_text(part, record, wrong)
            data = getattr(record, part)
            parts.append(f'"{part}":{_json_of(data) if text is None else text}')
            if text is not None:
                parts.append(f'"{part}_bytes":{_base64(data)}')
        return ",".join(parts), _error("; ".join(wrong)) if wrong else _END

    def _part_text(self, part: Part, record: Record, wrong: list[str]) -> str | None:
        try:
            return self._decoders.shown(part, record, _result)
        except ValueFailedError as error:
            wrong.append(str(error))
            return None

    def _creation_times(self, batch: RecordBatch) -> dict[int, int]:
        if self._batch is not batch:  # its records come in several parts
            self._batch = batch
            created = created_timestamps if self._magic_2 == "kafka" else draft(self._magic_2).created_timestamps
            self._created = dict(zip(map(id, batch.records), created(batch), strict=True))
        return self._created


def _plain(head: str, batch: RecordBatch, records: list[Record]) -> str:
    """Format the objects of records that are shown as they are, as most are."""
    lines = []
    sequence = batch.sequence if batch.base_sequence >= 0 else _no_sequence
    for record in records:
        key, value = record.key, record.value
        lines.append(
            f'{head}{record.offset},"timestamp":{record.timestamp},"sequence":{sequence(record)},'
            f'"key_size":{-1 if key is None else len(key)},"value_size":{-1 if value is None else len(value)},'
            f'"key":{_json_of(key)},"value":{_json_of(value)},'
            f'"headers":{_header_json(record) if record.headers else "[]"}}}\n'
        )
    return "".join(lines)


def _no_sequence(_: Record) -> int:
    return -1


def _bytes_themselves(_: RecordBatch, record: Record) -> tuple[str, str]:
    return f'"key":{_json_of(record.key)},"value":{_json_of(record.value)}', _END


def _error(text: str) -> str:
    return f',"error":{_compact(text)}}}\n'


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _of_log(log: Log) -> dict[str, Any]:
    return {**log.source, "topic": log.topic, "partition": log.partition}


def _line(value: dict[str, Any]) -> str:
    return f"{_compact(value)}\n"


def _header_json(record: Record) -> str:
    pairs = [
        f"[{_json_of(key.raw) if isinstance(key, RawHeaderKey) else encode_basestring_ascii(key)},{_json_of(value)}]"
        for key, value in record.headers
    ]
    return f"[{','.join(pairs)}]"


def _bytes_of(record: Record) -> str:
    return f'"key_bytes":{_base64(record.key)},"value_bytes":{_base64(record.value)}'


def _base64(data: bytes | None) -> str:
    return "null" if data is None else f'"{b64encode(data).decode()}"'


def _json_of(data: bytes | None) -> str:
    """Format bytes as a string if they are UTF-8; else as an object with base64."""
    if data is None:
        return "null"
    try:
        return encode_basestring_ascii(data.decode())
    except UnicodeDecodeError:
        return f'{{"base64":"{b64encode(data).decode()}"}}'
