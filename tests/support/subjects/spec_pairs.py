"""Random pairs of specs, old and new, which differ in one to three changes of any kind that the language has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import count
from random import Random
from typing import Any, NamedTuple

from kipgen.language.spec import MessageSpec
from kipgen.reading.check import read_bytes

Json = dict[str, Any]
NAMES = ("Alpha", "Beta", "GammaID", "GammaId", "Delta")
TYPES = ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "string", "uuid", "bytes", "records")
ARRAYS = ("[]int32", "[]int16", "[]int64", "[]string", "[]bytes", "[]uuid", "[]bool")
RANGES = ("0+", "0+", "0+", "1+", "2+", "0-1", "1", "0")
ENCODED = ("int16", "int32", "int64")
ENCODINGS = tuple(f"{form}{bits}" for form in ("fixed", "packed", "upacked") for bits in (16, 32, 64))
DEFAULTS = ("0", "1", "-1", "7", "true", "false", "x", "null", "1.5", "AAAAAAAAAAAAAAAAAAAAAQ", "")
RECORDS = ("data", "metadata", "coordinator-value", "coordinator-key", "header")
LAYOUT_FORMS = ("int16", "int32", "varint", "uvarint", "rest")
"""Forms of sizes and counts in layouts."""


PAIRS_OF_ONE = 4
"""Number of new specs for each old one, whose classes take time."""


class RandomSpec(NamedTuple):
    """A random spec without errors."""

    text: str
    spec: MessageSpec


def random_pairs(random: Random) -> tuple[RandomSpec, list[RandomSpec]]:
    """Make an old spec, and new ones that differ from it in one to three changes each."""
    document, old = next((one, found) for one in iter(lambda: _document(random), None) if (found := _read(one)))
    kinds = OF_LAYOUTS if document["type"] == "layout" else OF_MESSAGES
    news: list[RandomSpec] = []
    while len(news) < PAIRS_OF_ONE:
        # The kind first, so that those that seldom fit are as frequent as the others.
        kind = random.choice(kinds)
        for _ in range(12):
            changed = deepcopy(document)
            for change in (kind, *random.choices(kinds, k=random.choice((0, 0, 0, 1, 2)))):
                change(random, changed)
            if changed != document and (new := _read(changed)):
                news.append(new)
                break
    return old, news


def _read(document: Json) -> RandomSpec | None:
    text = json.dumps(document)
    spec = read_bytes(text.encode(), "Probe.json").spec
    return None if spec is None else RandomSpec(text, spec)


# Specs


def _document(random: Random) -> Json:
    if random.random() < 0.1:
        fields = [_layout_field(random, name) for name in random.sample(NAMES[:3], random.randint(1, 3))]
        return {"type": "layout", "name": "Probe", "validVersions": "0-1", "fields": fields}
    type_ = random.choice((*RECORDS, "data", "request", "response"))
    name = {"request": "ProbeRequest", "response": "ProbeResponse"}.get(type_, "Probe")
    document: Json = {
        "type": type_,
        "name": name,
        "validVersions": random.choice(("0-2", "0-2", "0-1", "1-2", "0")),
        "flexibleVersions": random.choice(("0+", "0+", "1+", "2+", "none")),
        "fields": [_field(random, name, 2) for name in random.sample(NAMES[:3], random.randint(1, 3))],
    }
    if type_ == "coordinator-key":
        document |= {"validVersions": "0", "flexibleVersions": "none"}
    if type_ not in ("data", "header"):
        document["apiKey"] = random.choice((0, 1, 2))
    for fields in _lists(document):
        _number_tags(random, fields, document["flexibleVersions"])
    return document


def _number_tags(random: Random, fields: list[Json], flexible: str) -> None:
    """Give the tagged fields of a struct tags and versions that fit."""
    numbers = count()
    for field in fields:
        if "tag" in field and flexible != "none":
            field["taggedVersions"] = random.choice((flexible, flexible, "2+"))
            field |= {"tag": next(numbers), "versions": random.choice((field["taggedVersions"], "0+"))}
        elif "tag" in field:
            del field["tag"], field["taggedVersions"]


def _field(random: Random, name: str, depth: int) -> Json:
    field: Json = {"name": name, "type": random.choice((*TYPES, *ARRAYS)), "versions": random.choice(RANGES)}
    if depth and random.random() < 0.3:
        field["type"] = random.choice(("", "[]")) + f"{name}Part"
        field["fields"] = [_field(random, inner, depth - 1) for inner in random.sample(NAMES[:3], random.randint(1, 2))]
    for change in random.sample((_nullable, _default, _tag, _tag, _encode, _override), random.choice((0, 1, 1, 2))):
        change(random, field)
    return field


def _layout_field(random: Random, name: str) -> Json:
    kind = random.choice((TYPES[1:7], ("string", "bytes"), ("[]int16", "[]string")))
    field: Json = {"name": name, "type": random.choice(kind), "versions": random.choice(RANGES)}
    if kind[0] != "int8":
        field["count" if kind[0] == "[]int16" else "size"] = random.choice(LAYOUT_FORMS)
    elif random.random() < 0.3:
        _layout_bits(random, field)
    return field


def _lists(document: Json) -> Iterator[list[Json]]:
    """Yield every list of fields."""
    yield document["fields"]
    for field in document["fields"]:
        if "fields" in field:
            yield from _lists(field)
    for struct in document.get("commonStructs", []):
        yield from _lists(struct)


def _any_list(random: Random, document: Json) -> list[Json]:
    return random.choice([fields for fields in _lists(document) if fields] or [document["fields"]])


# Changes; many have no effect, or end in a spec with errors, which is thrown away.

Change = Callable[[Random, Json], None]


def _of_field(change: Change) -> Change:
    """Make a change of a document of a change of any field."""

    def apply(random: Random, document: Json) -> None:
        if fields := _any_list(random, document):
            change(random, random.choice(fields))

    return apply


def _set(name: str, *values: Any) -> Change:
    """Make a change that gives a property another value; None removes it."""

    def apply(random: Random, holder: Json) -> None:
        value = random.choice(values)
        if value is None:
            holder.pop(name, None)
        else:
            holder[name] = value

    return apply


def _nullable(random: Random, field: Json) -> None:
    _set("nullableVersions", None, *RANGES)(random, field)
    if random.random() < 0.3:
        field["default"] = "null"


def _encode(random: Random, field: Json) -> None:
    if field["type"].removeprefix("[]") not in ENCODED and "fields" not in field:
        field["type"] = random.choice(ENCODED)
    one = random.choice((None, *ENCODINGS))
    name = "elementEncoding" if field["type"].startswith("[]") else "encoding"
    by_version = {"0": random.choice(ENCODINGS), "1+": random.choice(ENCODINGS)}
    _set(name, one, one, by_version)(random, field)


def _tag(random: Random, field: Json) -> None:
    if "tag" in field and random.random() < 0.3:
        del field["tag"], field["taggedVersions"]
        return
    field["tag"] = random.choice((0, 0, 1, 2))
    field["taggedVersions"] = random.choice(("0+", "1+", "2+"))
    if random.random() < 0.7:
        field["versions"] = field["taggedVersions"]


_default = _set("default", None, *DEFAULTS)
_override = _set("flexibleVersions", None, "none", "0+", "1+", "2+")


def _add(random: Random, document: Json) -> None:
    fields = _any_list(random, document)
    make = _layout_field if document["type"] == "layout" else lambda one, name: _field(one, name, 1)
    fields.insert(random.randint(0, len(fields)), make(random, random.choice(NAMES)))


def _remove(random: Random, document: Json) -> None:
    if fields := _any_list(random, document):
        gone = fields.pop(random.randrange(len(fields)))
        if "tag" in gone and random.random() < 0.5:
            document["reservedTags"] = [gone["tag"]]


def _move(random: Random, document: Json) -> None:
    if fields := _any_list(random, document):
        fields.insert(random.randrange(len(fields)), fields.pop(random.randrange(len(fields))))


def _rename(random: Random, field: Json) -> None:
    # Among the names are two that differ in letter case alone.
    field["name"] = random.choice((*NAMES, field["name"].swapcase().capitalize()))


def _exchange_tags(random: Random, document: Json) -> None:
    tagged = [field for field in _any_list(random, document) if "tag" in field]
    if len(tagged) > 1:
        tagged[0]["tag"], tagged[1]["tag"] = tagged[1]["tag"], tagged[0]["tag"]


def _wrap(random: Random, document: Json) -> None:
    """Put some fields into a struct."""
    fields = _any_list(random, document)
    first = random.randint(0, len(fields))
    inner = fields[first : first + 2]
    if inner and all("tag" not in field for field in inner):
        outer = {"name": "Around", "type": random.choice(("Around", "[]Around")), "versions": random.choice(RANGES)}
        fields[first : first + 2] = [{**outer, "fields": inner}]


def _unwrap(random: Random, document: Json) -> None:
    """Put the fields of a struct in its place."""
    fields = _any_list(random, document)
    for index, field in enumerate(fields):
        if "fields" in field:
            fields[index : index + 1] = field["fields"]
            return


def _make_common(random: Random, document: Json) -> None:
    fields = _any_list(random, document)
    for field in fields:
        if "fields" in field:
            struct = {"name": field["type"].removeprefix("[]"), "versions": "0+", "fields": field.pop("fields")}
            document.setdefault("commonStructs", []).append(struct)
            return


def _rename_struct(random: Random, document: Json) -> None:
    for field in _any_list(random, document):
        if "fields" in field:
            field["type"] = "[]" * field["type"].startswith("[]") + random.choice(("Other", "Another"))


def _retype(random: Random, document: Json) -> None:
    """Give the message another type, as it then is mostly written."""
    document["type"] = random.choice((*RECORDS, "request", "response"))
    endings = {"request": "ProbeRequest", "response": "ProbeResponse"}
    document["name"] = endings.get(document["type"], "Probe")
    if document["type"] in ("data", "header", "layout"):
        document.pop("apiKey", None)
    else:
        document.setdefault("apiKey", random.choice((0, 1, 2)))
    if document["type"] == "coordinator-key":
        document["validVersions"] = "0"


def _layout_bits(random: Random, field: Json) -> None:
    ranges = random.choice((("0", "1"), ("0", "2"), ("0-2", "3"), ("0-2", "4"), ("7", "0-6")))
    field["bits"] = [{"name": f"{field['name']}{index}", "bits": bits} for index, bits in enumerate(ranges)]


_HEADERS = _set("headerVersions", None, *({"0+": "2"}, {"0": "1", "1+": "2"}, {"0-1": "1", "2+": "2"}, {"0+": "1"}))
_VERSIONS = _set("validVersions", "0-1", "0-2", "0-3", "0-3", "1-2", "1-3", "2-3", "0", "1", "2", "none")
_FLEXIBLE = _set("flexibleVersions", "none", "0+", "1+", "2+", "3+")
OF_MESSAGES: tuple[Change, ...] = (
    *(_add, _add, _remove, _remove, _move, _exchange_tags, _wrap, _unwrap, _make_common, _rename_struct, _retype),
    *(_HEADERS, _VERSIONS, _VERSIONS, _FLEXIBLE, _set("servedVersions", None, "none", "0+", "1+", "2+")),
    *(_set("apiKey", 0, 1, 2, 3), _set("name", "Other"), _set("reservedTags", None, [0], [1], [0, 1])),
    *(_set(name, None, True) for name in ("noNewVersions", "closedTaggedVersions", "extensibleTaggedVersions")),
    *map(_of_field, (_nullable, _nullable, _default, _default, _tag, _tag, _encode, _encode, _override, _rename)),
    *map(_of_field, (_set("versions", *RANGES), _set("versions", *RANGES), _set("type", *TYPES, *ARRAYS))),
    *map(_of_field, (_set("type", *TYPES), _set("taggedVersions", "0+", "1+", "2+", "0-1"))),
    *map(_of_field, (_set("ignorable", None, True), _set("mapKey", None, True), _set("about", "A letter."))),
)
"""Kinds of changes of a message's spec."""
OF_LAYOUTS: tuple[Change, ...] = (
    *(_add, _remove, _move, _set("validVersions", "0-2", "0", "1")),
    *map(_of_field, (_set("size", None, *LAYOUT_FORMS), _set("count", None, *LAYOUT_FORMS), _rename, _default)),
    *map(_of_field, (_set("type", *TYPES[1:9]), _set("versions", *RANGES), _set("nullableVersions", None, *RANGES))),
    *map(_of_field, (_set("constant", None, "version", "7"), _set("required", None, True), _layout_bits)),
)
"""Kinds of changes of a layout's spec."""
