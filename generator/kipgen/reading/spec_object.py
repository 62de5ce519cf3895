"""The objects of a document, read property by property, with the problems found in them.

Kafka's specs are read by Jackson, which takes a number or a boolean where a text is due, a text where a number or a
boolean is due, and a single value where a list is due. Specs rely on it (`"default": -1`), so the methods do the same.
What Jackson takes by accident is a problem of the JSON Schema: `"tag": 0.7` as 0, `"type": 0` as the first type.

Every method marks what it reports as broken. Nothing broken is reported again, by another method or by a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kipgen.language.problems import Problem
from kipgen.language.versions import Versions
from kipgen.reading.draft import SpecPart
from kipgen.reading.schema_check import SchemaCheck, abbreviate, limits, out_of_range
from kipgen.reading.source import Document, JsonPath, WrittenFloat

_LONGEST_INTEGER = 100
# Texts of specs become docstrings and lines on terminals. Like control characters, U+2028 and U+2029 end lines for some
# readers, and marks of direction make a text look like another one.
_NOT_IN_PROSE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Reading:
    """A document that is being read: what the JSON Schema found broken, and the problems found so far."""

    def __init__(self, document: Document, checked: SchemaCheck) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.broken_by_parent: dict[JsonPath, set[str]] = {}
        for path in checked.broken:
            if path:
                self.broken_by_parent.setdefault(path[:-1], set()).add(str(path[-1]))


class SpecObject:
    """One object of the document, read property by property; as lenient with strings and numbers as Kafka's reader."""

    def __init__(self, reading: Reading, path: JsonPath, value: dict[str, object]) -> None:
        self.reading = reading
        self.path = path
        self.value = value
        self.names = reading.document.subject(path)
        self.broken = set(reading.broken_by_parent.get(path, ()))

    def text(self, name: str) -> str | None:
        """Read a property as a string; None if it is absent, null or broken."""
        value = self.value.get(name)
        if value is None or name in self.broken:
            return None
        if isinstance(value, str):
            return value
        # As JSON has it; Python would print it with a capital.
        if isinstance(value, bool):
            return "true" if value else "false"
        return value.written if isinstance(value, WrittenFloat) else str(value)

    def nonblank(self, name: str) -> str | None:
        """Read a property as a string; None also if it is blank."""
        text = self.text(name)
        return text if text is not None and text.strip() else None

    def about(self) -> str:
        """Return the text of `about`; report a control character in it."""
        text = self.text("about") or ""
        if fault := control_character(text):
            self.report("about", "control-character", f"'about' {fault}")
        return text

    def flag(self, name: str) -> bool:
        return (self.text(name) or "").lower() == "true"

    def integer(self, name: str) -> int | None:
        """Read a property as a whole number within the limits that the JSON Schema sets."""
        value = self.value.get(name)
        if value is None or name in self.broken or not isinstance(value, int | float | str):
            return None
        lowest, highest = bounds = limits(name)
        # Python does not convert very long digits, and such a number is out of range anyway.
        if (not isinstance(value, str) or len(value) <= _LONGEST_INTEGER) and lowest <= int(value) <= highest:
            return int(value)
        self.report(name, *out_of_range(name, value, bounds))
        return None

    def versions(self, name: str, absent: Versions) -> Versions:
        """Read a property as a version range; `absent` if it is missing or cannot be read."""
        text = self.nonblank(name)
        if text is None:
            return absent
        try:
            return Versions.parse(text)
        except ValueError as error:
            self.report(name, "version-syntax", f"{name!r}: {error}")
            return absent

    def name(self, grammar: re.Pattern[str], explanation: str) -> str:
        text = self.text("name") or ""
        if "name" not in self.broken and not grammar.fullmatch(text):
            self.report("name", "name-form", f"{abbreviate(text)} is not a valid name; {explanation}")
        return text

    def integers(self, name: str) -> tuple[int, ...]:
        """Read a property as a list of whole numbers; empty if any of them is broken."""
        value = self.value.get(name)
        if self.reading.broken_by_parent.get((*self.path, name)):
            self.broken.add(name)
        return tuple(map(int, value)) if isinstance(value, list) and name not in self.broken else ()

    def objects(self, name: str) -> Iterator[tuple[JsonPath, dict[str, object]]]:
        """Yield the objects of a list, or the single object that is given instead of a list."""
        value = self.value.get(name)
        path = (*self.path, name)
        if isinstance(value, dict):
            yield path, value
        elif isinstance(value, list):
            yield from (((*path, index), item) for index, item in enumerate(value) if isinstance(item, dict))

    def report(self, name: str, rule: str, text: str, *below: str | int) -> None:
        """Note a problem with a property's value, or with the value of a key within it."""
        path = (*self.path, name, *below)
        # Of something that is missing, the name is what a reader looks for.
        if path not in self.reading.document.value_offsets:
            path = (*self.path, "name")
        self.reading.problems.append(Problem(self.reading.document.location(path), self.names, rule, text))
        self.broken.add(name)

    def part(self) -> SpecPart:
        """Make the object for the rules, with what is broken so far; call it when all properties are read."""
        given = frozenset(name for name, value in self.value.items() if not isinstance(value, str) or value.strip())
        return SpecPart(self.reading.document, self.path, self.names, given, frozenset(self.broken))


def control_character(text: str) -> str:
    """Find the fault in the characters of a text, which may have line ends and tabs; "" if there is none."""
    found = _NOT_IN_PROSE.search(text)
    return f"contains the control character U+{ord(found[0]):04X}; remove it" if found else ""
