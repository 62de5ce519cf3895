"""Dump log files: their batches, and if asked for their records; or one line for each file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from kipwire.console.command_line import one_line
from kipwire.console.dump.log_files import LogFile
from kipwire.console.dump.output import Output
from kipwire.console.dump.reading import Damage, Summary, damage_of, read_file
from kipwire.model.errors import DecodeError
from kipwire.records import Bounds, Record, RecordBatch
from kipwire.records.accounting import Tail
from kipwire.tools.text import counted, print_err

_AT_ONCE = 1024
"""Records whose lines are made at a time: a batch may have a million, of a few bytes each."""


class Lines(Protocol):
    """Makes the lines of a format; each text ends with the end of a line, or is empty."""

    def file(self, file: LogFile, size: int) -> str: ...
    def batch(self, batch: RecordBatch) -> str: ...
    def records(self, batch: RecordBatch, records: list[Record]) -> tuple[str, int]: ...
    def damage(self, file: LogFile, damage: Damage) -> str: ...
    def summary(self, file: LogFile, summary: Summary) -> str: ...


@dataclass(frozen=True)
class Wanted:
    """What to show of a log."""

    bounds: Bounds | None = None
    """None: everything."""
    records: bool = False
    """Whether records are shown under their batches."""
    summary: bool = False
    """Whether there is one line for a file instead."""


@dataclass
class LogDump:
    """Log files that are dumped one after the other."""

    lines: Lines
    out: Output
    wanted: Wanted
    errors: int = field(default=0)
    """How many were found so far."""

    def whole(self, file: LogFile) -> int:
        """Dump a file; return where its next batch will start."""
        text = self.lines.file(file, file.path.stat().st_size)
        if self.wanted.summary:
            return self._summary(file)
        self.out.write(text)
        position, tail = self._part(file, 0)
        if tail is not None and tail.size:
            self._say_tail(file, tail)
        return position

    def part(self, file: LogFile, start: int) -> int:
        """Dump the batches of a file from a position on; return where its next batch will start."""
        return self._part(file, start)[0]

    def _part(self, file: LogFile, start: int) -> tuple[int, Tail | None]:
        position = start
        line, write, has_records = self.lines.batch, self.out.write, self.wanted.records
        for item in read_file(file.path, start, self.wanted.bounds):
            if isinstance(item, Tail):
                return item.position, item
            if isinstance(item, Damage):
                self._report(file, item)
                continue
            position = item.position + item.size
            try:
                write(line(item))
                if has_records:
                    self._records(file, item)
            except DecodeError as error:
                self._report(file, damage_of(error, file.path, item.position))
        return position, None

    def _records(self, file: LogFile, batch: RecordBatch) -> None:
        records, bounds = batch.records, self.wanted.bounds
        if bounds is not None:
            records = [record for record in records if bounds.has(record)]
        errors = 0
        for start in range(0, len(records), _AT_ONCE):
            text, wrong = self.lines.records(batch, records[start : start + _AT_ONCE])
            self.out.write(text)
            errors += wrong
        if errors:
            self._report_records(file, batch, errors)

    def _summary(self, file: LogFile) -> int:
        summary = Summary(file.path.stat().st_size)
        position, tail = 0, None
        for item in read_file(file.path, 0, self.wanted.bounds):
            if isinstance(item, Tail):
                position, tail = item.position, item
                continue
            if isinstance(item, Damage):
                summary.errors += 1
                self._report(file, item)
                continue
            position = item.position + item.size
            try:
                summary.add(item)
            except DecodeError as error:
                summary.errors += 1
                self._report(file, damage_of(error, file.path, item.position))
        self.out.write(self.lines.summary(file, summary))
        if tail is not None and tail.size:
            self._say_tail(file, tail)
        return position

    def _report(self, file: LogFile, damage: Damage) -> None:
        self.errors += 1
        self.out.write(self.lines.damage(file, damage))
        self.out.flush()
        what = f"{damage.path} at byte {damage.at}: " if damage.path else ""
        end = f"; {damage.lost}" if damage.lost else ""
        text = f"batch at byte {damage.position}: {what}{damage.reason}{end}"
        print_err(("error: ", "red"), f"{one_line(file.path)}: {text}")

    def _report_records(self, file: LogFile, batch: RecordBatch, errors: int) -> None:
        self.errors += errors
        self.out.flush()
        text = f"batch at byte {batch.position}: {counted(errors, 'record')} of it cannot be decoded"
        print_err(("error: ", "red"), f"{one_line(file.path)}: {text}")

    def _say_tail(self, file: LogFile, tail: Tail) -> None:
        """Say what follows the last whole batch of a file that more may be added to."""
        self.out.flush()
        where = f"{counted(tail.size, 'zero byte' if tail.is_zeros else 'byte')} from byte {tail.position} on"
        what = "space taken in advance" if tail.is_zeros else "a batch that is not complete"
        print_err((f"{one_line(file.path)}: {where}: {what}", "yellow"))
