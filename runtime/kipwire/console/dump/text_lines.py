"""The lines of a log for people: one for each file, batch and record, as `name=value`.

The lines are for people and for grep: one for each thing, as `name=value`, without what is not set. `json_lines` is for
programs. There are three ways to show records: plain ones, records of internal topics decoded (`contents`), and values
by functions of the user (`values`); what one of these cannot decode is shown as it is, with the error.
"""

from __future__ import annotations

from kipwire.console.dump.contents import Contents
from kipwire.console.dump.log_files import Log
from kipwire.console.dump.reading import Damage, Summary
from kipwire.console.dump.values import PARTS, Decoders, ValueFailedError, json_text
from kipwire.console.schema_registry.heads import Part
from kipwire.model.errors import KipwireError
from kipwire.records import RawHeaderKey, Record, RecordBatch
from kipwire.records.model import Header
from kipwire.records.reading import MagicTwo
from kipwire.records.space import Space
from kipwire.tools.text import count_of, printable_line
from kipwire.tools.times import NONE, moment_text

_json = json_text(ascii=False)


class TextLines:
    """The lines of a log."""

    def __init__(self, decoders: Decoders | None = None, magic_2: MagicTwo = "kafka") -> None:
        """Make them; `decoders` has the functions of users, if any, and `magic_2` is the format of that magic."""
        self._internal: str | None = None
        self._has_positions = True
        self._contents = Contents(ascii=False, magic_2=magic_2)
        self._decoders = decoders or Decoders()

    def turn_to(self, log: Log) -> None:
        """Say which log the next lines are of."""
        self._internal = log.internal
        self._has_positions = log.has_positions
        self._decoders.turn_to(log.topic, log.partition)

    def heading(self, log: Log, size: int | None) -> str:
        """Format the line before the batches of a log; the size may not be known."""
        of_size = "" if size is None else f", {count_of(size, 'byte')}"
        return f"{log.name}: {log.what}{of_size}\n"

    def batch(self, batch: RecordBatch) -> str:
        """Format a batch as a line: everything in its head, except what is not set.

        Raises:
            DecodeError: it is compressed, of magic 0 or 1, and broken.
        """
        count = "" if batch.records_count is None else f" records={batch.records_count}"
        position = f"position={batch.position} " if self._has_positions else ""
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
            f"{position}size={batch.size} magic={batch.magic} compression={batch.compression} "
            f"crc={batch.crc}{epoch}{producer}{flags}\n"
        )

    def records(self, batch: RecordBatch, records: list[Record]) -> tuple[str, int]:
        """Format the lines of records of a batch, and count those that are not what they should be."""
        if batch.is_control or self._internal is not None:
            return self._decode_values(batch, records)
        return self._by_users(records) if self._decoders else (_plain(records), 0)

    def damage(self, log: Log, damage: Damage) -> str:
        """Return nothing: people read errors on standard error."""
        return ""

    def summary(self, log: Log, summary: Summary) -> str:
        """Format a file as one line, instead of its batches."""
        parts = [log.what, count_of(summary.size, "byte"), count_of(summary.batches, "batch", "batches")]
        if summary.batches:
            parts += [
                count_of(summary.records, "record"),
                f"offset={summary.first_offset}-{summary.last_offset}",
                f"time={moment_text(summary.first_timestamp)} to {moment_text(summary.last_timestamp)}",
                "compression="
                + ",".join(f"{name}:{number:,}" for name, number in sorted(summary.compressions.items())),
            ]
        if summary.control_batches:
            parts.append(count_of(summary.control_batches, "control batch", "control batches"))
        if summary.implausible_times:
            parts.append(_implausible(summary))
        if summary.errors:
            parts.append(count_of(summary.errors, "error"))
        return f"{log.name}: {', '.join(parts)}\n"

    def space(self, topic: str | None, space: Space) -> str:
        """Format the bytes of a topic's records as one line."""
        beyond = ", ".join(f"{name} {size:,}" for name, size in space.beyond.items())
        headers = f", {space.headers:,} of headers" if space.headers else ""
        return (
            f"{topic or 'logs of no topic'}: {count_of(space.records, 'record')}, "
            f"{count_of(space.contents, 'byte')} of keys and values{headers}; beyond them, not compressed: {beyond}\n"
        )

    def _decode_values(self, batch: RecordBatch, records: list[Record]) -> tuple[str, int]:
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

    def _by_users(self, records: list[Record]) -> tuple[str, int]:
        """Format the lines of records whose keys or values functions of users decode, and count those that fail."""
        lines, errors = [], 0
        for record in records:
            wrong: list[str] = []
            key, value = (self._part_text(part, record, wrong) for part in PARTS)
            errors += bool(wrong)
            said = f" error={'; '.join(wrong)!r}" if wrong else ""
            lines.append(f"{_start(record)} key={key} value={value}{said}\n")
        return "".join(lines), errors

    def _part_text(self, part: Part, record: Record, wrong: list[str]) -> str:
        try:
            found = self._decoders.shown(part, record, _result)
        except ValueFailedError as error:
            wrong.append(str(error))
            found = None
        return _text_of(getattr(record, part)) if found is None else found


def _result(value: object) -> str:
    """Show text as records are shown, everything else as JSON."""
    return repr(value) if type(value) is str else _safe(_json(value))


_MOST_PRODUCERS = 5
"""Producers that a line names."""


def _implausible(summary: Summary) -> str:
    """Format how many batches have implausible times, and whose they are."""
    count = count_of(summary.implausible_times, "batch", "batches")
    ids = list(summary.implausible_producers)
    named = ", ".join(map(str, ids[:_MOST_PRODUCERS])) + (", ..." if len(ids) > _MOST_PRODUCERS else "")
    whose = f" (producer {named})" if ids else ""
    return f"{count} with times before 1970 or in the future{whose}"


def _plain(records: list[Record]) -> str:
    """Format the lines of records that are shown as they are: nearly all of the time of a dump is spent here."""
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
    """Return the line of one record."""
    return f"{_start(record)} key={_text_of(record.key)} value={_text_of(record.value)}\n"


def _start(record: Record) -> str:
    headers = _header_text(record.headers) if record.headers else ""
    return f"  offset={record.offset} time={moment_text(record.timestamp)}{headers}"


def _header_text(headers: list[Header]) -> str:
    texts = [
        f"{key.raw if isinstance(key, RawHeaderKey) else key!r}: {'null' if value is None else _text_of(value)}"
        for key, value in headers
    ]
    return f" headers={{{', '.join(texts)}}}"


def _text_of(data: bytes | None) -> str:
    """Format bytes as text if they are UTF-8, with escapes for what cannot be printed; else as Python writes bytes."""
    if data is None:
        return "null"
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data)


def _safe(text: str) -> str:
    return text if text.isprintable() else printable_line(text)
