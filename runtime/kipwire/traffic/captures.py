"""Captures in kipwire's own form: a folder with frames and their index, each plain or packed with gzip.

    with open_frames(frames_file) as frames:
        for entry in read_index(index_file):
            request = frames.read(entry)

examples/capture/README.md describes the form. A capture may come from a stranger: every value is checked before it is
used, and no file costs more memory than its longest line and its largest frame may have.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import Any, NamedTuple, TypeVar

from kipwire.message.frames import LARGEST_FRAME, SIZE_BYTES
from kipwire.model.errors import KipwireError
from kipwire.model.types import TYPES
from kipwire.tools.io import ReadableFile
from kipwire.tools.text import json_words

AnyFile = TypeVar("AnyFile", bound=ReadableFile)

INDEX, FRAMES = "frames.jsonl", "frames.bin"
"""The two files of a capture; the name of a packed one ends with `PACKED`."""
PACKED = ".gz"

LONGEST_LINE = 1024 * 1024
"""Bytes of a line of an index: more than the longest client id and listener take, escaped byte by byte."""

_GZIP = b"\x1f\x8b"
_CHUNK = 1024 * 1024
_NUMBERS = {
    "offset": ("off", 0, 2**62),
    "size": ("len", 0, 2**31 - 1),
    "timestamp_ns": ("ts_ns", 0, 2**63 - 1),
    "connection": ("conn", *TYPES["int64"].range),
    "api_key": ("api_key", *TYPES["int16"].range),
    "api_version": ("api_version", *TYPES["int16"].range),
    "correlation_id": ("correlation_id", *TYPES["int32"].range),
}
"""Required numbers of an index, by the name in `Entry`: the name in the index, the lowest and the highest value."""
_NUMBER_RANGE = (0, 2**63 - 1)
_DIRECTIONS = {"req": True, "res": False}


class CaptureError(KipwireError):
    """A capture that cannot be read; the text starts with the file, and the line where there is one."""


class Entry(NamedTuple):
    """The index entry of one frame."""

    file: ReadableFile
    """The index."""
    at: int
    """Position of the entry in the index, in bytes."""
    line: int | None
    """The line; None if the lines before it were not read."""
    offset: int
    """The position of the frame's size in the file of frames."""
    size: int
    """Bytes of the frame, without its size."""
    timestamp_ns: int
    """Time of capture, in nanoseconds since 1970-01-01 UTC."""
    connection: int
    is_request: bool
    api_key: int
    api_version: int
    """API version; for a response, its request's."""
    correlation_id: int
    number: int | None
    listener: str | None
    client_id: str | None

    @property
    def place(self) -> str:
        """Place of the entry in the index, such as `frames.jsonl:3`."""
        return _place(self.file, self.at, self.line)


class Frames:
    """The frames of a capture, to be read by the entries of its index."""

    def __init__(self, path: ReadableFile, file: BufferedReader) -> None:
        self._path = path
        self._file = file
        self._packed = isinstance(file.raw, gzip.GzipFile)
        self._end = 0

    def read(self, entry: Entry) -> bytes:
        """Read the frame of an entry, without its size.

        Raises:
            CaptureError: there is no such frame, it is too large, or a packed file would have to be unpacked again.
        """
        if self._packed and entry.offset < self._end:
            raise CaptureError(
                f"{entry.place}: byte {entry.offset} of {self._path.name} is before the end of an earlier frame, "
                "and a packed file is read from start to end, once; unpack it: gunzip"
            )
        with readable(self._path):
            self._file.seek(entry.offset)
            # The size is compared before the frame is read, so that no damaged index asks for more than there is.
            is_here = self._file.read(SIZE_BYTES) == entry.size.to_bytes(SIZE_BYTES, "big")
            frame = read_at_most(self._file, entry.size if entry.size <= LARGEST_FRAME else 0) if is_here else b""
        if is_here and entry.size > LARGEST_FRAME:
            raise CaptureError(f"{entry.place}: a frame of {entry.size} bytes; the limit is {LARGEST_FRAME}")
        if not is_here or len(frame) != entry.size:
            raise CaptureError(
                f"{entry.place}: there is no frame of {entry.size} bytes at byte {entry.offset} of {self._path.name}"
            )
        self._end = entry.offset + SIZE_BYTES + entry.size
        return frame


@contextmanager
def open_frames(path: ReadableFile) -> Iterator[Frames]:
    """Open a file of frames, plain or packed; close it at the end.

    Raises:
        CaptureError: it cannot be opened.
    """
    with _open(path) as file:
        yield Frames(path, file)


def read_index(path: ReadableFile, start: int = 0, end: int | None = None) -> Iterator[Entry]:
    """Parse the entries of an index, in its order.

    Args:
        path: the file, plain or packed.
        start: lines that start before this byte are left out; not for a packed file.
        end: lines that start at this byte or after it are left out; None: none are.

    Raises:
        CaptureError: the file cannot be read, or a line does not describe a frame.
    """
    with _open(path) as file:
        at, line_number = start, None if start else 1
        if start:
            with readable(path):
                file.seek(start - 1)
            at = start - 1 + len(_line(file, path, start - 1, None))  # to the end of a line that starts before
        while (end is None or at < end) and (line := _line(file, path, at, line_number)):
            if line.strip():
                yield _entry(path, at, line_number, line)
            at += len(line)
            line_number = None if line_number is None else line_number + 1


