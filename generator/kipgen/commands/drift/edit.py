"""Changes to the text of a spec that leave every other character as it is: comments, order and layout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|[\[\]{}]|[,:]|[^\s\[\]{}",:/]+', re.DOTALL)
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)?[ \t]*(?=[\r\n]|\Z)")
_COMMA_BEHIND = re.compile(r"(?:\s|//[^\r\n]*|/\*.*?\*/)*,", re.DOTALL)
_COMMA_BEFORE = re.compile(r",\s*\Z")


@dataclass(frozen=True, slots=True)
class Edit:
    """Some characters of a text, and what is to stand there."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits, which must not overlap; of several at one place the first comes first."""
    pieces, done = [], 0
    for edit in sorted(edits, key=lambda it: it.start):
        pieces += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join([*pieces, text[done:]])


def value_end(text: str, start: int) -> int:
    """The offset behind the JSON value that starts at an offset; the text must be that of a spec that was read."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
        if not depth:
            return token.end()
    return len(text)


def replacement(text: str, start: int, value: str) -> Edit:
    """Put another value where one starts."""
    return Edit(start, value_end(text, start), value)


def removal(text: str, key_start: int, value_start: int) -> Edit | None:
    """Take out a property with the comma before it; None where a comment stands between the two."""
    comma = _COMMA_BEFORE.search(text, 0, key_start)
    return Edit(comma.start(), value_end(text, value_start), "") if comma else None


def insertion_behind(text: str, start: int, items: Iterable[str], separator: str) -> list[Edit]:
    """Put elements or properties behind the one whose value starts at an offset.

    Args:
        text: the spec.
        start: where the value starts that they go behind.
        items: their texts.
        separator: what stands before each of them, behind the comma: a space, or a line break and an indentation.
    """
    end = value_end(text, start)
    comma = _COMMA_BEHIND.match(text, end)
    at = comma.end() if comma else end
    line = _REST_OF_LINE.match(text, at) if "\n" in separator else None
    behind = line.end() if line else at
    if comma:
        return [Edit(behind, behind, "".join(f"{separator}{item}," for item in items))]
    return [Edit(end, end, ","), Edit(behind, behind, ",".join(f"{separator}{item}" for item in items))]


def insertion_first(text: str, list_start: int, items: Iterable[str], separator: str, outer: str) -> Edit:
    """Put elements before all others of a list.

    Args:
        text: the spec.
        list_start: where its opening bracket is.
        items: their texts.
        separator: the line break and the indentation of an element.
        outer: the line break and the indentation of the closing bracket, for a list that was empty.
    """
    line = _REST_OF_LINE.match(text, list_start + 1)
    at = line.end() if line else list_start + 1
    is_empty = value_end(text, list_start) == _past_gap(text, list_start + 1) + 1
    inside = ",".join(f"{separator}{item}" for item in items)
    return Edit(at, at, inside + (outer if is_empty and not _has_break(text, at) else "" if is_empty else ","))


def _past_gap(text: str, at: int) -> int:
    """Where the first token is that is no comment."""
    for token in _TOKEN.finditer(text, at):
        if not token[0].startswith(("//", "/*")):
            return token.start()
    return len(text)


def _has_break(text: str, at: int) -> bool:
    return text[at : at + 1] in ("\r", "\n")


def indentation(text: str, start: int) -> str:
    """What stands between the start of a line and an offset in it, where that is blank; otherwise as many spaces."""
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    before = text[line:start]
    return before if not before.strip() else " " * (len(before) - len(before.lstrip()))
