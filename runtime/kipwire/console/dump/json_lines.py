"""The lines of a log for programs: one JSON object for each file, batch, record and error, told apart by `type`."""

from __future__ import annotations

from base64 import b64encode
from json.encoder import encode_basestring_ascii
from typing import Any

from kipwire.console.dump.contents import Contents, JsonText
from kipwire.console.dump.log_files import LogFile
from kipwire.console.dump.reading import Damage, Summary
from kipwire.model.errors import KipwireError
from kipwire.records import RawHeaderKey, Record, RecordBatch

_compact = JsonText(ascii=True).any


class JsonLines:
    """The lines of the files of a log."""

    def __init__(self) -> None:
        self._internal: str | None = None
        self._file: dict[str, Any] = {}
        self._partition = ""
        self._contents = Contents(ascii=True)

    def file(self, file: LogFile, size: int) -> str:
        """Nothing: each batch has its file."""
        self._internal = file.internal
        self._file = _of_file(file)
        # Records have this without a call for each of them.
        self._partition = _compact({"topic": file.topic, "partition": file.partition})[1:-1]
        return ""

    def batch(self, batch: RecordBatch) -> str:
        """The object of a batch: everything in its head.

        Raises:
            DecodeError: it is compressed, of magic 0 or 1, and broken.
        """
        return _line(
            {
                "type": "batch",
                **self._file,
                "position": batch.position,
                "size": batch.size,
                "magic": batch.magic,
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
        """The objects of records of a batch, and how many of them are not what they should be."""
        is_decoded = batch.is_control or self._internal is not None
        head = f'{{"type":"record",{self._partition},"batch_position":{batch.position},"offset":'
        lines, errors = [], 0
        for record in records:
            said = "}\n"
            key, value = record.key, record.value
            content = None
            if is_decoded:
                try:
                    content = self._contents.of(record, self._internal, is_control=batch.is_control)
                except KipwireError as error:
                    errors += 1
                    said = f',"error":{_compact(str(error))}}}\n'
            if content is None:
                pair = f'"key":{_bytes(key)},"value":{_bytes(value)}'
            else:
                pair = f'"key":{content.key or "null"},"value":{content.value}'
                version = "null" if content.version is None else content.version
                said = f',"record_type":"{content.type}","record_type_id":{content.type_id},"version":{version}}}\n'
            lines.append(
                f'{head}{record.offset},"timestamp":{record.timestamp},"sequence":{batch.sequence(record)},'
                f'"key_size":{-1 if key is None else len(key)},"value_size":{-1 if value is None else len(value)},'
                f'{pair},"headers":{_headers(record) if record.headers else "[]"}{said}'
            )
        return "".join(lines), errors

    def damage(self, file: LogFile, damage: Damage) -> str:
        """The object of an error."""
        found = {"position": damage.position, "at": damage.at, "path": damage.path, "reason": damage.reason}
        return _line({"type": "error", **_of_file(file), **found})

    def summary(self, file: LogFile, summary: Summary) -> str:
        """The object of a file instead of its batches."""
        return _line({"type": "file", **_of_file(file), **vars(summary), "compressions": dict(summary.compressions)})


def _of_file(file: LogFile) -> dict[str, Any]:
    return {"file": str(file.path), "topic": file.topic, "partition": file.partition}


def _line(value: dict[str, Any]) -> str:
    return f"{_compact(value)}\n"


def _headers(record: Record) -> str:
    pairs = [
        f"[{_bytes(key.raw) if isinstance(key, RawHeaderKey) else encode_basestring_ascii(key)},{_bytes(value)}]"
        for key, value in record.headers
    ]
    return f"[{','.join(pairs)}]"


def _bytes(data: bytes | None) -> str:
    """A string if the bytes are UTF-8; else an object with base64."""
    if data is None:
        return "null"
    try:
        return encode_basestring_ascii(data.decode())
    except UnicodeDecodeError:
        return f'{{"base64":"{b64encode(data).decode()}"}}'
