"""The groups of the kernel's files use each other only through their interfaces.

Cython compares each declaration in an interface with its definition. It cannot see groups: all is one module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import pytest

from tests.support.subjects.kernel_source import FILES, Sources, without_comments

_MEMBERS = re.compile(r"^cdef enum(?: \w+)?:\n((?:(?: .*)?\n)*)", re.MULTILINE)
_NUMBERS = re.compile(r"^cdef enum:\n((?:(?: .*)?\n)*)", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:cdef|def) [^=\n(]*?(\w+)\(", re.MULTILINE)
_TYPE = re.compile(r"^(?:# |cdef )?(?:class|struct|enum) ([A-Z]\w*)", re.MULTILINE)
_VARIABLES = re.compile(r"^(?:cdef [^(\n:=]+?[ *])?(\w+(?:, \w+)*)(?:\[.*\])?(?: = .*)? *$", re.MULTILINE)


class Names(NamedTuple):
    """Names in a text: those that it defines or declares for the whole module, or those that it uses."""

    functions: set[str]
    others: set[str]
    """Types, variables and numbers; of what is used, every name."""

    def __and__(self, used: Names) -> set[str]:
        """Return the names that are used. A function's name may also be a variable's, so that a call must show it."""
        return (self.functions & used.functions) | (self.others & used.others)


def defined(text: str, numbers: re.Pattern[str] = _MEMBERS) -> Names:
    """Return the names that a text defines or declares, with the members of the enums that `numbers` finds."""
    code = without_comments(text)
    types = _TYPE.findall(text)  # with Python's classes, which interfaces have in comments
    members = re.findall(r"^ +(\w+)", "".join(numbers.findall(code)), re.MULTILINE)
    return Names(
        {*_FUNCTION.findall(code)}, {*types, *members, *re.findall(r"\w+", " ".join(_VARIABLES.findall(code)))}
    )


def used(text: str) -> Names:
    """Return the names that a text calls, and all that stand in it, except attributes."""
    code = re.sub(r'"[^"\n]*"', '""', without_comments(text))
    return Names({*re.findall(r"(?<!def )(?<![.\w])(\w+)\(", code)}, {*re.findall(r"(?<![.\w])\w+", code)})


def groups(sources: Sources) -> dict[str, list[str]]:
    """Return the files of each group, by the headings in _kernel.pyx, which is a file of the first one."""
    heading = re.compile(r'^# (\w+): .*\n((?:include ".*"\n)+)', re.MULTILINE)
    found = {name.lower(): re.findall(r'"(.*)"', files) for name, files in heading.findall(sources["_kernel.pyx"])}
    found["objects"].append("_kernel.pyx")
    return found


def faults(sources: Sources) -> Iterator[str]:
    """Yield what a group uses of another one that no interface offers, and what an interface offers in vain."""
    members = groups(sources)
    texts = {group: "".join(sources[file] for file in files) for group, files in members.items()}
    interfaces = {group: sources.get(f"{group}.pxd", "") for group in members}
    names = {group: defined(texts[group] + interfaces[group]) for group in members}
    wanted = set()
    for group, earlier in zip(members, range(len(members)), strict=True):
        for other in members.keys() - {group}:
            offered = set(chain(*defined(interfaces[other]))) if other in list(members)[:earlier] else set()
            for file in members[group]:
                found = (names[other] & used(sources[file])) - set(chain(*names[group]))
                wanted |= found
                yield from (f"{file}: `{name}` is not offered by {other}" for name in sorted(found - offered))
    for group, text in interfaces.items():
        of_others = set(chain(*defined(text, _NUMBERS)))
        yield from (
            f"{group}.pxd: no other group uses `{name}`"
            for name in sorted(of_others - wanted)
            if len(re.findall(rf"\b{name}\b", text)) == 1  # a type that others only get inside another one stands twice
        )


def test_groups_of_the_kernel_use_only_what_earlier_ones_offer() -> None:
    assert list(faults(FILES)) == []
    assert list(groups(FILES)) == ["objects", "records", "columns", "projection", "conversion"]


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        ("projection.pxi", "put_item(", "write_item(", "projection.pxi: `write_item` is not offered by objects"),
        ("conversion.pxi", "not is_nothing(", "not ascends(", "conversion.pxi: `ascends` is not offered by objects"),
        (
            "records.pxi",
            "while left(&cursor):",
            "while MAX_BUFFERS:",
            "records.pxi: `MAX_BUFFERS` is not offered by projection",
        ),
        (
            "record_columns.pxi",
            "MIN_RECORD_SIZE",
            "NO_OFFSET",
            "record_columns.pxi: `NO_OFFSET` is not offered by records",
        ),
        ("objects.pxd", "cdef bint has_size(", "cdef bint has_sizes(", "objects.pxd: no other group uses `has_sizes`"),
        ("objects.pxd", "cdef struct Tags:", "cdef struct Tag:", "objects.pxd: no other group uses `Tag`"),
        ("objects.pxd", "STACK =", "HEAP =", "objects.pxd: no other group uses `HEAP`"),
    ],
)
def test_a_use_around_an_interface_is_found(file: str, old: str, new: str, fault: str | None) -> None:
    assert fault in faults({**FILES, file: FILES[file].replace(old, new)})
