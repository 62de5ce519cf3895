"""Stage one of reading: the text of a spec file becomes plain Python values, with the location of each key and value.

Spec files are JSON with `//` and `/* */` comments. The reader is stricter than Kafka's: it rejects a key that is
given twice. With one value twice, as some messages of Kafka 3.7 to 3.9 have it, that is a warning.

The standard library's `json` has no comments and does not say where a value was, so the text is read here. It gives the
same values (tests/generator/spec/test_spec_source.py), but a number with a fraction, an exponent or a signed zero keeps
its text, since a default may be written as a number.

Of each key and value only the offset is kept; `Document.location` makes a line and a column of it. Lines end as editors
end them. `str.splitlines` would also end one at U+2028, which a JSON string may contain.

Files come from anyone, so everything has a limit: bytes, nesting, digits. Unlike a faulty value, a fault of the text
ends the reading, for what follows a missing bracket cannot be understood.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from pathlib import Path, PurePath
from typing import Any

from kipgen.language.problems import Problem
from kipgen.language.spec import Location
from kipwire.tools.files import need_input

JsonPath = tuple[str | int, ...]
"""The way from the top of a document to a value: keys and list positions."""

MAX_DEPTH = 64
"""Limit for nested lists and objects; a struct in a struct takes two levels."""

MAX_BYTES = 16 * 1024 * 1024
"""Limit for a spec file; it ends the reading of an endless device."""

# Python refuses to convert more than 4,300 digits, with a ValueError of its own.
_MAX_DIGITS = 400
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
# What follows must not look like part of the number, so that `010`, `1.` and `0x10` are faults as a whole.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![0-9A-Za-z_.+-])", re.ASCII)
_WORD = re.compile(r"[-+]?[0-9A-Za-z_.$+-]+", re.ASCII)
_LINE_END = re.compile(r"\r\n|\r|\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_STRING_FAULTS = (
    ("Unterminated", "the string that starts here has no end; close it with a double quote"),
    ("Invalid control", "a line break or control character in a string; write it as an escape such as \\n"),
    ("Invalid \\", "an unknown escape in a string; write a backslash as \\\\"),
)


class WrittenFloat(float):
    """A number with a fraction, an exponent or a signed zero, which remembers how it was written."""

    written: str

    def __new__(cls, written: str) -> WrittenFloat:
        self = super().__new__(cls, written)
        self.written = written
        return self


@dataclass(frozen=True, slots=True)
class Document:
    """A spec file's values, with the location of each."""

    file: str
    value: object
    line_starts: tuple[int, ...]
    value_offsets: Mapping[JsonPath, int]
    key_offsets: Mapping[JsonPath, int]

    def location(self, path: JsonPath) -> Location:
        """Find the start of a value; if it is missing, the start of the nearest one around it."""
        while path not in self.value_offsets:
            path = path[:-1]
        return self._at(self.value_offsets[path])

    def key_location(self, path: JsonPath) -> Location:
        """Find the start of a value's key; for an element of a list, the start of the element."""
        offset = self.key_offsets.get(path)
        return self.location(path) if offset is None else self._at(offset)

    def subject(self, path: JsonPath) -> str:
        """Name the subject of a path by the names in the spec, such as `MetadataResponse.Topics.Name`."""
        here: Any = self.value
        names = [_name_of(here) or PurePath(self.file).stem]
        for step in path:
            if isinstance(here, dict) and step not in here:
                break
            here = here[step]
            # Lists have no name, and `fields` would say nothing: a path has the names of objects, or their numbers.
            if isinstance(here, dict):
                named = _name_of(here)
                names += [named] if named else [f"#{step + 1}"] if isinstance(step, int) else []
        return ".".join(names)

    def _at(self, offset: int) -> Location:
        return _location_at(self.file, self.line_starts, offset)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of loading a file: the document, unless it cannot be read, and what is wrong with the text."""

    document: Document | None
    problems: tuple[Problem, ...]


def load(path: Path, display: str | None = None) -> Loaded:
    """Read a spec file; everything wrong with it is a problem, never an exception.

    Args:
        path: the file.
        display: the file's name in problems; `path` if not given.
    """
    file = display if display is not None else str(path)
    try:
        need_input(path)
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return _unreadable(Location(file, 1, 1), f"cannot be read: {reason}; give a file with a message spec")
    return load_bytes(data, file)


def load_bytes(data: bytes, file: str) -> Loaded:
    """Read a spec from the content of its file; as `load`."""
    if len(data) > MAX_BYTES:
        return _unreadable(Location(file, 1, 1), f"is longer than {MAX_BYTES} bytes, the limit for a spec")
    try:
        # A byte order mark has no column, as in editors.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _unreadable(_location_of_byte(file, data, error.start), "is not UTF-8 from here on; save it as UTF-8")
    return load_text(text, file)


def lines_of(data: bytes) -> list[str]:
    """Split a file into its lines as locations count them; bytes that are not UTF-8 are replaced."""
    return _LINE_END.split(data.decode("utf-8-sig", "replace"))


def load_text(text: str, file: str) -> Loaded:
    """Read a spec from its text; as `load`."""
    starts = (0, *(match.end() for match in _LINE_END.finditer(text)))
    gap = _GAP.match(text)
    if gap is not None and gap.end() == len(text):
        return _unreadable(Location(file, 1, 1), "is empty; write one JSON object: a message spec")
    reader = _Reader(text)
    try:
        value = reader.document()
    except _SyntaxError as fault:
        return Loaded(None, (Problem(_location_at(file, starts, fault.offset), "", fault.rule, fault.text),))
    document = Document(file, value, starts, reader.value_offsets, reader.key_offsets)
    return Loaded(document, tuple(_duplicate(document, it) for it in reader.duplicates))


def _unreadable(location: Location, text: str) -> Loaded:
    return Loaded(None, (Problem(location, "", "unreadable", text),))


def _location_of_byte(file: str, data: bytes, offset: int) -> Location:
    before = data[:offset].decode("utf-8-sig")
    lines = _LINE_END.split(before)
    return Location(file, len(lines), len(lines[-1]) + 1)


def _duplicate(document: Document, it: _Duplicate) -> Problem:
    again = _location_at(document.file, document.line_starts, it.offset)
    line = document.key_location(it.path).line
    subject = document.subject(it.path)
    if it.is_same:
        text = f"{it.path[-1]!r} has this value in line {line} already; keep one of the two"
        return Problem(again, subject, "repeated-key", text, "warning")
    text = f"{it.path[-1]!r} is already given in line {line}; keep one of the two"
    return Problem(again, subject, "duplicate-key", text)


def _is_same(one: object, other: object) -> bool:
    """True if two values are written alike, but for blanks, comments and the order of properties."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, WrittenFloat) and isinstance(other, WrittenFloat):
        return one.written == other.written
    return one == other


