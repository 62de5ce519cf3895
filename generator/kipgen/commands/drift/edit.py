"""Changes to the text of a spec that keep every other character: comments, order and spacing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|[\[\]{}]|[,:]|[^\s\[\]{}",:/]+', re.DOTALL)
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)?[ \t]*(?=[\r\n]|\Z)")
_COMMA_AFTER = re.compile(r"(?:\s|//[^\r\n]*|/\*.*?\*/)*,", re.DOTALL)
_COMMA_BEFORE = re.compile(r",\s*\Z")


@dataclass(frozen=True, slots=True)
class Edit:
    """A range of characters in a text, and their replacement."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits, which must not overlap; of several at one offset the first comes first."""
    pieces, done = [], 0
    for edit in sorted(edits, key=lambda it: it.start):
        pieces += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join([*pieces, text[done:]])


def value_end(text: str, start: int) -> int:
    """The offset after the JSON value that starts at an offset; the text must be that of a spec that was read."""
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
    """Replace the value that starts at an offset."""
    return Edit(start, value_end(text, start), value)


def removal(text: str, key_start: int, value_start: int) -> Edit | None:
    """Remove a property with the comma before it; None if a comment is between the two."""
    comma = _COMMA_BEFORE.search(text, 0, key_start)
    return Edit(comma.start(), value_end(text, value_start), "") if comma else None


def insertion_after(text: str, start: int, items: Iterable[str], separator: str) -> list[Edit]:
    """Insert elements or properties after the one whose value starts at an offset.

    Args:
        text: the spec.
        start: where that value starts.
        items: their texts.
        separator: what comes before each of them, after the comma: a space, or a line break and an indentation.
    """
    end = value_end(text, start)
    comma = _COMMA_AFTER.match(text, end)
    at = comma.end() if comma else end
    line = _REST_OF_LINE.match(text, at) if "\n" in separator else None
    after = line.end() if line else at
    if comma:
        return [Edit(after, after, "".join(f"{separator}{item}," for item in items))]
    return [Edit(end, end, ","), Edit(after, after, ",".join(f"{separator}{item}" for item in items))]


def insertion_first(text: str, list_start: int, items: Iterable[str], separator: str, outer: str) -> Edit:
    """Insert elements before all others of a list.

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
    has_break = text[at : at + 1] in ("\r", "\n")
    return Edit(at, at, inside + ("," if not is_empty else "" if has_break else outer))


def _past_gap(text: str, at: int) -> int:
    """The offset of the first token that is not a comment."""
    for token in _TOKEN.finditer(text, at):
        if not token[0].startswith(("//", "/*")):
            return token.start()
    return len(text)


def indentation(text: str, start: int) -> str:
    """The text between the start of a line and an offset in it, if it is blank; else the indentation of the line."""
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    before = text[line:start]
    return before if not before.strip() else " " * (len(before) - len(before.lstrip()))
