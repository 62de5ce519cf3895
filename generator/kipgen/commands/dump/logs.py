"""Dump log files: their batches, and if asked for their records; or one line for each file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from kipgen.commands.console import one_line
from kipgen.commands.dump.log_files import LogFile
from kipgen.commands.dump.output import Output
from kipgen.commands.dump.reading import LOST, Damage, Rest, damage_of, read_file, rest_of
from kipgen.commands.dump.summary import Summary
from kipwire.errors import DecodeError
from kipwire.records import Bounds, Record, RecordBatch
from kipwire.records.names import segment_after
from kipwire.tools.lines import print_err
from kipwire.tools.words import counted


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
        """Dump a file; where its next batch will start, or `LOST`."""
        size = file.path.stat().st_size
        text = self.lines.file(file, size)
        if self.wanted.summary:
            rest = self._summary(file, size)
        else:
            self.out.write(text)
            rest = self.part(file, 0)
        if rest.size:
            self._say_rest(file, rest)
        return rest.position

    def part(self, file: LogFile, start: int) -> Rest:
        """Dump the batches of a file from a position on; what follows them."""
        size = file.path.stat().st_size  # before the batches are read: what is added meanwhile was not passed over
        position = start
        line, write, has_records = self.lines.batch, self.out.write, self.wanted.records
        for item in read_file(file.path, start, self.wanted.bounds):
            if isinstance(item, Damage):
                self._report(file, item)
                if not item.goes_on:
                    return Rest(LOST, 0, False)
                continue
            position = item.position + item.size
            try:
                write(line(item))
                if has_records:
                    self._records(file, item)
            except DecodeError as error:
                self._report(file, damage_of(error, file.path, item.position, True))
        return rest_of(file.path, position, max(size, position))

    def _records(self, file: LogFile, batch: RecordBatch) -> None:
        records, bounds = batch.records, self.wanted.bounds
        if bounds is not None:
            records = [record for record in records if bounds.has(record)]
        text, errors = self.lines.records(batch, records)
        self.out.write(text)
        if errors:
            self._report_records(file, batch, errors)

    def _summary(self, file: LogFile, size: int) -> Rest:
        summary = Summary(size)
        position = 0
        whole = True
        for item in read_file(file.path, 0, self.wanted.bounds):
            if isinstance(item, Damage):
                summary.errors += 1
                self._report(file, item)
                whole = item.goes_on
                continue
            position = item.position + item.size
            try:
                summary.add(item)
            except DecodeError as error:
                summary.errors += 1
                self._report(file, damage_of(error, file.path, item.position, True))
        self.out.write(self.lines.summary(file, summary))
        return rest_of(file.path, position, max(size, position)) if whole else Rest(LOST, 0, False)

    def _report(self, file: LogFile, damage: Damage) -> None:
        self.errors += 1
        self.out.write(self.lines.damage(file, damage))
        self.out.flush()
        what = f"{damage.path} at byte {damage.at}: " if damage.path else ""
        end = "" if damage.goes_on else "; the rest of the file is not read"
        text = f"batch at byte {damage.position}: {what}{damage.reason}{end}"
        print_err(("error: ", "red"), f"{one_line(file.path)}: {text}")

    def _report_records(self, file: LogFile, batch: RecordBatch, errors: int) -> None:
        self.errors += errors
        self.out.flush()
        text = f"batch at byte {batch.position}: {counted(errors, 'record')} of it cannot be decoded"
        print_err(("error: ", "red"), f"{one_line(file.path)}: {text}")

    def _say_rest(self, file: LogFile, rest: Rest) -> None:
        """Say what follows the last batch, which is damage only in a file to which nothing is added any more."""
        where = f"{counted(rest.size, 'zero byte' if rest.is_zeros else 'byte')} from byte {rest.position} on"
        if not rest.is_zeros and (file.snapshot_end is not None or segment_after(file.path) is not None):
            reason = f"{counted(rest.size, 'byte')} follow the last whole batch, and nothing is added to this file"
            self._report(file, Damage(rest.position, rest.position, "", reason, False))
            return
        self.out.flush()
        what = "space taken in advance" if rest.is_zeros else "a batch that is not complete"
        print_err((f"{one_line(file.path)}: {where}: {what}", "yellow"))
