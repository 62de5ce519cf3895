"""Bytes as reports show them come back exactly, or are refused: the characters of a text are never decoded."""

from __future__ import annotations

import io
import random
import re
import string
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from kipwire.console.inspect.input import read_input
from kipwire.console.inspect.pasted import bytes_of
from tests.support import command_line
from tests.support.command_line import Done
from tests.support.places import ROOT

CASES = ROOT / "tests" / "data" / "cases" / "pasted-bytes"
RECORDED = sorted((CASES / "recorded").glob("*.txt"))
FRAME = (CASES / "recorded" / "frame.bin").read_bytes()
REPORTS = sorted((CASES / "reports").iterdir())
ANSWER = bytes.fromhex("000000010000010000002a00")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    return lambda *arguments: command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_the_output_of_each_tool_and_language_is_read_as_its_bytes(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    taken = bytes_of(text)
    assert taken is not None
    assert taken.data == FRAME
    indented = bytes_of(textwrap.indent(text, "\t    "))
    assert indented is not None
    assert indented.data == FRAME


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("go-q", r"has the character é, whose bytes depend on its encoding"),
        ("go-plus-q", r"has a character as \\u, whose bytes depend on its encoding"),
        ("node-buffer-cut", r"ends with '\.\.\. 33 more bytes': they were cut off"),
        ("node-tojson-cut", r"has '\.\.\. 73 more items': bytes were left out"),
        ("od-t-u1", "is text, not bytes; forms that are read are hex, base64, dumps of xxd"),
        ("xxd-b", "is text, not bytes"),
        ("xxd-e", "is text, not bytes"),
    ],
)
def test_what_lacks_bytes_or_has_two_meanings_is_refused_with_the_reason(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_input([str(CASES / "refused" / f"{name}.txt")])


@pytest.mark.parametrize("file", REPORTS, ids=lambda file: file.name)
def test_bytes_of_reports_are_explained_from_files_standard_input_and_arguments(
    file: Path, call: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = file.read_text(encoding="utf-8")
    ways: list[tuple[str, str]] = [(str(file), str(file)), ("-", "standard input"), (text, "the argument")]
    for argument, name in ways:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(file.read_bytes()), isatty=lambda: False))
        done = call("inspect", "--response", "ApiVersions", "3", argument)
        assert (done.returncode, re.findall(r"throttle_time_ms +int32 +(\d+)", done.stdout)) == (0, ["42"]), name
        is_hex = file.name in ("plain.hex", "rust-with-comments.txt")
        assert done.stderr == "" if is_hex else re.fullmatch(rf"took {re.escape(name)} for .*: 12 bytes\n", done.stderr)


# Writers of the forms, each of its own.

Write = Callable[[bytes, random.Random], str]


def _wrapped(words: list[str], choice: random.Random, separator: str) -> str:
    """Join words in lines of any number of them, indented by any blanks."""
    width, indent = choice.randint(1, 24), choice.choice(["", "  ", "\t", "      "])
    ends = f"{separator}\n{indent}"
    return indent + ends.join(f"{separator} ".join(words[at : at + width]) for at in range(0, len(words), width))


def _array(head: str, tail: str, word: str | Callable[[int], str], comment: str = "") -> Write:
    def write(data: bytes, choice: random.Random) -> str:
        words = [word.format(byte) if isinstance(word, str) else word(byte) for byte in data]
        body = _wrapped(words, choice, ",")
        if comment:
            body = "".join(f"{line} {comment}\n" for line in body.splitlines())
        comma = choice.choice(["", ","]) if data and not comment else ""
        return f"{head.format(len(data))}{body}{comma}{choice.choice(['', chr(10)])}{tail.format(len(data))}"

    return write


def _hex(separator: str) -> Write:
    return lambda data, choice: data.hex(separator) if separator else data.hex()


def _groups(data: bytes, choice: random.Random) -> str:
    """Write hex digits in groups, as people do with fields; a first group of zeros alone would look like an offset."""
    words, at = [], 0
    while at < len(data):
        size = choice.randint(2, 8) if at else 5
        words.append(data[at : at + size].hex())
        at += size
    return "\n".join(textwrap.wrap(" ".join(words), choice.randint(30, 90), break_long_words=False))


