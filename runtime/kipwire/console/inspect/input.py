"""The bytes to inspect: from arguments, a file or standard input, raw or as a text that shows them.

A message hardly ever consists of printable characters alone, so such a file is a text, whose characters are never
decoded: it has a form that shows bytes, or it is refused.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from kipwire.console.inspect.dumps import Taken
from kipwire.console.inspect.pasted import FORMS, bytes_of, parse_hex, read_base64
from kipwire.tools.files import need_input
from kipwire.tools.text import count_of, cut, print_err, printable_line


def capture_kind(data: bytes) -> str:
    """Recognize the kind of a packet capture; empty if the bytes are something else."""
    if data[:4] == b"\x0a\x0d\x0d\x0a" and data[8:12] in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"):
        return "pcapng"
    is_pcap = data[:4] in (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1")
    return "pcap" if is_pcap and data[4:8] in (b"\0\x02\0\x04", b"\x02\0\x04\0") else ""


MAX_BYTES = 64 * 2**20
"""Limit for the input, as raw bytes or as text: beyond that no table of its bytes can be shown."""
_SHOWN = 40
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_BLANKS = dict.fromkeys(map(ord, "\t\n\v\f\r"))


def read_input(words: Sequence[str], *, is_raw: bool = False) -> bytes:
    """Read the bytes that the words of a command line give.

    Args:
        words: a text that shows bytes, which may be several words; or the name of a file with raw bytes or with such a
            text; or `-`, or nothing, for standard input.
        is_raw: take a file, or standard input, for the bytes themselves, also where it is a text.

    Raises:
        ValueError: neither a text that shows bytes nor a file, a text that may be read in two ways, a packet capture,
            a pipe that was not opened for this process, or more than `MAX_BYTES`.
        OSError: the file cannot be read.
    """
    if not words or list(words) == ["-"]:
        return _content(_read(sys.stdin.buffer, "standard input"), "standard input", is_raw)
    text = " ".join(words)
    if len(words) == 1 and _is_readable(text):
        try:
            need_input(Path(text))
        except OSError as error:
            raise ValueError(f"{text} {error.strerror}; give a file, or - for standard input") from None
        with Path(text).open("rb") as stream:
            return _content(_read(stream, text), text, is_raw)
    shown = cut(text, _SHOWN)
    if is_raw:
        raise ValueError(f"{shown!r} is not a file; --raw takes a file, or standard input")
    taken = None if read_base64(text) else _taken(text, repr(shown))  # a name of a file may look like base64
    if taken is None:
        raise ValueError(
            f"{shown!r} is neither a file nor hex text with two digits for each byte, nor of another form "
            f"that is read: {FORMS}"
        )
    return _noted(taken, "the argument")


def _read(stream: BinaryIO, name: str) -> bytes:
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{name}: is longer than {MAX_BYTES} bytes, the limit; give one message or frame")
    return data


def _is_readable(name: str) -> bool:
    """True if it names a file, or something like one, such as a pipe."""
    try:
        return Path(name).exists() and not Path(name).is_dir()
    except (OSError, ValueError):  # hex text can be longer than any name
        return False


def _content(raw: bytes, name: str, is_raw: bool) -> bytes:
    """Return the bytes that a text shows, or bytes that are no text as they are; report what a text was taken for."""
    kind = capture_kind(raw)
    if kind:
        raise ValueError(
            f"{name} is a packet capture ({kind}), not a message; kipwire dump shows the frames in it, "
            "and --frame N of this command explains one"
        )
    text = None if is_raw else _text(raw)
    if text is None:
        return raw
    taken = _taken(text, name)
    if taken is not None:
        return _noted(taken, name)
    if "\n*\n" in text and parse_hex(text.replace("\n*\n", "\n")) is not None:
        raise ValueError(f"{name} has * for repeated rows, and no offsets that say how many; print them all (od -v)")
    raise ValueError(f"{name} is text, not bytes; forms that are read are {FORMS}; --raw takes its characters as bytes")


def _text(raw: bytes) -> str | None:
    """Decode a text without control characters; None if the bytes are none. Colours are left out."""
    is_utf16 = raw.startswith(_UTF16)
    if b"\0" in raw and not is_utf16:
        return None
    try:
        text = raw.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        return None
    if is_utf16 and not text.isascii():
        return None
    text = _COLOURS.sub("", text).replace("\xa0", " ")
    return text if text.translate(_BLANKS).isprintable() else None


def _taken(text: str, name: str) -> Taken | None:
    try:
        return bytes_of(text)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def _noted(taken: Taken, name: str) -> bytes:
    if taken.kind:
        print_err(f"took {printable_line(name)} for {taken.kind}: {count_of(len(taken.data), 'byte')}")
    return taken.data
