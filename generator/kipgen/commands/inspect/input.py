"""The bytes to inspect: from hex text, a file or standard input."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import BinaryIO

from kipgen.commands.inspect.dumps import capture_form, read_base64, read_dump
from kipgen.files import need_input
from kipwire.tools.text import counted, print_err, printable_line

# Around and between the bytes of what tools print: blanks, and 0a:0b, 0a,0b, 0x0a, \x0a.
_BETWEEN = re.compile(r"(?:[\s:,]|0x|\\x)+", re.IGNORECASE)
MAX_BYTES = 64 * 2**20
"""How long the input may be, as raw bytes or as hex text: beyond that no table of its bytes can be shown."""


def read_input(words: list[str]) -> bytes:
    """The bytes that the words of a command line give.

    Args:
        words: hex text, which may be several words; or the name of a file with raw bytes, hex text or the output of
            xxd, hexdump, od or base64; or `-`, or nothing, for standard input.

    Raises:
        ValueError: neither hex text nor a file, a packet capture, a pipe that nobody has opened for this process, or
            more than `MAX_BYTES`.
        OSError: the file cannot be read.
    """
    if not words or words == ["-"]:
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
    """The bytes of a hex text, or None if it is not hex text."""
    try:
        return bytes.fromhex(_BETWEEN.sub("", text))
    except ValueError:
        return None


def _is_readable(name: str) -> bool:
    """Whether it names a file, or something like one, such as a pipe."""
    try:
        return Path(name).exists() and not Path(name).is_dir()
    except (OSError, ValueError):  # hex text can be longer than any name
        return False


def _content(raw: bytes, name: str) -> bytes:
    """Hex text and dumps as their bytes, anything else unchanged; what was taken for a dump is said."""
    kind = capture_form(raw)
    if kind:
        raise ValueError(f"{name} is a packet capture ({kind}), not a message; kipgen dump shows the frames in it")
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
    print_err(f"took {printable_line(name)} for {taken.form}: {counted(len(taken.data), 'byte')}")
    return taken.data