def _dump(row: str, width: int, *, column: str = "", first: str = "", end: str = "", blank: str = " ") -> Write:
    """Make the writer of a dump: `row` has the offset and the digits, `column` the characters."""

    def write(data: bytes, choice: random.Random) -> str:
        indent = choice.choice(["", "    ", "\t"])
        lines = [line for line in first.splitlines() if line]
        for at in range(0, len(data), width):
            part = data[at : at + width]
            digits = part.hex(" ") if width != 16 or "{2}" not in row else ""
            text = "".join(chr(one) if 0x20 < one < 0x7F else blank if one == 0x20 else "." for one in part)
            line = row.format(at, digits.ljust(3 * width - 1), _pairs(part).ljust(39)) + column.format(
                text, text.ljust(width)
            )
            lines.append(line if choice.random() < 0.5 else line.rstrip())
        return "\n".join(indent + line for line in [*lines, *([end.format(len(data))] if end else [])])

    return write


def _pairs(data: bytes) -> str:
    return " ".join(data[at : at + 2].hex() for at in range(0, len(data), 2))


def _escaped(before: str, after: str, quote: str, *, is_split: bool = False, printable: bool = True) -> Write:
    def write(data: bytes, choice: random.Random) -> str:
        size = choice.randint(1, 20) if is_split else max(1, len(data))
        parts = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
        strings = []
        for part in parts:
            shown = "".join(
                chr(one) if printable and 0x20 <= one < 0x7F and chr(one) not in "\"'\\" else f"\\x{one:02x}"
                for one in part
            )
            strings.append(f"{before[-1:] if before.endswith('b') else ''}{quote}{shown}{quote}")
        return before.removesuffix("b") + choice.choice([" ", "\n    "]).join(strings) + after

    return write


def _hex_of_rust(data: bytes, choice: random.Random) -> str:
    """Write `{:02x?}`, or `{:#04x?}` where only decimal digits without a leading zero would be in it."""
    words = [f"{byte:02x}" for byte in data]
    is_decimal = all(word.isdecimal() and word[0] != "0" for word in words)
    return f"[{', '.join('0x' * is_decimal + word for word in words)}]"


NETTY = (
    "         +-------------------------------------------------+\n"
    "         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n"
    "+--------+-------------------------------------------------+----------------+"
)
SIGNED = lambda byte: str(byte - 256 if byte > 127 else byte)  # noqa: E731
FORMS: dict[str, Write] = {
    "hex": _hex(""),
    "hex, blanks": _hex(" "),
    "hex, colons": _hex(":"),
    "hex, groups": _groups,
    "hex, wrapped": lambda data, choice: textwrap.fill(data.hex(), choice.choice([17, 30, 41, 64, 79])),
    "hex, 0x and commas": _array("", "", "0x{:02x}"),
    "hex, backslashes": lambda data, _: "".join(f"\\x{byte:02x}" for byte in data),
    "Python": lambda data, _: repr(data),
    "Python, bytearray": lambda data, _: repr(bytearray(data)),
    "Python, list": lambda data, _: repr(list(data)),
    "Python, several strings": _escaped("(b", ")", "'", is_split=True),
    "Python, declared": _array("data = bytes([", "])", "{}"),
    "Rust": _array("let frame: [u8; {}] = [", "];", "0x{:02x}"),
    "Rust, vec": _array("vec![", "]", "{}"),
    "Rust, comments": _array("&[\n", "]", "0x{:02X}", "// correlation, error, \"it's\""),
    "Rust, {:02x?}": _hex_of_rust,
    "Rust, byte string": _escaped("b", "", '"'),
    "Rust, Bytes": _escaped('Bytes::from_static(b', ");", '"'),
    "Rust, suffixes": _array("[", "]", "{}u8"),
    "Go": lambda data, _: "[" + " ".join(map(str, data)) + "]",
    "Go, %#v": _array("[]byte{{", "}}", "{:#x}"),
    "Go, declared": _array("var frame = []byte{{\n", "}}", "{:#04x}"),
    "Java": lambda data, _: "[" + ", ".join(map(SIGNED, data)) + "]",
    "Java, declared": _array("byte[] frame = new byte[] {{", "}};", lambda byte: f"(byte) 0x{byte:02x}"),
    "Kotlin": _array("byteArrayOf(", ")", SIGNED),
    "Node.js": lambda data, _: f"<Buffer {data.hex(' ')}>".replace(" >", ">"),
    "Node.js, JSON": lambda data, _: f'{{"type":"Buffer","data":[{",".join(map(str, data))}]}}',
    "Node.js, Buffer.from": _array("const frame = Buffer.from([", "]);", "{}"),
    "C": _array("static const unsigned char frame[{}] = {{\n", "}};", "0x{:02x}", "/* header */"),
    "C, string": _escaped("const char *frame =\n    ", ";", '"', is_split=True, printable=False),
    "Erlang": lambda data, _: f"<<{','.join(map(str, data))}>>",
    "Netty": _dump("|{0:08x}| {1} |", 16, column="{1}|", first=NETTY),
    "tcpdump": _dump("0x{0:04x}:  {2}", 16, column="  {0}", blank="."),
    "Wireshark": _dump("{0:04x}   {1}", 16, column="   {0}"),
    "hexdump -C": _dump("{0:08x}  {1}", 16, column="  |{0}|", end="{0:08x}"),
    "hexdump -C, cut": _dump("{0:08x}  {1}", 16, column="  |{0}|"),
    "xxd": _dump("{0:08x}: {2}", 16, column="  {0}"),
    "xxd -g 1 -c 7": _dump("{0:08x}: {1}", 7, column="  {0}"),
    "od -t x1": _dump("{0:07o} {1}", 16, end="{0:07o}"),
}  # fmt: skip


