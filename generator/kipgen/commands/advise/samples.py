"""Sample messages for `kipgen advise`: out of captures, JSON lines and files of request frames.

A file that cannot be read is an error with its location. A single message that cannot be decoded is counted, with the
reason; so are the frames of other messages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import cast

from kipgen.language.spec import MessageSpec
from kipwire import KipwireError, Message
from kipwire.cli.apis import registry_named
from kipwire.message.encodings import Counts
from kipwire.message.frames import LARGEST_FRAME
from kipwire.message.registry import Registry
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
_SIZE_BYTES = 4
_CHUNK = 1 << 20
_BATCH = 256
_JSON_SUFFIXES = frozenset((".json", ".jsonl", ".ndjson"))
LONGEST_JSON_LINE = 16 * 2**20
"""Bytes of a message in its JSON form, which takes some thirty times as much memory while it is read."""
_INT16 = (-(2**15), 2**15 - 1)


class SamplesError(ValueError):
    """Samples that cannot be read; the message starts with the file, and the line or byte."""


@dataclass(slots=True)
class Samples:
    """Counts of the samples read."""

    counts: Counts
    bytes: int = 0
    """Bytes of all messages that were counted, without their headers."""
    others: int = 0
    """Frames of other messages, which are skipped."""
    not_decoded: int = 0
    """Messages that could not be decoded."""
    failures: list[str] = field(default_factory=list)
    """Location and reason of the first of these."""

    def fail(self, place: str, reason: object) -> None:
        """Note a message that cannot be decoded."""
        self.not_decoded += 1
        if len(self.failures) < MAX_FAILURES:
            self.failures.append(f"{place}: {reason}")


def registry_with(package: str, spec: MessageSpec, out: Path) -> Registry:
    """Find the generated classes that samples of a message are decoded with.

    Args:
        package: dotted name of a generated package; it may lie in the current folder.
        spec: the message.
        out: another folder that it may lie in.

    Raises:
        PackageError: the package does not exist.
        SamplesError: it does not have the message.
    """
    if (folder := str(out.resolve())) not in sys.path:
        sys.path.append(folder)  # last, so that an installed package of that name stays the one that is found
    registry = registry_named(package)
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
    spec: MessageSpec,
    version: int | None = None,
    progress: Progress = lambda _: None,
) -> Samples:
    """Read all messages of one spec from files, and count their integers.

    Args:
        paths: captures (folders), and files of JSON lines or of request frames, each of them plain or gzip.
        registry: for decoding.
        spec: the message.
        version: of messages in JSON lines that do not contain it.
        progress: called from time to time with the number of messages counted.

    Raises:
        SamplesError: a sample cannot be read, or the version is given without any JSON lines.
    """
    reader = _Reader(registry, spec, version, progress)
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

    def __init__(self, registry: Registry, spec: MessageSpec, version: int | None, progress: Progress) -> None:
        self.registry = registry
        self.spec = spec
        self.version = version
        self.progress = progress
        self.has_json = False
        self.samples = Samples(Counts(self.spec.name))
        self._batch: list[Message] = []

    def read(self, path: Path) -> None:
        if path.is_dir():
            self._capture(path)
            return
        need_input(path)
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
        self._batch.append(message)
        if len(self._batch) == _BATCH:
            self.flush()

    def flush(self) -> None:
        """Count the collected messages: many at a time is faster."""
        self.samples.counts.add_all(self._batch)
        self._batch.clear()
        self.progress(self.samples.counts.messages)

    def _capture(self, folder: Path) -> None:
        """Read a folder with `frames.bin` and its index `frames.jsonl`, as examples/capture/README.md describes it."""
        self._need_frames(folder, ("request", "response"))
        index, file = files_in(folder)
        with open_frames(file) as frames:
            for entry in read_index(index):
                if entry.is_request != (self.spec.type == "request") or entry.api_key != self.spec.api_key:
                    self.samples.others += 1
                    continue
                place = f"{entry.place}, byte {entry.offset} of {file.name}"
                self._frame(place, frames.read(entry), entry.api_version)

    def _frames(self, path: Path, stream: BufferedReader) -> None:
        """Consecutive requests, each with its size before it, as they are sent to a broker."""
        self._need_frames(path, ("request",))
        start = 0
        while head := stream.read(_SIZE_BYTES):
            place = f"{path}: byte {start}"
            size = int.from_bytes(head, "big", signed=True)
            if len(head) < _SIZE_BYTES:
                raise SamplesError(f"{place}: the file ends within the size of a frame")
            if size < 0:
                raise SamplesError(f"{place}: a frame cannot have {size} bytes; {_NO_FRAMES}")
            frame = read_at_most(stream, min(size, LARGEST_FRAME + 1))
            if len(frame) > LARGEST_FRAME:
                raise SamplesError(f"{place}: a frame of {size} bytes; the limit is {LARGEST_FRAME}")
            if len(frame) < size:
                hint = f"; {_NO_FRAMES}" if size > LARGEST_FRAME else ""
                raise SamplesError(f"{place}: a frame of {size} bytes starts here, {only_left(len(frame))}{hint}")
            start += _SIZE_BYTES + size
            # A frame too short for a key goes on to the decoder, which counts it with its reason.
            if len(frame) >= 2 and int.from_bytes(frame[:2], "big", signed=True) != self.spec.api_key:
                self.samples.others += 1
            else:
                self._frame(place, frame, None)

    def _frame(self, place: str, frame: bytes, version: int | None) -> None:
        """Count one frame of the message; a request contains its version, a response's version must be known."""
        header: Message
        try:
            if self.spec.type == "request":
                header, body = self.registry.decode_request(frame)
                if version not in (None, body.VERSION):
                    raise SamplesError(
                        f"{place}: a request of version {body.VERSION}, but the index has version {version}"
                    )
            else:
                assert version is not None  # only captures have responses, with their versions
                header, body = self.registry.decode_response(frame, self.spec.api_key or 0, version)
        except KipwireError as error:
            self.samples.fail(place, error)
        else:
            # Encodings are of fields of the message, so its header is not part of what can be saved.
            self.add(body, len(frame) - header.encoded_size())

    def _json_lines(self, path: Path, stream: BufferedReader) -> None:
        """Messages in their JSON form, each on a line of its own."""
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
                message = self.registry.message(self.spec.name, version).from_json(cast("dict[str, object]", value))
                size = message.encoded_size()
            except KipwireError as error:
                self.samples.fail(place, error)
            else:
                self.add(message, size)

    def _need_frames(self, path: Path, types: tuple[str, ...]) -> None:
        if self.spec.type not in types:
            what = "requests and responses" if len(types) > 1 else "requests (a response does not contain its API key)"
            hint = "give JSON lines" if self.spec.type != "response" else "give a capture or JSON lines"
            raise SamplesError(f"{path}: contains only {what}, but {self.spec.name} is a {self.spec.type}; {hint}")
