"""The lines of a log: for people one for each file, batch and record, as `name=value`; for programs JSON objects.

A JSON object is a file, a batch, a record or an error, told apart by `type`.
"""

from __future__ import annotations

from base64 import b64encode
from json.encoder import encode_basestring_ascii
from typing import Any

from kipwire.console.dump.contents import Contents, JsonText
from kipwire.console.dump.log_files import LogFile
from kipwire.console.dump.output import NONE, moment_text
from kipwire.console.dump.reading import Damage, Summary
from kipwire.model.errors import KipwireError
from kipwire.records import RawHeaderKey, Record, RecordBatch
from kipwire.records.model import Header
from kipwire.tools.text import counted, printable_line


class TextLines:
    """The lines of the files of a log."""

    def __init__(self) -> None:
        self._internal: str | None = None
        self._contents = Contents(ascii=False)

    def file(self, file: LogFile, size: int) -> str:
        """The heading of a file, before its batches."""
        self._internal = file.internal
        return f"{_name(file)}: {_what(file)}, {counted(size, 'byte')}\n"

    def batch(self, batch: RecordBatch) -> str:
        """The line of a batch: everything in its head, except what is not set.

        Raises:
            DecodeError: it is compressed, of magic 0 or 1, and broken.
        """
        count = "" if batch.records_count is None else f" records={batch.records_count}"
        epoch = "" if batch.partition_leader_epoch < 0 else f" leader_epoch={batch.partition_leader_epoch}"
        producer = ""
        if batch.producer_id >= 0:
            producer = f" producer={batch.producer_id} producer_epoch={batch.producer_epoch}"
        if batch.base_sequence >= 0:
            producer += f" sequence={batch.base_sequence}-{batch.last_sequence}"
        flags = ""
        if batch.timestamp_type != "CreateTime":
            flags = f" {batch.timestamp_type}"
        if batch.is_transactional:
            flags += " transactional"
        if batch.is_control:
            flags += " control"
        if batch.delete_horizon is not None:
            flags += f" delete_horizon={moment_text(batch.delete_horizon)}"
        return (
            f"offset={batch.base_offset}-{batch.last_offset}{count} time={moment_text(batch.max_timestamp)} "
            f"position={batch.position} size={batch.size} magic={batch.magic} compression={batch.compression} "
            f"crc={batch.crc}{epoch}{producer}{flags}\n"
        )

    def records(self, batch: RecordBatch, records: list[Record]) -> tuple[str, int]:
        """The lines of records of a batch, and how many of them are not what they should be."""
        if batch.is_control or self._internal is not None:
            return self._decoded(batch, records)
        return _plain(records), 0

    def damage(self, file: LogFile, damage: Damage) -> str:
        """Nothing: people read errors on standard error."""
        return ""

    def summary(self, file: LogFile, summary: Summary) -> str:
        """The line of a file instead of its batches."""
        parts = [_what(file), counted(summary.size, "byte"), _counted(summary.batches, "batch", "batches")]
        if summary.batches:
            parts += [
                counted(summary.records, "record"),
                f"offset={summary.first_offset}-{summary.last_offset}",
                f"time={moment_text(summary.first_timestamp)} to {moment_text(summary.last_timestamp)}",
                "compression="
                + ",".join(f"{name}:{number:,}" for name, number in sorted(summary.compressions.items())),
            ]
        if summary.control_batches:
            parts.append(_counted(summary.control_batches, "control batch", "control batches"))
        if summary.errors:
            parts.append(counted(summary.errors, "error"))
        return f"{_name(file)}: {', '.join(parts)}\n"

    def _decoded(self, batch: RecordBatch, records: list[Record]) -> tuple[str, int]:
        lines, errors = [], 0
        content_of, internal, is_control = self._contents.of, self._internal, batch.is_control
        timestamp, time = NONE, moment_text(NONE)
        for record in records:
            try:
                content = content_of(record, internal, is_control=is_control)
            except KipwireError as error:
                errors += 1
                lines.append(f"{_record(record)[:-1]} error={str(error)!r}\n")
                continue
            if content is None:
                lines.append(_record(record))
                continue
            if record.timestamp != timestamp:
                timestamp = record.timestamp
                time = moment_text(timestamp)
            type_, _, key, value, version = content
            lines.append(
                f"  offset={record.offset} time={time}{_header_text(record.headers) if record.headers else ''} "
                f"{type_}{'' if version is None else f' v{version}'}{'' if key is None else f' key={_safe(key)}'} "
                f"value={value if value.isprintable() else printable_line(value)}\n"
            )
        return "".join(lines), errors


