"""The text of the kernel's sources, and the functions in it, for tests of what a text can show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from tests.support.places import ROOT

Sources: TypeAlias = dict[str, str]
"""Texts by the names of their files."""

FILES: Sources = {
    file.name: file.read_text(encoding="utf-8") for file in sorted((ROOT / "runtime/kernel").glob("*.p*"))
}


class Function(NamedTuple):
    """A function of a source, without comments and docstrings."""

    file: str
    line: int
    """The number of its first line."""
    header: str
    """All of it up to the colon, in one line."""
    body: list[tuple[int, str]]
    """Its lines, with their numbers."""

    @property
    def name(self) -> str:
        return str(re.findall(r"(\w+)\(", self.header)[0])

    @property
    def text(self) -> str:
        return "\n".join(line for _, line in self.body)

    def at(self, line: int, what: str) -> str:
        """Return the text of a fault in one of its lines."""
        return f"{self.file}:{line}: {self.name}: {what}"


_NOT_CODE = re.compile(r'("""[\s\S]*?"""|#[^\n]*)')
_HEAD = re.compile(r"^( *)(?:cdef|def) (?!class|struct|enum|extern|union)[^=\n]*\((?:[^:]*?)\)[^:\n=]*:", re.MULTILINE)


def without_comments(text: str) -> str:
    """Replace comments and docstrings, C code included, by empty lines."""
    return _NOT_CODE.sub(lambda found: "\n" * found[0].count("\n"), text)


def functions(sources: Sources) -> Iterator[Function]:
    """Yield all functions and methods of the sources."""
    for file, text in sources.items():
        code = without_comments(text)
        for head in _HEAD.finditer(code):
            line = code.count("\n", 0, head.start()) + 1
            first = line + head[0].count("\n")
            rest = code[head.end() :].split("\n")
            body = [(first, rest[0])] if rest[0].strip() else []
            for number, one in enumerate(rest[1:], first + 1):
                if one.strip() and indent(one) <= len(head[1]):
                    break
                if one.strip():
                    body.append((number, one))
            yield Function(file, line, re.sub(r"\s+", " ", head[0]).strip(), body)


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def lines_before(function: Function, index: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that have run whenever this one runs, the last first: of other branches, only their heads."""
    limit = indent(function.body[index][1])
    for line, text in reversed(function.body[:index]):
        if indent(text) <= limit:
            yield line, text
            limit = indent(text)
