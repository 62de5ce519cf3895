"""Sample messages for `kipgen advise`: out of captures, segments, JSON lines and files of request frames.

A file that cannot be read is an error with its location. A single message that cannot be decoded is counted, with the
reason; so are the frames of other messages. Of segments, the records of Kafka's internal topics are messages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Protocol, cast

from kipgen.language.spec import MessageSpec
from kipwire import KipwireError, Message
from kipwire.cli.apis import registry_named
from kipwire.logs import read_segment
from kipwire.logs.internal_topics import ENVELOPES, INTERNAL_TOPICS, internal_record
from kipwire.logs.names import base_offset_of, partition_of, segments_of, snapshot_end_of
from kipwire.message.frames import LARGEST_FRAME, SIZE_BYTES
from kipwire.message.registry import KAFKA_PACKAGE, Registry
from kipwire.records import Record
from kipwire.tools.files import need_input
from kipwire.tools.text import only_left
from kipwire.traffic.captures import (
    CaptureError,
    files_in,
    json_object,
    open_frames,
    open_plain_or_packed,
    read_at_most,
    read_index,
    readable,
    whole_number,
)

Progress = Callable[[int], object]

MAX_FAILURES = 20
"""Failures whose reasons are kept; all are counted."""

_NO_FRAMES = "is this a file of request frames?"
_CHUNK = 1 << 20
_BATCH = 256
_JSON_SUFFIXES = frozenset((".json", ".jsonl", ".ndjson"))
LONGEST_JSON_LINE = 16 * 2**20
"""Bytes of a message in its JSON form, which takes some thirty times as much memory while it is read."""
_INT16 = (-(2**15), 2**15 - 1)


class SamplesError(ValueError):
    """Samples that cannot be read; the message starts with the file, and the line or byte."""


class Counting(Protocol):
    """Counts messages, as `Counts` of encodings and `TagCounter` do."""

    @property
    def messages(self) -> int: ...
    def add_all(self, messages: Sequence[Message], /) -> None: ...


MOST_TIMED = 256
"""Limit for the messages that are timed; with `MOST_TIMED_BYTES` it bounds the seconds that timing takes."""
MOST_TIMED_BYTES = 1 << 20


@dataclass(slots=True)
class Timed:
    """Messages to time, spread evenly over all that are added; the more there are, the fewer of them are kept."""

    messages: list[tuple[int, bytes]] = field(default_factory=list)
    """Versions and bytes."""
    _bytes: int = 0
    _step: int = 1
    _skipped: int = 0

    def add(self, message: Message) -> None:
        """Keep a message, if it is its turn."""
        if self._skipped:
            self._skipped -= 1
            return
        self._skipped = self._step - 1
        self.messages.append((message.VERSION, message.encode()))
        self._bytes += len(self.messages[-1][1])
        while len(self.messages) > 1 and (len(self.messages) > MOST_TIMED or self._bytes > MOST_TIMED_BYTES):
            self._thin_out()

    def _thin_out(self) -> None:
        """Drop every other message, and keep half as many of those to come."""
        # The last one is kept or dropped as every other one is, so the next turn comes a full new step after it.
        is_kept = len(self.messages) % 2 == 1
        del self.messages[1::2]
        self._bytes = sum(len(data) for _, data in self.messages)
        self._skipped += self._step if is_kept else 0
        self._step *= 2


@dataclass(slots=True)
class Samples:
    """The samples read."""

    bytes: int = 0
    """Bytes of all messages that were counted, without their headers."""
    others: int = 0
    """Frames, or records, of other messages, which are skipped."""
    not_decoded: int = 0
    """Messages that could not be decoded."""
    failures: list[str] = field(default_factory=list)
    """Location and reason of the first of these."""
    timed: Timed = field(default_factory=Timed)
    """Some of the messages that were counted, for `--times`."""

    def fail(self, place: str, reason: object) -> None:
        """Note a message that cannot be decoded."""
        self.not_decoded += 1
        if len(self.failures) < MAX_FAILURES:
            self.failures.append(f"{place}: {reason}")


def registry_with(package: str, specs: Sequence[MessageSpec], out: Path) -> Registry:
    """Find the generated classes that samples of some messages are decoded with.

    Args:
        package: dotted name of a generated package; it may lie in the current folder.
        specs: the messages.
        out: another folder that it may lie in.

    Raises:
        PackageError: the package does not exist.
        SamplesError: it does not have one of the messages.
    """
    if (folder := str(out.resolve())) not in sys.path:
        sys.path.append(folder)  # last, so that an installed package of that name stays the one that is found
    registry = registry_named(package)
    for spec in specs:
        if spec.name not in registry.names():
            raise SamplesError(f"{package}: has no {spec.name}; give the package that has it with --package")
        entry = registry.entry(spec.name)
        if not entry.versions:
            raise SamplesError(f"{package}: {spec.name} is retired there, so no class can read its messages")
        if entry.api_key != spec.api_key:
            raise SamplesError(
                f"{package}: {spec.name} has the API key {entry.api_key} there, not {spec.api_key} as in the spec"
            )
    return registry


def read_samples(
    paths: list[Path],
    registry: Registry,
    specs: Sequence[MessageSpec],
    counts: Counting,
    version: int | None = None,
    progress: Progress = lambda _: None,
) -> Samples:
    """Read all messages of some specs from files, and count them.

    Args:
        paths: captures (folders), and files of JSON lines or of request frames, each of them plain or gzip; segments
            and snapshots of internal topics, or the folders of their partitions.
        registry: for decoding.
        specs: the messages. JSON lines are of one message, since they do not say which.
        counts: gets the messages.
        version: of messages in JSON lines that do not contain it.
        progress: called from time to time with the number of messages counted.

    Raises:
        SamplesError: a sample cannot be read, or the version is given without any JSON lines.
    """
    reader = _Reader(registry, specs, counts, version, progress)
    for path in paths:
        try:
            with readable(path):
                reader.read(path)
        except CaptureError as error:
            raise SamplesError(str(error)) from None
    if version is not None and not reader.has_json:
        raise SamplesError(f"{paths[0]}: --version is for JSON lines; frames contain their versions")
    reader.flush()
    return reader.samples


class _Reader:
    """Reads file after file into one `Samples`."""

    def __init__(
        self,
        registry: Registry,
        specs: Sequence[MessageSpec],
        counts: Counting,
        version: int | None,
        progress: Progress,
    ) -> None:
        self.registry = registry
        self.specs = specs
        self.names = {spec.name for spec in specs}
        self.keys = {(spec.type == "request", spec.api_key) for spec in specs if spec.type in ("request", "response")}
        self.counts = counts
        self.version = version
        self.progress = progress
        self.has_json = False
        self.samples = Samples()
        self._batch: list[Message] = []

    def read(self, path: Path) -> None:
        partition = partition_of((path if path.is_dir() else path.parent).resolve().name)
        if path.is_dir():
            segments = segments_of(path) if partition is not None else []
            for file in segments:
                self._segment(file, partition.topic if partition else "")
            if not segments:
                self._capture(path)
            return
        need_input(path)
        if base_offset_of(path.name) is not None or snapshot_end_of(path.name) is not None:
            self._segment(path, partition.topic if partition else "")
            return
        with open_plain_or_packed(path) as stream:
            # A file of frames begins with a size: with `{`, or white space, as its first byte, the first frame would be
            # larger than any may be. The suffix decides for JSON that begins with a mistake, so that its line is named.
            is_json = stream.peek(_CHUNK)[:_CHUNK].lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"{")
            if is_json or not _JSON_SUFFIXES.isdisjoint(path.suffixes):
                self._json_lines(path, stream)
            else:
                self._frames(path, stream)

    def add(self, message: Message, size: int) -> None:
        self.samples.bytes += size
        self.samples.timed.add(message)
        self._batch.append(message)
        if len(self._batch) == _BATCH:
            self.flush()

    def flush(self) -> None:
        """Count the collected messages: many at a time is faster."""
        self.counts.add_all(self._batch)
        self._batch.clear()
        self.progress(self.counts.messages)

    def _capture(self, folder: Path) -> None:
        """Read a folder with `frames.bin` and its index `frames.jsonl`, as examples/capture/README.md describes it."""
        self._need_frames(folder, ("request", "response"))
        index, file = files_in(folder)
        with open_frames(file) as frames:
            for entry in read_index(index):
                if (entry.is_request, entry.api_key) not in self.keys:
                    self.samples.others += 1
                    continue
                place = f"{entry.place}, byte {entry.offset} of {file.name}"
                self._frame(place, frames.read(entry), None if entry.is_request else entry.api_key, entry.api_version)

    def _segment(self, path: Path, topic: str) -> None:
        """Read the records of a segment or a snapshot of an internal topic."""
        if topic not in INTERNAL_TOPICS or self.registry.package != KAFKA_PACKAGE:
            what = f"of {topic or 'no topic, by the name of its folder'}"
            raise SamplesError(f"{path}: is a log {what}; only records of {', '.join(INTERNAL_TOPICS)} are messages")
        if not any(spec.type in ENVELOPES for spec in self.specs):
            raise SamplesError(f"{path}: has no requests and responses; give a capture")
        try:
            for batch in read_segment(path):
                for record in () if batch.is_control else batch.records:
                    self._record(f"{path}: offset {record.offset}", topic, record)
        except KipwireError as error:
            raise SamplesError(f"{path}: {error}") from None

    def _record(self, place: str, topic: str, record: Record) -> None:
        try:
            found = internal_record(topic, record)
        except KipwireError as error:
            self.samples.fail(place, error)
            return
        for message in (found.key, found.value):
            if message is not None and message.NAME in self.names:
                self.add(message, message.encoded_size())
            else:
                self.samples.others += message is not None

    def _frames(self, path: Path, stream: BufferedReader) -> None:
        """Consecutive requests, each with its size before it, as they are sent to a broker."""
        self._need_frames(path, ("request",))
        start = 0
        while head := stream.read(SIZE_BYTES):
            place = f"{path}: byte {start}"
            size = int.from_bytes(head, "big", signed=True)
            if len(head) < SIZE_BYTES:
                raise SamplesError(f"{place}: the file ends within the size of a frame")
            if size < 0:
                raise SamplesError(f"{place}: a frame cannot have {size} bytes; {_NO_FRAMES}")
            frame = read_at_most(stream, min(size, LARGEST_FRAME + 1))
            if len(frame) > LARGEST_FRAME:
                raise SamplesError(f"{place}: a frame of {size} bytes; the limit is {LARGEST_FRAME}")
            if len(frame) < size:
                hint = f"; {_NO_FRAMES}" if size > LARGEST_FRAME else ""
                raise SamplesError(f"{place}: a frame of {size} bytes starts here, {only_left(len(frame))}{hint}")
            start += SIZE_BYTES + size
            # A frame too short for a key goes on to the decoder, which counts it with its reason.
            if len(frame) >= 2 and (True, int.from_bytes(frame[:2], "big", signed=True)) not in self.keys:
                self.samples.others += 1
            else:
                self._frame(place, frame, None, None)

    def _frame(self, place: str, frame: bytes, answered: int | None, version: int | None) -> None:
        """Count one frame; a request contains its API key and version, of a response both must be known."""
        header: Message
        try:
            if answered is None:
                header, body = self.registry.decode_request(frame)
                if version not in (None, body.VERSION):
                    raise SamplesError(
                        f"{place}: a request of version {body.VERSION}, but the index has version {version}"
                    )
            else:
                assert version is not None  # only captures have responses, with their versions
                header, body = self.registry.decode_response(frame, answered, version)
        except KipwireError as error:
            self.samples.fail(place, error)
        else:
            # Encodings are of fields of the message, so its header is not part of what can be saved.
            self.add(body, len(frame) - header.encoded_size())

    def _json_lines(self, path: Path, stream: BufferedReader) -> None:
        """Messages in their JSON form, each on a line of its own."""
        if len(self.specs) > 1:
            raise SamplesError(f"{path}: JSON lines do not say which message they are; give the spec of one")
        self.has_json = True
        number = 0
        while line := stream.readline(LONGEST_JSON_LINE + 1):
            number += 1
            place = f"{path}:{number}"
            if len(line) > LONGEST_JSON_LINE:
                raise SamplesError(f"{place}: the line is longer than {LONGEST_JSON_LINE} bytes; give frames")
            if not line.strip():
                continue
            entry = json_object(place, line)
            version, value = self.version, cast(object, entry)
            if entry.keys() == {"version", "message"}:
                version, value = whole_number(place, entry, "version", *_INT16), entry["message"]
            if version is None:
                wrapped = '{"version": 0, "message": {...}}'
                raise SamplesError(f"{place}: the version is missing; use --version, or write {wrapped}")
            try:
                message = self.registry.message(self.specs[0].name, version).from_json(cast("dict[str, object]", value))
                size = message.encoded_size()
            except KipwireError as error:
                self.samples.fail(place, error)
            else:
                self.add(message, size)

    def _need_frames(self, path: Path, types: tuple[str, ...]) -> None:
        if not any(spec.type in types for spec in self.specs):
            what = "requests and responses" if len(types) > 1 else "requests (a response does not contain its API key)"
            spec = self.specs[0]
            hint = "give JSON lines" if spec.type != "response" else "give a capture or JSON lines"
            raise SamplesError(f"{path}: contains only {what}, but {spec.name} is a {spec.type}; {hint}")
