"""Groups of the kernel's files use each other through interfaces, and lists of Python agree with enums of C.

Cython compares each declaration in an interface with its definition. It cannot see groups: all is one module. What a C
compiler can see of numbers is at the end of _kernel.pyx, as static assertions.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from kipwire.codec import wire
from kipwire.model.types import MAX_STRING, TYPES
from kipwire.records.checks import Limits, Location
from kipwire.records.model import NO_OFFSET, Record, RecordBatch
from kipwire.records.record_batches import Source
from tests.support.places import ROOT
from tests.support.subjects.kernel_classes import KERNEL, needs_kernel
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
def test_a_use_around_an_interface_is_found(file: str, old: str, new: str, fault: str) -> None:
    assert fault in list(faults({**FILES, file: FILES[file].replace(old, new)}))


def members(file: str, first: str) -> dict[str, int]:
    """Return the names and numbers of the enum of a file that begins with a name."""
    enum = next(one for one in _MEMBERS.findall(without_comments(FILES[file])) if one.split()[0] == first)
    numbers: dict[str, int] = {}
    for name, given in re.findall(r"^ +(\w+)(?: = (\S+))?", enum, re.MULTILINE):
        numbers[name] = int(given, 0) if given else max(numbers.values(), default=-1) + 1
    return numbers


@needs_kernel
def test_a_word_of_plans_has_the_number_of_its_name() -> None:
    kinds, prefixes = members("objects.pxd", "BOOL"), members("objects.pxd", "NO_PREFIX")
    assert {
        name.removesuffix("_PREFIX").replace("NO", "").lower(): at for name, at in prefixes.items()
    } == KERNEL.PREFIXES
    assert {word: kinds[word.upper()] for word in KERNEL.ROLES} == KERNEL.ROLES
    words = {word: kind for word, (kind, _, _) in KERNEL.KINDS.items()}
    assert words == {word: kinds[re.sub(r"(packed)\d+", r"\1", word).upper()] for word in words}


@needs_kernel
def test_kinds_are_in_one_order_with_those_of_fixed_width_first() -> None:
    kinds = members("objects.pxd", "BOOL")
    words = {word: kind for word, (kind, _, _) in KERNEL.KINDS.items()}
    assert list(words.values()) == sorted(words.values())
    assert {*words.values()} == {*range(kinds["NULLABLE_STRUCT"])}, "a kind of value without a word"
    assert {word for word in words if words[word] <= kinds["UUID"]} == {one.name for one in TYPES.values() if one.width}


@needs_kernel
def test_a_width_has_the_store_of_its_name() -> None:
    stores = members("columns.pxi", "STORE_32")
    assert {width: stores[f"STORE_{8 * width or 'BIT'}"] for width in KERNEL.STORES} == KERNEL.STORES


@needs_kernel
def test_slots_of_batches_have_the_numbers_of_their_names() -> None:
    slots = members("batches.pxi", "BATCH_ATTRIBUTES")
    assert slots.pop("BATCH_SLOTS") == len(KERNEL.BATCH_NAMES)
    assert [f"BATCH_{name.strip('_').upper()}" for name in KERNEL.BATCH_NAMES] == list(slots)
    assert {*KERNEL.BATCH_NAMES} == {*RecordBatch.__slots__}


def test_numbers_of_records_are_those_of_python() -> None:
    numbers, source = members("batches.pxi", "BASE_OFFSET_AT"), get_args(Source)
    assert members("records.pxi", "NO_OFFSET") == {"NO_OFFSET": NO_OFFSET, "RECORD_SLOTS": len(Record.__slots__)}
    assert [numbers[f"SOURCE_{name}"] for name in ("LOCATION", "LIMITS")] == list(map(source.index, (Location, Limits)))
    assert (numbers["SOURCE_SIZE"], numbers["LOCATION_SIZE"]) == (len(source), len(get_args(Location)))
    assert Limits._fields[numbers["LIMIT_OF_ITEMS"]] == "items"


def test_lengths_and_tags_have_the_31_bits_that_readers_take() -> None:
    assert wire.MAX_LENGTH + 1 == wire.MAX_TAG == (1 << 31) - 1
    assert MAX_STRING == (1 << 15) - 1


@pytest.mark.night
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (cc)")
def test_a_compiler_refuses_each_static_assertion_that_does_not_hold(tmp_path: Path) -> None:
    """Their conditions are constants, as Cython alone does not see."""
    code, stated = tmp_path / "kernel.c", "".join(FILES.values()).count("\nstatic_assert(")
    cython = [sys.executable, "-m", "cython", "-3", str(ROOT / "runtime/kernel/_kernel.pyx"), "-o", str(code)]
    subprocess.run(cython, check=True)
    text, replaced = re.subn(r"(?m)^  KIP_STATIC_ASSERT\(", "  KIP_STATIC_ASSERT(!", code.read_text())
    code.write_text(text)
    command = ["cc", "-fsyntax-only", f"-I{sysconfig.get_path('include')}", str(code)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert refused.count(": error: ") == replaced == stated > 10