def _drawn(choice: random.Random) -> bytes:
    size = choice.choice([1, 2, 3, 8, 15, 16, 17, 31, 33, choice.randint(1, 90)])
    kind = choice.randrange(4)
    if kind == 0:
        return choice.randbytes(size)
    if kind == 1:  # printable characters alone, among them quotes, brackets and digits
        return bytes(choice.choice(b" !\"#'()*+,-./09:;<=>@AFaf[\\]`{|}~") for _ in range(size))
    if kind == 2:
        return bytes(choice.choice([0, 0, 0, 1, 7, 0x30, 0x61, 0x7F, 0x80, 0xFF]) for _ in range(size))
    return bytes(4) + choice.randbytes(size)


def _need_the_same_bytes(count: int) -> None:
    for name, write in FORMS.items():
        choice = random.Random(name)
        for _ in range(count):
            data = _drawn(choice)
            text = write(data, choice)
            try:
                taken = bytes_of(text)
            except ValueError as error:  # in one line, an offset with one blank after it looks like hex
                assert re.search("may be hex or decimal|which is an offset or", str(error)), (name, text, error)
                continue
            assert taken is not None, (name, text)
            assert taken.data == data, (name, text, taken)


def test_each_form_gives_the_same_bytes_back_whatever_they_are_and_however_it_is_wrapped() -> None:
    _need_the_same_bytes(8)


@pytest.mark.night
def test_each_form_gives_many_bytes_back() -> None:
    _need_the_same_bytes(4000)


def _random_text(choice: random.Random) -> str:
    letters = choice.choice(
        [string.ascii_letters + " ", string.printable[:95] + "\n", "0123456789abcdef \n,:x", "[]{}()<>0,9 \"'\\b"]
    )
    words = [choice.choice(WORDS), *("".join(choice.choices(letters, k=choice.randint(1, 40))) for _ in range(2))]
    choice.shuffle(words)
    return choice.choice([" ", "\n", ""]).join(words)