def frames_beside(index: AnyFile) -> AnyFile:
    """Find the file with the frames of an index.

    Raises:
        CaptureError: there is none.
    """
    return _plain_or_packed(index.parent, FRAMES, f"has {index.name}, but no")


def files_in(folder: AnyFile) -> tuple[AnyFile, AnyFile]:
    """Find the index and the frames of the capture in a folder.

    Raises:
        CaptureError: one of them is not there.
    """
    frames = _plain_or_packed(folder, FRAMES, "has no")
    return _plain_or_packed(folder, INDEX, "has no"), frames


def is_packed(path: ReadableFile) -> bool:
    """True if a file is packed with gzip, by its first bytes.

    Raises:
        CaptureError: the file cannot be opened.
    """
    with _open(path) as file:
        return isinstance(file.raw, gzip.GzipFile)


def open_plain_or_packed(path: ReadableFile) -> BufferedReader:
    """Open a file, unpacking it if it is packed with gzip.

    Raises:
        OSError: it cannot be opened.
    """
    stream = path.open("rb")
    return BufferedReader(_Unpacked(stream)) if stream.peek(len(_GZIP)).startswith(_GZIP) else stream


class _Unpacked(gzip.GzipFile):
    """The content of a packed file, which is closed with it."""

    def __init__(self, packed: BufferedReader) -> None:
        super().__init__(fileobj=packed)
        self._packed = packed

    def close(self) -> None:
        super().close()
        self._packed.close()


def read_at_most(stream: BufferedReader, size: int) -> bytes:
    """Read up to `size` bytes, or all that are left; no memory is taken for bytes that are not there."""
    if size <= _CHUNK:
        return stream.read(size)
    parts = []
    while size > 0 and (part := stream.read(min(size, _CHUNK))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def json_object(place: str, line: bytes) -> dict[str, Any]:
    """Parse the JSON object on a line.

    Raises:
        CaptureError: there is none.
    """
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{place}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CaptureError(f"{place}: not a JSON object")
    return value


def whole_number(place: str, entry: dict[str, Any], name: str, lowest: int, highest: int) -> int:
    """Return the number of that name in a JSON object.

    Raises:
        CaptureError: it is not a whole number in that range.
    """
    value = entry.get(name)
    if type(value) is not int or not lowest <= value <= highest:
        found = json_words(value) if name in entry else "missing"
        raise CaptureError(f'{place}: "{name}" must be a whole number from {lowest} to {highest}; it is {found}')
    return value


@contextmanager
def readable(path: ReadableFile) -> Iterator[None]:
    """Report errors of reading a file with its name.

    Raises:
        CaptureError: it cannot be opened or read.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CaptureError(f"{path}: damaged gzip file: {error}") from None
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror or error}") from None


def _open(path: ReadableFile) -> BufferedReader:
    with readable(path):
        if path.exists() and not path.is_file():  # such as a pipe, which would be waited for without end
            raise CaptureError(f"{path}: is not a regular file")
        return open_plain_or_packed(path)


def _plain_or_packed(folder: AnyFile, name: str, lack: str) -> AnyFile:
    plain, packed = folder / name, folder / f"{name}{PACKED}"
    if not plain.exists() and not packed.exists():
        raise CaptureError(f"{folder}: {lack} {name} or {name}{PACKED}; a capture is a folder with both files")
    return plain if plain.exists() else packed


def _line(file: BufferedReader, path: ReadableFile, at: int, number: int | None) -> bytes:
    with readable(path):
        line = file.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise CaptureError(
            f"{_place(path, at, number)}: the line is longer than {LONGEST_LINE} bytes, the limit for an index"
        )
    return line


def _place(path: ReadableFile, at: int, number: int | None) -> str:
    """Format file and line. The lines before it are read again to count them, so only errors need it."""
    if number is None:
        number = 1
        with readable(path), path.open("rb") as file:
            while chunk := file.read(min(at, _CHUNK)):
                number += chunk.count(b"\n")
                at -= len(chunk)
    return f"{path}:{number}"


def _entry(index: ReadableFile, at: int, line_number: int | None, line: bytes) -> Entry:
    try:
        return _check_entry(index, at, line_number, json_object("", line))
    except CaptureError as error:
        raise CaptureError(f"{_place(index, at, line_number)}{error}") from None


def _check_entry(index: ReadableFile, at: int, line_number: int | None, values: dict[str, Any]) -> Entry:
    direction = values.get("dir")
    if not isinstance(direction, str) or direction not in _DIRECTIONS:
        raise CaptureError(f': "dir" is {json_words(direction)}; it must be "req" or "res"')
    numbers: dict[str, Any] = {}
    for name, (key, lowest, highest) in _NUMBERS.items():
        value = values.get(key)
        fits = type(value) is int and lowest <= value <= highest
        numbers[name] = value if fits else whole_number("", values, key, lowest, highest)  # which raises
    number = None if values.get("i") is None else whole_number("", values, "i", *_NUMBER_RANGE)
    return Entry(
        file=index,
        at=at,
        line=line_number,
        is_request=_DIRECTIONS[direction],
        number=number,
        listener=_text(values, "listener"),
        client_id=_text(values, "client_id"),
        **numbers,
    )


def _text(values: dict[str, Any], name: str) -> str | None:
    value = values.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise CaptureError(f': "{name}" must be a string or null; it is {json_words(value)}')
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CaptureError(f': "{name}" has a lone surrogate, which is not text; it is {json_words(value)}') from None
    return value
