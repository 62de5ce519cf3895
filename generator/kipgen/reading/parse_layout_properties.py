"""Part of stage two: the properties of a field that only layouts have, and those that layouts do not have.

The former are read in messages of every type, for which the rule `layouts-only` reports each by its name. The latter
are reported here, before any rule runs: the rules of tags would report flexible versions that a layout cannot have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from kipgen.language.layout_properties import (
    PROPERTIES,
    VERSION,
    BitsSpec,
    ChecksumSpec,
    LayoutProperties,
    parse_bit_range,
)
from kipgen.reading.spec_object import SpecObject, control_character

_INTEGER = re.compile(r"\s*-?(0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,19})\s*", re.ASCII)
_NOT_IN_LAYOUTS = {
    ("tag", "taggedVersions"): "a layout has no tagged fields",
    ("flexibleVersions",): "a layout has no compact lengths",
    ("elementEncoding",): "the integers of a layout's arrays have a fixed width",
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*", re.ASCII)


def layout_properties(obj: SpecObject) -> LayoutProperties:
    """Read the properties that only layouts have; what cannot be read is reported and left out."""
    values: dict[str, Any] = {}
    for attribute, (name, _, reader) in PROPERTIES.items():
        values[attribute] = _OWN_READERS[name](obj) if reader == "own" else getattr(obj, reader)(name)
    return LayoutProperties(**values)


def refuse_foreign(obj: SpecObject) -> None:
    """Report properties that layout fields cannot have, and mark them broken so that rules skip them."""
    for names, reason in _NOT_IN_LAYOUTS.items():
        given = [name for name in names if name in obj.value]
        if given and obj.broken.isdisjoint(given):
            obj.report(given[0], "not-in-layouts", f"{reason}; leave {' and '.join(given)} out")
            obj.broken.update(given)


def _checksum(obj: SpecObject) -> ChecksumSpec | None:
    value = obj.value.get("checksum")
    if not isinstance(value, dict) or "checksum" in obj.broken:
        return None
    if obj.reading.broken_by_parent.get((*obj.path, "checksum")):
        obj.broken.add("checksum")
        return None
    return ChecksumSpec(str(value["algorithm"]), str(value["from"]))


def _constant(obj: SpecObject) -> int | str | None:
    text = obj.nonblank("constant")
    if text is None or text.strip() == VERSION:
        return text and VERSION
    if not _INTEGER.fullmatch(text):
        obj.report("constant", "constant-value", f"{text!r} is not a constant; write a whole number, or {VERSION}")
        return None
    return int(text, 0) if "x" in text.lower() else int(text)


def _bits(obj: SpecObject) -> Iterator[BitsSpec]:
    for path, _ in obj.objects("bits"):
        if obj.reading.broken_by_parent.get(path):
            obj.broken.add("bits")
    if "bits" in obj.broken:
        return
    if obj.value.get("bits") == []:
        obj.report("bits", "bits-range", "'bits' is an empty list; give a name to some bits, or leave it out")
    for path, item in obj.objects("bits"):
        name, index = str(item.get("name", "")), path[-1]
        below = () if index == "bits" else (index,)
        if not _NAME.fullmatch(name):
            text = f"{name!r} is not a valid name; start with a letter, then use letters and digits"
            obj.report("bits", "name-form", text, *below, "name")
            continue
        try:
            lowest, highest = parse_bit_range(str(item.get("bits", "")))
        except ValueError as error:
            obj.report("bits", "bits-range", str(error), *below, "bits")
            continue
        about = str(item.get("about", ""))
        if fault := control_character(about):
            obj.report("bits", "control-character", f"'about' {fault}", *below, "about")
        yield BitsSpec(name, lowest, highest, about)


_OWN_READERS: dict[str, Callable[[SpecObject], object]] = {
    "checksum": _checksum,
    "constant": _constant,
    "bits": lambda obj: tuple(_bits(obj)),
}
