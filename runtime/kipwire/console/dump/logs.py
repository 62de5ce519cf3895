"""Dump log files: their batches, and if asked for their records; or one line for each file.

It gets items (batches, damage, a tail) from any source: `reading` gives them from files, `topics` from brokers. `Lines`
makes the text, `text_lines` for people and `json_lines` for programs. Damage is a line in the output where the format
has one, and an error on standard error in any case, after the output before it is flushed, so that the two are in
order. Records are made into lines some at a time: a batch may have a million.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from kipwire.cli.output import Output
from kipwire.console.dump.log_files import Log, LogFile
from kipwire.console.dump.reading import Damage, Summary, damage_of, read_file
from kipwire.logs.accounting import Tail
from kipwire.model.errors import DecodeError
from kipwire.records import Bounds, Record, RecordBatch
from kipwire.records.reading import MagicTwo
from kipwire.records.space import Space, SpaceCounter
from kipwire.tools.text import count_of, print_err

_AT_ONCE = 1024
"""Records whose lines are made at a time: a batch may have a million, of a few bytes each."""


class Lines(Protocol):
    """Makes the lines of a format; each text ends with the end of a line, or is empty."""

    def turn_to(self, log: Log) -> None: ...
    def heading(self, log: Log, size: int | None) -> str: ...
    def batch(self, batch: RecordBatch) -> str: ...
    def records(self, batch: RecordBatch, records: list[Record]) -> tuple[str, int]: ...
    def damage(self, log: Log, damage: Damage) -> str: ...
    def summary(self, log: Log, summary: Summary) -> str: ...
    def space(self, topic: str | None, space: Space) -> str: ...


Item = RecordBatch | Damage | Tail


@dataclass(frozen=True)
class DumpOptions:
    """Filter and form of a dumped log."""

    bounds: Bounds | None = None
    """None: everything."""
    records: bool = False
    """True if records are shown under their batches."""
    summary: bool = False
    """True if there is one line for each file instead."""
    magic_2: MagicTwo = "kafka"
    """Format of batches with magic 2."""
    space: bool = False
    """True if summaries are followed by the bytes beyond keys and values, by topic."""


@dataclass
class LogDump:
    """Logs that are dumped one after the other."""

    lines: Lines
    out: Output
    options: DumpOptions
    errors: int = 0
    """Number of errors so far."""
    spaces: dict[str | None, Space] = field(default_factory=dict)
    """Space of the records so far, by topic; None for logs whose folder does not name one."""
    _shown: Log | None = None
    """Log of the last lines."""

    def limit_to(self, bounds: Bounds) -> None:
        """Show what is within these bounds from now on."""
        self.options = replace(self.options, bounds=None if bounds == Bounds() else bounds)

    def whole(self, file: LogFile, start: int = 0) -> int:
        """Dump a file from a batch on, by default the first one; return where its next batch will start."""
        size = file.path.stat().st_size
        found = read_file(file.path, start, self.options.bounds, self.options.magic_2)
        return self.items(file.log, found, size, start)

    def part(self, file: LogFile, start: int) -> int:
        """Dump the batches of a file from a position on; return where its next batch will start."""
        return self.more(file.log, read_file(file.path, start, self.options.bounds, self.options.magic_2), start)

    def items(self, log: Log, items: Iterable[Item], size: int | None = None, start: int = 0) -> int:
        """Dump the content of a log; return the position of its next batch.

        Args:
            log: to dump.
            items: its batches, damages and tail.
            size: its bytes; None if only its end shows them.
            start: the position of the first item.
        """
        self.lines.turn_to(log)
        self._shown = log
        if self.options.summary:
            position, tail = self._summary(log, items, size)
        else:
            self.out.write(self.lines.heading(log, size))
            position, tail = self._batches(log, items, start)
        if tail is not None and tail.size:
            self._say_tail(log, tail)
        return position

    def more(self, log: Log, items: Iterable[Item], start: int) -> int:
        """Dump what was added to a log from a position on; return where its next batch will start."""
        if log != self._shown:
            self.lines.turn_to(log)
            before, self._shown = self._shown, log
            if before is None or (before.topic, before.partition) != (log.topic, log.partition):
                self.out.write(self.lines.heading(log, None))
        return self._batches(log, items, start)[0]

    def _batches(self, log: Log, items: Iterable[Item], start: int) -> tuple[int, Tail | None]:
        position = start
        line, write, has_records = self.lines.batch, self.out.write, self.options.records
        for item in items:
            if isinstance(item, Tail):
                return item.position, item
            batch = item.batch if isinstance(item, Damage) else item
            if batch is not None:
                position = batch.position + batch.size
                try:
                    write(line(batch))
                    if has_records:
                        self._records(log, batch)
                except DecodeError as error:
                    self._report(log, self._damage(log, batch, error))
            if isinstance(item, Damage):
                self._report(log, item)
        return position, None

    def _records(self, log: Log, batch: RecordBatch) -> None:
        records, bounds = batch.records, self.options.bounds
        if bounds is not None:
            records = [record for record in records if bounds.has(record)]
        errors = 0
        for start in range(0, len(records), _AT_ONCE):
            text, wrong = self.lines.records(batch, records[start : start + _AT_ONCE])
            self.out.write(text)
            errors += wrong
        if errors:
            self._report_records(log, batch, errors)

    def _summary(self, log: Log, items: Iterable[Item], size: int | None) -> tuple[int, Tail | None]:
        summary, counter = Summary(size or 0), SpaceCounter()
        position, tail, seen = 0, None, 0
        for item in items:
            if isinstance(item, Tail):
                position, tail = item.position, item
                continue
            batch = item.batch if isinstance(item, Damage) else item
            if batch is not None:
                position = batch.position + batch.size
                seen += batch.size
                try:
                    summary.add(batch, has_offsets=batch is item)
                    if self.options.space:
                        counter.add(batch)
                except DecodeError as error:
                    summary.errors += 1
                    self._report(log, self._damage(log, batch, error))
            if isinstance(item, Damage):
                summary.errors += 1
                self._report(log, item)
        if size is None:
            summary.size = position + (tail.size if tail is not None else 0) if log.has_positions else seen
        self.out.write(self.lines.summary(log, summary))
        self.spaces[log.topic] = self.spaces.get(log.topic, Space()) + counter.space
        return position, tail

    def end(self) -> None:
        """Write what is known once all logs were read."""
        if self.options.space:
            self.out.write("".join(self.lines.space(*one) for one in self.spaces.items()))

    def _damage(self, log: Log, batch: RecordBatch, error: DecodeError) -> Damage:
        damage = damage_of(error, batch.position)
        if log.has_positions:
            return damage
        return damage._replace(
            position=-1, at=-1, reason=f"batch that ends at offset {batch.last_offset}: {damage.path}: {damage.reason}"
        )

    def _report(self, log: Log, damage: Damage) -> None:
        self.errors += 1
        self.out.write(self.lines.damage(log, damage))
        self.out.flush()
        what = f"{damage.path} at byte {damage.at}: " if damage.path else ""
        end = f"; {damage.lost}" if damage.lost else ""
        where = f"batch at byte {damage.position}: {what}" if log.has_positions else ""
        print_err(("error: ", "red"), f"{log.name}: {where}{damage.reason}{end}")

    def _report_records(self, log: Log, batch: RecordBatch, errors: int) -> None:
        self.errors += errors
        self.out.flush()
        where = f"byte {batch.position}" if log.has_positions else f"offset {batch.base_offset}"
        text = f"batch at {where}: {count_of(errors, 'record')} of it cannot be decoded"
        print_err(("error: ", "red"), f"{log.name}: {text}")

    def _say_tail(self, log: Log, tail: Tail) -> None:
        """Say what follows the last whole batch of a log that more may be added to."""
        self.out.flush()
        where = f"{count_of(tail.size, 'zero byte' if tail.is_zeros else 'byte')} from byte {tail.position} on"
        what = "space taken in advance" if tail.is_zeros else "a batch that is not complete"
        print_err((f"{log.name}: {where}: {what}", "yellow"))