def _plain(records: list[Record]) -> str:
    """The lines of records that are shown as they are: nearly all of the time of a dump is spent here."""
    lines = []
    timestamp, time = NONE, moment_text(NONE)
    for record in records:
        if record.timestamp != timestamp:
            timestamp = record.timestamp
            time = moment_text(timestamp)
        key, value, headers = record.key, record.value, record.headers
        try:
            lines.append(
                f"  offset={record.offset} time={time}{_header_text(headers) if headers else ''} "
                f"key={'null' if key is None else repr(key.decode())} "
                f"value={'null' if value is None else repr(value.decode())}\n"
            )
        except UnicodeDecodeError:
            lines.append(_record(record))
    return "".join(lines)


def _record(record: Record) -> str:
    """The same of one record."""
    headers = _header_text(record.headers) if record.headers else ""
    return (
        f"  offset={record.offset} time={moment_text(record.timestamp)}{headers} "
        f"key={_text_of(record.key)} value={_text_of(record.value)}\n"
    )


def _header_text(headers: list[Header]) -> str:
    texts = [
        f"{key.raw if isinstance(key, RawHeaderKey) else key!r}: {'null' if value is None else _text_of(value)}"
        for key, value in headers
    ]
    return f" headers={{{', '.join(texts)}}}"


def _text_of(data: bytes | None) -> str:
    """Bytes as text if they are UTF-8, with escapes for all that cannot be printed; else as Python writes bytes."""
    if data is None:
        return "null"
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data)


def _safe(text: str) -> str:
    return text if text.isprintable() else printable_line(text)


def _name(file: LogFile) -> str:
    return printable_line(str(file.path))


def _what(file: LogFile) -> str:
    where = "a log" if file.topic is None else f"{file.topic} partition {file.partition}"
    if file.snapshot_end is not None:
        return f"snapshot of {where} before offset {file.snapshot_end.end_offset}, epoch {file.snapshot_end.epoch}"
    return where if file.base_offset is None else f"{where} from offset {file.base_offset}"


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


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
                pair = f'"key":{_json_of(key)},"value":{_json_of(value)}'
            else:
                pair = f'"key":{content.key or "null"},"value":{content.value}'
                version = "null" if content.version is None else content.version
                said = f',"record_type":"{content.type}","record_type_id":{content.type_id},"version":{version}}}\n'
            lines.append(
                f'{head}{record.offset},"timestamp":{record.timestamp},"sequence":{batch.sequence(record)},'
                f'"key_size":{-1 if key is None else len(key)},"value_size":{-1 if value is None else len(value)},'
                f'{pair},"headers":{_header_json(record) if record.headers else "[]"}{said}'
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


def _header_json(record: Record) -> str:
    pairs = [
        f"[{_json_of(key.raw) if isinstance(key, RawHeaderKey) else encode_basestring_ascii(key)},{_json_of(value)}]"
        for key, value in record.headers
    ]
    return f"[{','.join(pairs)}]"


def _json_of(data: bytes | None) -> str:
    """A string if the bytes are UTF-8; else an object with base64."""
    if data is None:
        return "null"
    try:
        return encode_basestring_ascii(data.decode())
    except UnicodeDecodeError:
        return f'{{"base64":"{b64encode(data).decode()}"}}'
