"""Writes the records of lines into a topic: reads, places and gathers them, and goes on where earlier runs ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from shutil import copyfileobj
from time import monotonic
from typing import BinaryIO, NamedTuple, cast

from kipwire.aio import Address
from kipwire.cluster import LATEST, Cluster, Partition, Settings
from kipwire.cluster.brokers import NotFound
from kipwire.cluster.partitions import Leaders
from kipwire.cluster.writing import Found, Writer, find_written
from kipwire.console.dump_lines import LineError
from kipwire.console.produce.entries import Contents, Entry, entries_of_dump, entries_of_lines, look_through
from kipwire.console.produce.filling import Filling, WrongLinesError
from kipwire.console.produce.placing import Place, always, by_key, same
from kipwire.console.produce.report import Report
from kipwire.console.produce.state import Reached, State, expect_same, read_state, write_state, wrong_lines
from kipwire.model.errors import KipwireError
from kipwire.records.compression import COMPRESSIONS, Compression
from kipwire.tools.locks import locked
from kipwire.tools.text import count_of

GATHERED = 64 << 20
"""Bytes of records of all partitions that may wait."""
_SECONDS = 1.0
"""Between two states on the disk."""


@dataclass(frozen=True)
class What:
    """Options of the command."""

    topic: str
    name: str
    """The file in errors."""
    lines: bool
    """True for plain lines."""
    number: int | None
    """The partition for all records."""
    by_key: bool
    compression: Compression
    state: Path | None
    as_json: bool


class Source(NamedTuple):
    """Records to write, and what is known of them."""

    entries: Iterator[Entry]
    contents: Contents


def source_of(stream: BinaryIO, kept: BinaryIO | None, what: What) -> Source:
    """Read what has to be known before anything is written.

    Args:
        stream: the lines.
        kept: a temporary file for them, if they can be read only once.
        what: the options.

    Raises:
        LineError: a line is wrong, or there are no records.
        OSError: the lines cannot be read, or not be kept.
    """
    again = stream if kept is None else kept
    if what.lines:
        if kept is not None:
            copyfileobj(stream, kept)
            kept.seek(0)
        return Source(entries_of_lines(again, what.name), Contents())
    contents = look_through(stream if kept is None else cast(BinaryIO, _Keeping(stream, kept)), what.name)
    if not contents.batches:
        raise LineError(f"{what.name}: contains no batches; give the lines of kipwire dump --records --format json")
    if not (contents.numbers or contents.markers):
        raise LineError(f"{what.name}: contains no records; dump with --records")
    again.seek(0)
    return Source(entries_of_dump(again, what.name, contents), contents)


class _Keeping:
    """A stream whose lines are written to a file as they are read."""

    def __init__(self, stream: BinaryIO, kept: BinaryIO) -> None:
        self._stream, self._kept = stream, kept

    def readline(self, limit: int) -> bytes:
        line = self._stream.readline(limit)
        self._kept.write(line)
        return line


async def write(source: Source, brokers: tuple[Address, ...], settings: Settings, what: What) -> None:
    """Write all records; print a report, also if something ends it before.

    Raises:
        NotFound: there is no such topic or partition.
        StateError: the state is something else, or about something else.
        LineError: a record cannot be written.
        KipwireError: a broker cannot be reached, or refuses a batch.
        OSError: the state cannot be written, or the lines not be read.
    """
    async with Cluster(brokers, settings) as cluster:
        leaders = await cluster.leaders(what.topic)
        if leaders.has_no(what.topic):
            await _no_topic(cluster, leaders, source.contents, what)
        partitions = leaders.expect(what.topic)
        place = _placing(partitions, source.contents, what)
        lock = (
            nullcontext() if what.state is None else locked(what.state.with_name(f"{what.state.name}.lock"), what.state)
        )
        with lock:
            log = leaders.logs.get(partitions[0])
            of = {
                "topic": what.topic,
                "topic id": str(log.topic_id) if log else "",
                "placing": _words(partitions, what),
            }
            state, found = await _begin(cluster, leaders, of, what.state)
            fillings = {
                one.number: Filling(one, state.producer, state.partitions[one.number], found.get(one, []))
                for one in partitions
            }
            report = Report(what.topic, source.contents.topic, as_json=what.as_json)
            running = Running(cluster.writer(leaders), fillings, report, state, what)
            await running.run(source, place)


async def _no_topic(cluster: Cluster, leaders: Leaders, contents: Contents, what: What) -> None:
    """Raise the error of a missing topic, with the command that makes it."""
    try:
        await cluster.expect(leaders, what.topic)
    except NotFound as error:
        most = max((number for number in contents.numbers if number is not None), default=0)
        request = f'{{"topics":[{{"name":"{what.topic}","numPartitions":{most + 1},"replicationFactor":-1}}]}}'
        make = f"kipwire call {cluster.name} CreateTopics {quote(request)}"
        raise NotFound(f"{error}; make it: {make}") from None


def _placing(partitions: list[Partition], contents: Contents, what: What) -> Place:
    """Choose how records get their partitions, and check that the topic has them.

    Raises:
        NotFound: it has not.
    """
    has = f"{what.topic} has {count_of(len(partitions), 'partition')}"
    if what.number is not None:
        if what.number >= len(partitions):
            raise NotFound(f"there is no partition {what.number}: {has}")
        return always(what.number)
    if what.by_key or what.lines:
        return by_key(len(partitions))
    for number, place in contents.numbers.items():
        if number is None:
            raise NotFound(f"{place}: the line does not say a partition; give --partition N, or --by-key")
        if number >= len(partitions):
            why = f"{place}: the records are of partition {number}, and {has}"
            raise NotFound(f"{why}; give --by-key, --partition N, or a topic with more partitions")
    return same


def _words(partitions: list[Partition], what: What) -> str:
    """Say how records get their partitions, for a state."""
    if what.number is not None:
        return f"partition {what.number}"
    return f"by key in {len(partitions)}" if what.by_key or what.lines else "same"


async def _begin(
    cluster: Cluster, leaders: Leaders, of: Mapping[str, str], file: Path | None
) -> tuple[State, dict[Partition, list[Found]]]:
    """Find how much is written, and note where to look for what will be."""
    state = None if file is None else read_state(file)
    if state is not None and file is not None:
        expect_same(file, state.of, of)
    offsets = await cluster.offsets(leaders, LATEST)
    if len(offsets) < len(leaders):
        raise KipwireError("; ".join(map(str, offsets.problems)) or "a leader returned nothing for a partition")
    known = {} if state is None else state.partitions
    producer = await cluster.producer() if state is None else state.producer
    reached = {one.number: known.get(one.number, Reached(0, "", end)) for one, end in offsets.items()}
    found: dict[Partition, list[Found]] = {}
    if state is not None:
        starts = {one: reached[one.number].offset for one in leaders}
        reader = cluster.reader(leaders)
        async for batch in find_written(reader, producer, starts, offsets):
            found.setdefault(batch.partition, []).append(batch)
    return State(of, producer, reached), found


class Running:
    """Gathers records by partition, and writes them."""

    def __init__(
        self, writer: Writer, fillings: Mapping[int, Filling], report: Report, state: State, what: What
    ) -> None:
        self._writer = writer
        self._fillings = fillings
        self._report = report
        self._state = state
        self._what = what
        self._codec = COMPRESSIONS.index(what.compression)
        self._saved = monotonic()

    async def run(self, source: Source, place: Place) -> None:
        """Write all records, and report them."""
        is_whole = False
        self._save()
        try:
            waiting = 0
            for entry in source.entries:
                filling = self._fillings[place(entry)]
                before = filling.size
                try:
                    moved = filling.add(entry)
                except WrongLinesError:
                    raise self._wrong_lines(filling) from None
                if filling.size == before:
                    self._report.before += moved is None
                    if moved is not None:
                        self._report.add(filling.partition, moved)
                    continue
                waiting += filling.size - before
                if filling.is_full or waiting > GATHERED:
                    some = [one for one in self._fillings.values() if one.is_half_full or waiting > GATHERED]
                    await self._write([one for one in some if one.waits])
                    waiting = sum(one.size for one in self._fillings.values())
            while some := [one for one in self._fillings.values() if one.waits]:
                await self._write(some)
            for one in self._fillings.values():
                if one.is_behind:
                    raise self._wrong_lines(one)
            is_whole = True
        finally:
            try:
                self._save()
            finally:
                left = source.contents
                counts = {"markers": left.markers, "aborted": left.aborted, "undecided": left.undecided}
                in_doubt = sum(one.sent for one in self._fillings.values())
                self._report.end(counts, in_doubt, is_whole=is_whole)

    def _wrong_lines(self, filling: Filling) -> KipwireError:
        assert self._what.state is not None
        return wrong_lines(self._what.state, filling.partition, filling.known)

    async def _write(self, fillings: list[Filling]) -> None:
        """Write a batch of each partition; all that is written is noted before the first error."""
        outcomes = await self._writer.write({one.partition: one.batch(self._codec) for one in fillings})
        errors: list[KipwireError] = []
        for one in fillings:
            try:
                for moved in one.done(outcomes[one.partition]):
                    self._report.add(one.partition, moved)
            except KipwireError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        if monotonic() - self._saved >= _SECONDS:
            self._save()

    def _save(self) -> None:
        if self._what.state is not None:
            partitions = {number: one.reached for number, one in self._fillings.items()}
            write_state(self._what.state, self._state._replace(partitions=partitions))
            self._saved = monotonic()