WORDS = (
    "MetadataRequest", "AddPartitionsToTxnRequest", "password", "my_topic-1", "Exception in thread", "deadlock",
    "{\"topic\": \"orders\"}", "org.apache.kafka.common.errors.CorruptRecordException: wrong", "SELECT 1;", "#!/bin/sh",
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        *WORDS,
        "[1, 2, 300]",
        "[1, -1, 200]",
        "[1, two]",
        "(1, 2, 3",
        "{1: 2}",
        '"no escape"',
        "b'\\q'",
        "b'\\x0'\\x00",
        "0x1 2",
        "00000000: 0001 0203  ....\n00000005: 04",
        "0000   00 01 02   abc",
        "0x0010:  0000 0001",
        "x" * 5000,
        "\u00e9t\u00e9",
    ],
)
def test_texts_that_show_no_bytes_are_refused_and_raw_insists(
    text: str, tmp_path: Path, call: Callable[..., Done]
) -> None:
    file = tmp_path / "text.txt"
    for encoded in (text.encode(), text.encode("utf-8-sig"), text.replace("\n", "\r\n").encode()):
        file.write_bytes(encoded)
        with pytest.raises(ValueError, match=r"text.txt (is text, not bytes; forms that are read are|has )"):
            read_input([str(file)])
        assert read_input([str(file)], is_raw=True) == encoded
    file.write_bytes(b"kip!")
    done = call("inspect", "--raw", "HeartbeatResponse", "0", "text.txt")
    assert "6b 69" in done.stdout
    done = call("inspect", "--raw", "HeartbeatResponse", "0", "6b69")
    assert (done.returncode, done.stderr) == (
        2,
        "kipwire: '6b69' is not a file; --raw takes a file, or standard input\n",
    )


def _need_no_characters(count: int) -> None:
    choice = random.Random(7)
    for _ in range(count):
        text = _random_text(choice)
        try:
            taken = bytes_of(text)
        except ValueError:
            continue
        assert taken is None or taken.data != text.encode(), text
        if taken is not None:  # then it has digits, or base64 with a sign of it
            assert re.search(r"[0-9a-fA-F]{2}|\d|AA|=|\\|b['\"]|^\s*$|\[\]|''", text), text


def test_random_texts_are_never_taken_for_their_characters() -> None:
    _need_no_characters(300)


@pytest.mark.night
def test_many_random_texts_are_never_taken_for_their_characters() -> None:
    _need_no_characters(60_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("10, 20, 30", "may be hex or decimal"),
        ("[00, 1, 2]", "leading zeros beside others"),
        ('b"\\01"', r"has \\01, which is one byte in C and Python, and \\0 with a digit after it in Rust"),
        ('"\\x00a"', r"has \\x00a, which is one byte in C, and more elsewhere"),
        ("00000000 00 01", "begins with 00000000, which is an offset or 4 bytes"),
        ("0000000 0001 0203", "without its last line"),
        ("<<0,0,...>>", r"has '\.\.\.': bytes were left out"),
        ("0000000 100 120\n0000002", r"octal \(od -b\) or decimal"),
        ("unsigned char x[] = { 0x01 };\nunsigned int x_len = 2;", "has 1 bytes, but says 2"),
        ("x READ: 3B\n|00000000| 01 02                                           |..              |", "says 3B, but 2"),
    ],
)
def test_texts_with_two_meanings_are_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bytes_of(text)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("0, 0, 1, 42", b"\0\0\1*"),
        ("0x0, 0x1", b"\0\1"),
        ("[00, 0a]", b"\0\n"),
        ("[10, 20]", b"\n\x14"),
        ("10 20", b"\x10 "),
        ('"0001"', b"\0\1"),
        ("{0x01, 'k', 2}", b"\1k\2"),
        ('<<"k",0>>', b"k\0"),
        ("\ufeff00 01".removeprefix("\ufeff"), b"\0\1"),
        ('"\\x00g" "\\001"', b"\0g\1"),
        ("\x1b[1;32m00000000\x1b[0m: 0001", None),
    ],
)
def test_rules_decide_where_two_forms_look_alike(text: str, data: bytes | None, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode())
    assert read_input([str(tmp_path / "a.txt")]) == (b"\0\1" if data is None else data)
    (tmp_path / "a.txt").write_bytes(text.encode("utf-16"))  # as PowerShell writes it
    assert read_input([str(tmp_path / "a.txt")]) == (b"\0\1" if data is None else data)


def test_names_of_missing_files_are_not_taken_for_base64() -> None:
    with pytest.raises(ValueError, match="'AAAAAAAA' is neither a file nor hex text"):
        read_input(["AAAAAAAA"])
