"""The bytes to inspect: from hex text, a file or standard input; also in the output of xxd, hexdump, od and base64.

Whatever tools print is accepted, but not guessed: each form is tried as a whole, and one line or one offset that does
not fit excludes it.
"""

from __future__ import annotations

import binascii
import re
import sys
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from kipwire.console.inspect.dumps import Taken, read_dump
from kipwire.tools.files import need_input
from kipwire.tools.text import count_of, print_err, printable_line

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}")


def read_base64(text: str) -> Taken | None:
    """Decode base64 in one or more lines; None if the text is something else."""
    joined = "".join(text.splitlines())
    if not _BASE64.fullmatch(joined) or len(joined) % 4:
        return None
    try:
        data = b64decode(joined.translate(str.maketrans("-_", "+/")), validate=True)
    except binascii.Error:
        return None
    return Taken(data, "base64")


def capture_kind(data: bytes) -> str:
    """Recognize the kind of a packet capture; empty if the bytes are something else."""
    if data[:4] == b"\x0a\x0d\x0d\x0a" and data[8:12] in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"):
        return "pcapng"
    is_pcap = data[:4] in (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1")
    return "pcap" if is_pcap and data[4:8] in (b"\0\x02\0\x04", b"\x02\0\x04\0") else ""


# Around and between the bytes of what tools print: blanks, and 0a:0b, 0a,0b, 0x0a, \x0a.
_BETWEEN = re.compile(r"(?:[\s:,]|0x|\\x)+", re.IGNORECASE)
MAX_BYTES = 64 * 2**20
"""Limit for the input, as raw bytes or as hex text: beyond that no table of its bytes can be shown."""


def read_input(words: Sequence[str]) -> bytes:
    """Read the bytes that the words of a command line give.

    Args:
        words: hex text, which may be several words; or the name of a file with raw bytes, hex text or the output of
            xxd, hexdump, od or base64; or `-`, or nothing, for standard input.

    Raises:
        ValueError: neither hex text nor a file, a packet capture, a pipe that was not opened for this process, or
            more than `MAX_BYTES`.
        OSError: the file cannot be read.
    """
    if not words or list(words) == ["-"]:
        return _content(_read(sys.stdin.buffer, "standard input"), "standard input")
    text = " ".join(words)
    if len(words) == 1 and _is_readable(text):
        try:
            need_input(Path(text))
        except OSError as error:
            raise ValueError(f"{text} {error.strerror}; give a file, or - for standard input") from None
        with Path(text).open("rb") as stream:
            return _content(_read(stream, text), text)
    data = parse_hex(text)
    if data is None:
        short = text if len(text) <= 40 else f"{text[:40]}..."
        raise ValueError(f"{short!r} is neither a file nor hex text with two digits for each byte")
    return data


def _read(stream: BinaryIO, name: str) -> bytes:
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{name}: is longer than {MAX_BYTES} bytes, the limit; give one message or frame")
    return data


def parse_hex(text: str) -> bytes | None:
    """Parse a hex text; None if it is not hex text."""
    try:
        return bytes.fromhex(_BETWEEN.sub("", text))
    except ValueError:
        return None


def _is_readable(name: str) -> bool:
    """True if it names a file, or something like one, such as a pipe."""
    try:
        return Path(name).exists() and not Path(name).is_dir()
    except (OSError, ValueError):  # hex text can be longer than any name
        return False


def _content(raw: bytes, name: str) -> bytes:
    """Decode hex text, dumps and base64, and leave anything else unchanged; report what was taken for a dump."""
    kind = capture_kind(raw)
    if kind:
        raise ValueError(
            f"{name} is a packet capture ({kind}), not a message; kipwire dump shows the frames in it, "
            "and --frame N of this command explains one"
        )
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError:
        return raw
    taken = read_dump(text)  # before hex text: offsets are hex digits, too
    if taken is None:
        data = parse_hex(text)
        if data is not None:
            return data
        if parse_hex(text.replace("\n*\n", "\n")) is not None:
            raise ValueError(
                f"{name} has * for repeated rows, and no offsets that say how many; print them all (od -v)"
            )
        taken = read_base64(text.strip())
    if taken is None:
        return raw
    print_err(f"took {printable_line(name)} for {taken.kind}: {count_of(len(taken.data), 'byte')}")
    return taken.data
