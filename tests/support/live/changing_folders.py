"""Log folders that change as a broker changes them: segments grow, roll, and are replaced and deleted."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Literal

from kipwire.records import Record, write_batch

_ROLLED = 6000
"""Bytes at which a segment is closed."""
_MOST_PARTITIONS = 6
_AWAY = ".away"
_MOST_WAITING = 3000
"""Records that wait for the stream, where it is slower than they come."""


class Log:
    """One partition: its folder, and what was ever written to it."""

    def __init__(self, logs: Path, name: str, first_offset: int) -> None:
        """Begin a log."""
        self.name = name
        self.folder = logs / name
        self.folder.mkdir(parents=True)
        self.first_offset = self.next_offset = first_offset
        self.segments: dict[int, list[range]] = {first_offset: []}
        """The offsets of the batches of each segment, by its base offset; the last one is still written to."""
        self.path(first_offset).touch()

    def path(self, base_offset: int) -> Path:
        """Return the file of a segment."""
        return self.folder / f"{base_offset:020}.log"

    def data(self, offsets: range, compression: Literal["none", "gzip"] = "none") -> bytes:
        """Return a batch."""
        records = [Record(offset=at, timestamp=at, value=b"%s %d" % (self.name.encode(), at)) for at in offsets]
        return write_batch(records, compression=compression)

    def append(self, count: int) -> None:
        """Write a batch, in two steps; before that close the segment if it is large."""
        base = max(self.segments)
        if self.path(base).stat().st_size >= _ROLLED:
            base = self.next_offset
            self.segments[base] = []
        offsets = range(self.next_offset, self.next_offset + count)
        data = self.data(offsets)
        with self.path(base).open("ab", buffering=0) as file:
            file.write(data[: len(data) // 2])
            file.write(data[len(data) // 2 :])
        self.segments[base].append(offsets)
        self.next_offset = offsets.stop

    def closed(self) -> list[int]:
        """Return the base offsets of segments that are no longer written to."""
        return sorted(self.segments)[:-1]

    def replace(self, bases: list[int]) -> None:
        """Replace segments by one with other bytes and the same records, in the steps in which compaction does it."""
        batches = [offsets for base in bases for offsets in self.segments[base]]
        new = self.path(bases[0])
        swap = new.with_name(f"{new.name}.swap")
        cleaned = new.with_name(f"{new.name}.cleaned")
        cleaned.write_bytes(b"".join(self.data(offsets, "gzip") for offsets in batches))
        cleaned.rename(swap)
        olds = [self.path(base).rename(f"{self.path(base)}.deleted") for base in bases]
        swap.rename(new)
        for old in olds:
            old.unlink()
        for base in bases:
            del self.segments[base]
        self.segments[bases[0]] = batches

    def delete(self, before: int) -> int:
        """Delete closed segments that have no offset from `before` on; return their number."""
        bases = sorted(self.segments)
        gone = [base for base, end in pairwise(bases) if end <= before]
        for base in gone:
            self.path(base).rename(f"{self.path(base)}.deleted").unlink()
            del self.segments[base]
        return len(gone)


class ChangingFolders:
    """A broker's folder whose logs change at random, and never lose what a stream has not yet committed."""

    def __init__(self, logs: Path, checkpoint: Path, random: Random) -> None:
        """Begin with two partitions."""
        self.root = logs
        self.checkpoint = checkpoint
        self.random = random
        self.logs: list[Log] = []
        self.done: Counter[str] = Counter()
        """Number of changes of each kind."""
        self.away: dict[str, int] = {}
        """Number of changes until a removed folder comes back, by folder."""
        self.leaving: Log | None = None
        """The log that is not written to any more; once all of it is committed, its folder goes."""
        for _ in range(2):
            self.add()

    def add(self) -> None:
        """Make a partition."""
        number = len(self.logs)
        self.logs.append(Log(self.root, f"log-{number}", number * 1000))

    def records(self) -> list[list[Any]]:
        """Name, offset and value of every record that was ever written."""
        return [
            [log.name, offset, f"{log.name} {offset}"]
            for log in self.logs
            for offset in range(log.first_offset, log.next_offset)
        ]

    def committed(self) -> dict[str, int]:
        """Return the next offsets of the folders, by what the stream has committed."""
        numbers = [int(file.name) for file in (self.checkpoint / "commits").glob("[0-9]*") if file.name.isdigit()]
        if not numbers:
            return {}
        try:
            lines = (self.checkpoint / "offsets" / str(max(numbers))).read_text().splitlines()
        except FileNotFoundError:  # it removes old ones
            return {}
        return {Path(path).name: offset for path, offset in json.loads(lines[-1])["next_offsets"].items()}

    def change(self) -> None:
        """Make one change."""
        for name, left in list(self.away.items()):
            self.away[name] = left - 1
            if not left:
                self.back(name)
        committed = self.committed()
        if self.leaving is not None and committed.get(self.leaving.name) == self.leaving.next_offset:
            self.leaving.folder.rename(self.root.parent / (self.leaving.name + _AWAY))
            self.away[self.leaving.name] = self.random.randint(50, 500)
            self.leaving = None
            self.done["leave"] += 1
        log = self.random.choice([log for log in self.logs if log.name not in self.away])
        what = self.random.choices(("append", "replace", "delete", "add", "leave"), (85, 6, 5, 0.5, 1))[0]
        if what == "append":
            waiting = sum(log.next_offset - committed.get(log.name, log.first_offset) for log in self.logs)
            if log is self.leaving or waiting > _MOST_WAITING:
                return
            log.append(self.random.randint(1, 8))
        elif what == "replace":
            closed = log.closed()[-4:]
            if not closed:
                return
            at = self.random.randrange(len(closed))
            log.replace(closed[at : at + self.random.randint(1, 3)])
        elif what == "delete":
            if not log.delete(committed.get(log.name, 0)):
                return
        elif what == "add":
            if len(self.logs) == _MOST_PARTITIONS:
                return
            self.add()
        else:
            if self.leaving is None and not self.away:
                self.leaving = log
            return
        self.done[what] += 1

    def back(self, name: str) -> None:
        """Bring back a folder that is gone."""
        shutil.move(self.root.parent / (name + _AWAY), self.root / name)
        del self.away[name]

    def settle(self) -> None:
        """Bring back all folders."""
        for name in list(self.away):
            self.back(name)