def _location_at(file: str, line_starts: tuple[int, ...], offset: int) -> Location:
    line = bisect_right(line_starts, offset)
    return Location(file, line, offset - line_starts[line - 1] + 1)


def _name_of(value: object) -> str | None:
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) and name else None


@dataclass(frozen=True, slots=True)
class _Duplicate:
    """A key that is given again in its object."""

    path: JsonPath
    offset: int
    is_same: bool
    """True if the key has the same value as before."""


class _SyntaxError(Exception):
    """The text is not the JSON of a spec."""

    def __init__(self, offset: int, text: str, rule: str = "syntax") -> None:
        super().__init__(text)
        self.offset = offset
        self.text = text
        self.rule = rule


class _Reader:
    """Reads one text once, top down; the depth limit bounds the recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.value_offsets: dict[JsonPath, int] = {}
        self.key_offsets: dict[JsonPath, int] = {}
        self.duplicates: list[_Duplicate] = []

    def document(self) -> object:
        value, end = self._value(self._skip(0), (), 1)
        end = self._skip(end)
        if end < len(self.text):
            raise _SyntaxError(end, "there is text after the end of the object; a file contains exactly one object")
        return value

    def _skip(self, at: int) -> int:
        gap = _GAP.match(self.text, at)
        assert gap is not None  # it matches the empty text, too
        end = gap.end()
        if self.text.startswith("/*", end):
            raise _SyntaxError(end, "the comment that starts here has no end; close it with */")
        return end

    def _value(self, at: int, path: JsonPath, depth: int) -> tuple[object, int]:
        self.value_offsets[path] = at
        first = self.text[at : at + 1]
        if first == '"':
            return self._string(at)
        if first in ("{", "["):
            if depth > MAX_DEPTH:
                raise _SyntaxError(at, f"nested more than {MAX_DEPTH} levels deep", "nesting-depth")
            return self._object(at, path, depth) if first == "{" else self._list(at, path, depth)
        return self._scalar(at)

    def _object(self, at: int, path: JsonPath, depth: int) -> tuple[dict[str, object], int]:
        result: dict[str, object] = {}
        end = self._skip(at + 1)
        if self.text.startswith("}", end):
            return result, end + 1
        while True:
            if not self.text.startswith('"', end):
                raise _SyntaxError(end, f"{self._describe_found(end)}, expected a property's name in double quotes")
            key_at = end
            key, end = self._string(end)
            end = self._skip(end)
            if not self.text.startswith(":", end):
                raise _SyntaxError(end, f"{self._describe_found(end)}, expected the colon after {key!r}")
            key_path = (*path, key)
            if key in result:
                # The value has no path of its own, since its key is taken; it is compared, and read for faults of its
                # text.
                reader = _Reader(self.text)
                value, end = reader._value(self._skip(end + 1), (), depth + 1)
                is_same = _is_same(value, result[key]) and all(it.is_same for it in reader.duplicates)
                self.duplicates.append(_Duplicate(key_path, key_at, is_same))
            else:
                self.key_offsets[key_path] = key_at
                result[key], end = self._value(self._skip(end + 1), key_path, depth + 1)
            end, is_last = self._separator(end, "}")
            if is_last:
                return result, end

    def _list(self, at: int, path: JsonPath, depth: int) -> tuple[list[object], int]:
        result: list[object] = []
        end = self._skip(at + 1)
        if self.text.startswith("]", end):
            return result, end + 1
        while True:
            value, end = self._value(end, (*path, len(result)), depth + 1)
            result.append(value)
            end, is_last = self._separator(end, "]")
            if is_last:
                return result, end

    def _separator(self, at: int, closing: str) -> tuple[int, bool]:
        """Read over a comma or the closing bracket; return the next position, and True for the bracket."""
        at = self._skip(at)
        if self.text.startswith(closing, at):
            return at + 1, True
        if not self.text.startswith(",", at):
            raise _SyntaxError(at, f"{self._describe_found(at)}, expected a comma or {closing!r}")
        end = self._skip(at + 1)
        if self.text.startswith(closing, end):
            raise _SyntaxError(at, f"a comma before the closing {closing!r}; remove it")
        return end, False

    def _string(self, at: int) -> tuple[str, int]:
        plain = _PLAIN_STRING.match(self.text, at)
        if plain is not None:
            return plain[1], plain.end()
        try:
            value, end = scanstring(self.text, at + 1, True)
        except JSONDecodeError as error:
            text = next((text for start, text in _STRING_FAULTS if error.msg.startswith(start)), error.msg)
            raise _SyntaxError(error.pos, text) from None
        # JSON can write one half of a pair; no file of generated code can, since UTF-8 has no bytes for it.
        if _SURROGATE.search(value):
            raise _SyntaxError(at, "half of a surrogate pair in a string; write both halves, or the character itself")
        return value, end

    def _scalar(self, at: int) -> tuple[object, int]:
        number = _NUMBER.match(self.text, at)
        if number is not None:
            written = number[0]
            if len(written) > _MAX_DIGITS:
                raise _SyntaxError(at, f"the number has more than {_MAX_DIGITS} characters, which is the limit")
            is_whole = number[1] is None and number[2] is None and written != "-0"
            return (int(written) if is_whole else WrittenFloat(written)), number.end()
        word = _WORD.match(self.text, at)
        if word is not None and word[0] in _LITERALS:
            return _LITERALS[word[0]], word.end()
        if word is not None and word[0].lstrip("+-") in ("NaN", "Infinity"):
            raise _SyntaxError(at, f'{word[0]} is not valid JSON; write it as the string "{word[0]}"')
        raise _SyntaxError(at, f"{self._describe_found(at)}, expected a value{self._hint(at, word)}")

    def _hint(self, at: int, word: re.Match[str] | None) -> str:
        if word is not None and word[0].lstrip("+-")[:1].isdigit():
            return "; write a number as JSON does (no leading zeros, plus sign or hex), or a string in double quotes"
        return "; write strings in double quotes" if word is not None or self.text.startswith("'", at) else ""

    def _describe_found(self, at: int) -> str:
        if at >= len(self.text):
            return "the file ends"
        word = _WORD.match(self.text, at)
        found = word[0] if word is not None else self.text[at]
        return f"found {found[:40]!r}"
