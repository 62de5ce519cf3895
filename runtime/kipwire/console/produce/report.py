"""The report of what is written: as JSON a line for each run of offsets, as text a line for each partition."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from kipwire.console.produce.filling import Moved
from kipwire.logs.names import Partition
from kipwire.tools.text import count_of, print_err, print_out


@dataclass
class _Sum:
    """The records of a partition that are written."""

    records: int = 0
    old: list[int] = field(default_factory=list)
    """First and last of the offsets that they had."""
    new: list[int] = field(default_factory=list)
    numbers: set[int | None] = field(default_factory=set)
    """The partitions that they were in."""


class Report:
    """Counts what is written, and prints it."""

    def __init__(self, topic: str, source: str | None, *, as_json: bool) -> None:
        """Begin with nothing.

        Args:
            topic: that is written to.
            source: the topic of the lines; None if they do not say one.
            as_json: True for JSON.
        """
        self._topic, self._source, self._as_json = topic, source, as_json
        self._sums: dict[int, _Sum] = {}
        self.before = 0
        """Records that earlier runs have written."""

    def add(self, partition: Partition, moved: Moved) -> None:
        """Note records that are written, and print them as JSON.

        Raises:
            BrokenPipeError: the reader of standard output is gone.
        """
        found = self._sums.setdefault(partition.number, _Sum())
        found.records += moved.count
        found.numbers.add(moved.number)
        _widen(found.old, moved.first, moved.count)
        _widen(found.new, moved.offset, moved.count)
        if self._as_json:
            line = {
                "type": "written",
                "topic": self._topic,
                "partition": partition.number,
                "offset": moved.offset,
                "records": moved.count,
                "from_topic": self._source,
                "from_partition": moved.number,
                "from_offset": moved.first,
            }
            print_out(json.dumps(line, separators=(",", ":")))

    def end(self, counts: dict[str, int], in_doubt: int, *, is_whole: bool) -> None:
        """Print the counts.

        Args:
            counts: of records that were left out, by what they are.
            in_doubt: records of batches that went out without an answer.
            is_whole: False if something has ended the program before, which is then said on standard error.
        """
        records = sum(one.records for one in self._sums.values())
        if self._as_json and is_whole:
            line = {"type": "summary", "topic": self._topic, "records": records, "before": self.before, **counts}
            print_out(json.dumps(line, separators=(",", ":")))
            return
        say = print_out if is_whole else print_err
        for number, one in sorted(self._sums.items()):
            say(f"{self._topic} partition {number}: {count_of(one.records, 'record')}{self._offsets(one)}")
        say(f"{self._topic}: {count_of(records, 'record')} written")
        if self.before:
            say(f"{count_of(self.before, 'record')} written by earlier runs")
        if in_doubt:
            say(f"{count_of(in_doubt, 'record')} more may be written: no answer came")
        if is_whole:
            for name, count in counts.items():
                if count:
                    say(f"{_WORDS[name]}: {count:,}")

    def _offsets(self, one: _Sum) -> str:
        new = f" now at offsets {_range(one.new)}" if one.new else ""
        if len(one.numbers) > 1 or not one.old:
            return new
        (number,) = one.numbers
        where = "" if number is None else f" of {self._source} partition {number}"
        return f"{new}, before at {_range(one.old)}{where}"


_WORDS = {
    "markers": "left out, control records",
    "aborted": "left out, records of aborted transactions",
    "undecided": "written, records of transactions whose end the lines do not have",
}


def _widen(offsets: list[int], first: int | None, count: int) -> None:
    if first is not None:
        offsets[:] = [min([first, *offsets]), max([first + count - 1, *offsets])]


def _range(offsets: list[int]) -> str:
    return f"{offsets[0]} to {offsets[1]}"
