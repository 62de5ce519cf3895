"""Sample messages for `kipgen advise`: out of captures, JSON lines and files of request frames.

Whatever cannot be read as a whole is an error with its place. A single message that cannot be decoded is kept count of,
with the reason; so are the frames of other messages.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from kipgen.spec import MessageSpec
from kipwire import KipwireError, Message
from kipwire.encodings import Counts
from kipwire.registry import Registry, registry_of

Progress = Callable[[int], object]

MAX_FAILURES = 20
"""Failures whose reasons are kept; all are counted."""

_SIZE_BYTES = 4
_CHUNK = 1 << 20
_BATCH = 256
_JSON_SUFFIXES = frozenset((".json", ".jsonl", ".ndjson"))
_GZIP = b"\x1f\x8b"
_DIRECTIONS = {"req": "request", "res": "response"}
_INT16 = (-(2**15), 2**15 - 1)
_LIMITS = {
    "off": (0, 2**62),
    "len": (0, 2**31 - 1),
    "api_key": _INT16,
    "api_version": _INT16,
    "version": _INT16,
}
"""What numbers in an index or before a message may be."""


class SamplesError(ValueError):
    """Samples that cannot be read; the message starts with the file, and the line or byte."""


@dataclass(frozen=True, slots=True)
class Source:
    """The classes that samples are decoded with."""

    registry: Registry
    spec: MessageSpec


@dataclass(slots=True)
class Samples:
    """What was read."""

    counts: Counts
    bytes: int = 0
    """Bytes of all messages that were counted, without their headers."""
    others: int = 0
    """Frames of other messages, which are of no interest."""
    not_decoded: int = 0
    """Messages that could not be decoded."""
    failures: list[str] = field(default_factory=list)
    """Place and reason of the first ones of these."""

    def fail(self, place: str, reason: object) -> None:
        """Note a message that cannot be decoded."""
        self.not_decoded += 1
        if len(self.failures) < MAX_FAILURES:
            self.failures.append(f"{place}: {reason}")


def source(package: str, spec: MessageSpec) -> Source:
    """The generated classes of a message.

    Args:
        package: dotted name of a generated package.
        spec: the message.

    Raises:
        PackageError: there is no such package.
        SamplesError: it does not have the message.
    """
    registry = registry_of(package)
    if spec.name not in registry.names():
        raise SamplesError(f"{package}: has no {spec.name}; name the package that has with --package")
    entry = registry.entry(spec.name)
    if not entry.versions:
        raise SamplesError(f"{package}: {spec.name} is retired there, and no class can read its messages")
    if entry.api_key != spec.api_key:
        raise SamplesError(
            f"{package}: {spec.name} has the API key {entry.api_key} there, not {spec.api_key} as in the spec"
        )
    return Source(registry, spec)


def read_samples(
    paths: list[Path], classes: Source, version: int | None = None, progress: Progress = lambda _: None
) -> Samples:
    """Read all messages of one spec from files, and count their integers.

    Args:
        paths: captures (folders), and files of JSON lines or of request frames, each of them plain or gzip.
        classes: what to decode with.
        version: that of the messages in JSON lines which do not tell it.
        progress: told how many messages were counted from time to time.

    Raises:
        SamplesError: something cannot be read, or the version is given without any JSON lines.
    """
    reader = _Reader(classes, version, progress)
    for path in paths:
        try:
            reader.read(path)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise SamplesError(f"{path}: damaged gzip file: {error}") from None
        except OSError as error:
            raise SamplesError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from None
    if version is not None and not reader.has_json:
        raise SamplesError(f"{paths[0]}: --version is for JSON lines; frames tell their versions themselves")
    reader.flush()
    return reader.samples


class _Reader:
    """Reads file after file into one `Samples`."""

    def __init__(self, classes: Source, version: int | None, progress: Progress) -> None:
        self.registry = classes.registry
        self.spec = classes.spec
        self.version = version
        self.progress = progress
        self.has_json = False
        self.samples = Samples(Counts(self.spec.name))
        self._batch: list[Message] = []

    def read(self, path: Path) -> None:
        if path.is_dir():
            self._capture(path)
            return
        with _open(path) as stream:
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
        """Count the messages that wait: many at a time is quicker."""
        self.samples.counts.add_all(self._batch)
        self._batch.clear()
        self.progress(self.samples.counts.messages)

    def _capture(self, folder: Path) -> None:
        """A folder with `frames.bin` and its index `frames.jsonl`, as examples/capture/README.md describes it."""
        self._need_frames(folder, ("request", "response"))
        frames, index = _either(folder, "frames.bin"), _either(folder, "frames.jsonl")
        with _open(frames) as data, _open(index) as lines:
            for number, line in enumerate(lines, 1):
                place = f"{index}:{number}"
                entry = _json_object(place, line)
                kind = _DIRECTIONS.get(cast(str, entry.get("dir")))
                if kind is None:
                    raise SamplesError(f'{place}: "dir" is {entry.get("dir")!r}; it must be "req" or "res"')
                start, length, api_key, version = (
                    _number(place, entry, name) for name in ("off", "len", "api_key", "api_version")
                )
                if kind != self.spec.type or api_key != self.spec.api_key:
                    self.samples.others += 1
                    continue
                data.seek(start)
                frame = _read(data, _SIZE_BYTES + length)
                if frame[:_SIZE_BYTES] != length.to_bytes(_SIZE_BYTES, "big") or len(frame) != _SIZE_BYTES + length:
                    raise SamplesError(f"{place}: no frame of {length} bytes stands at byte {start} of {frames.name}")
                self._frame(f"{place}, byte {start} of {frames.name}", frame[_SIZE_BYTES:], version)

    def _frames(self, path: Path, stream: BufferedReader) -> None:
        """Requests one behind the other, each with its size before it, as they go to a broker."""
        self._need_frames(path, ("request",))
        start = 0
        while head := _read(stream, _SIZE_BYTES):
            place = f"{path}: byte {start}"
            size = int.from_bytes(head, "big", signed=True)
            if len(head) < _SIZE_BYTES:
                raise SamplesError(f"{place}: the file ends within the size of a frame")
            if size < 0:
                raise SamplesError(f"{place}: a frame cannot have {size} bytes; is this a file of request frames?")
            frame = _read(stream, size)
            if len(frame) < size:
                raise SamplesError(f"{place}: a frame of {size} bytes starts here, but only {len(frame)} are left")
            start += _SIZE_BYTES + size
            if len(frame) >= 2 and int.from_bytes(frame[:2], "big", signed=True) != self.spec.api_key:
                self.samples.others += 1
            else:
                self._frame(place, frame, None)

    def _frame(self, place: str, frame: bytes, version: int | None) -> None:
        """One frame of the message; a request tells its version, that of a response has to be known."""
        try:
            if self.spec.type == "request":
                header, body = self.registry.decode_request(frame)
                if version not in (None, body.VERSION):
                    raise SamplesError(f"{place}: a request of version {body.VERSION}, but the index says {version}")
            else:
                assert version is not None  # only captures have responses, and they tell it
                header, body = self.registry.decode_response(frame, self.spec.api_key or 0, version)
        except KipwireError as error:
            self.samples.fail(place, error)
        else:
            self.add(body, len(frame) - header.encoded_size())

    def _json_lines(self, path: Path, stream: BufferedReader) -> None:
        """Messages in their JSON form, each on a line of its own."""
        self.has_json = True
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            place = f"{path}:{number}"
            entry = _json_object(place, line)
            version, value = self.version, cast(object, entry)
            if entry.keys() == {"version", "message"}:
                version, value = _number(place, entry, "version"), entry["message"]
            if version is None:
                wrapped = '{"version": 0, "message": {...}}'
                raise SamplesError(f"{place}: no version is told; give --version, or write {wrapped}")
            try:
                message = self.registry.message(self.spec.name, version).from_json(cast("dict[str, object]", value))
                size = message.encoded_size()
            except KipwireError as error:
                self.samples.fail(place, error)
            else:
                self.add(message, size)

    def _need_frames(self, path: Path, types: tuple[str, ...]) -> None:
        if self.spec.type not in types:
            what = "requests and responses" if len(types) > 1 else "requests, as responses do not tell what they are"
            hint = "give JSON lines" if self.spec.type != "response" else "give a capture or JSON lines"
            raise SamplesError(f"{path}: such samples hold only {what}; {self.spec.name} is none ({hint})")


def _open(path: Path) -> BufferedReader:
    """Open a file, unpacking it if it is packed with gzip."""
    stream = path.open("rb")
    if not stream.peek(len(_GZIP)).startswith(_GZIP):
        return stream
    stream.close()
    return BufferedReader(gzip.open(path, "rb"))


def _either(folder: Path, name: str) -> Path:
    plain, packed = folder / name, folder / f"{name}.gz"
    if not plain.exists() and not packed.exists():
        raise SamplesError(f"{folder}: has no {name} or {name}.gz; a folder of samples is a capture")
    return plain if plain.exists() else packed


def _read(stream: BinaryIO | BufferedReader, size: int) -> bytes:
    """So many bytes, or what is left: no memory is taken for bytes that are not there."""
    if size <= _CHUNK:
        return stream.read(size)
    parts = []
    while size > 0 and (part := stream.read(min(size, _CHUNK))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _json_object(place: str, line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SamplesError(f"{place}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise SamplesError(f"{place}: not a JSON object")
    return value


def _number(place: str, entry: dict[str, object], name: str) -> int:
    value = entry.get(name)
    lowest, highest = _LIMITS[name]
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise SamplesError(f'{place}: "{name}" must be a whole number from {lowest} to {highest}')
    return value
