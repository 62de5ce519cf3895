"""Coverage of the fields of each version by vectors: the cases that exist, and the missing ones."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import NamedTuple

from kipwire.conformance.building import FieldPath, field_paths
from kipwire.conformance.vectors import KINDS, Kind, Vector
from kipwire.description.plan import Item, struct_plan
from kipwire.model.structs import Root
from kipwire.model.types import KINDS as VALUE_KINDS

COLUMNS = ("message", "version", "field", "kind", "vectors", "cases")


class Demand(NamedTuple):
    """A case that the vectors of a field must have."""

    kind: Kind
    case: str


class Coverage:
    """The cases of vectors, by message, version, field and kind."""

    def __init__(self) -> None:
        self._cases: dict[tuple[str, int, str, Kind], list[str]] = defaultdict(list)

    def count(self, vectors: Iterable[Vector]) -> Iterator[Vector]:
        """Yield the vectors themselves, and count them as they pass."""
        for one in vectors:
            self._cases[one.message, one.version, one.field, one.kind].append(one.case)
            yield one

    def kinds(self) -> dict[Kind, int]:
        """Count the vectors of each kind."""
        counts: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        for (_, _, _, kind), cases in self._cases.items():
            counts[kind] += len(cases)
        return counts

    def table(self) -> str:
        """Write a line for each message, version, field and kind, as CSV; the field "" is the message itself."""
        text = StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(COLUMNS)
        for (message, version, field, kind), cases in self._cases.items():
            lines.writerow((message, version, field, kind, len(cases), "; ".join(dict.fromkeys(cases))))
        return text.getvalue()

    def gaps(self, message: type[Root]) -> list[str]:
        """List the cases that a message in one version lacks, a line for each."""
        found = []
        every = field_paths(message)
        is_plain = all(one.item.field.owner is None or struct_plan(one.item.field.owner).is_plain for one in every)
        for field in every:
            for kind, case in (*demands_of_values(field), *(demands_of_damage(field) if is_plain else ())):
                cases = self._cases.get((message.NAME, message.VERSION, field.name, kind), [])
                if not any(one == case or one.startswith(f"{case}, ") for one in cases):
                    found.append(f"{message.NAME} v{message.VERSION}: {field.name} has no vector {case!r} ({kind})")
        return found


def demands_of_values(field: FieldPath) -> Iterator[Demand]:
    """Yield the valid vectors that a field needs."""
    for case in _values(field.item):
        yield Demand("valid", case)
    if field.item.nullable:
        yield Demand("valid", "null")


def demands_of_damage(field: FieldPath) -> Iterator[Demand]:
    """Yield the damaged vectors that a field needs; in a record format they depend on the sizes around it."""
    item = field.item
    if item.plan is not None and not item.array and item.plan.minimum_size == 0 and item.tag is None:
        return  # it takes no byte that could be missing
    yield Demand("refuse", "cut before")
    if item.prefix and not item.nullable:
        yield Demand("refuse", "null")
    if item.prefix:
        yield Demand("refuse", "huge")
    if item.prefix and item.compact:
        yield Demand("refuse", "varint too long")
    elif item.prefix:
        yield Demand("may_refuse" if item.nullable else "refuse", "negative")
    if item.tag is not None:
        for case in ("tag twice", "tags descend", "tag size too large"):
            yield Demand("may_refuse", case)
        if item.tag < 1 << 28:  # a higher one takes all five bytes that a varint may have
            yield Demand("may_refuse", "tag: overlong varint")
    if not item.array and item.kind == "bool" and not (item.tag is not None and item.default):
        yield Demand("may_refuse", "bool 2")
    if not item.array and item.kind == "string":
        yield Demand("may_refuse", "not UTF-8")


def _values(item: Item) -> Iterator[str]:
    if item.array:
        yield from ("empty", "one")
        is_free = not item.field.sorted_by and not item.field.same_length_as
        if is_free and item.field.prefix == "" and not item.has_empty_elements:
            yield "long"
        return
    if item.plan is not None:
        yield from ("present", "filled")
        return
    match VALUE_KINDS[item.field.element]:
        case "bool":
            yield from ("true", "false")
        case "integer":
            yield from ("lowest", "highest", "pattern")
        case "float":
            yield from ("highest", "lowest", "infinity", "not a number", "pattern")
        case "uuid":
            yield from ("zero", "highest", "pattern")
        case "text":
            yield from ("empty", "short") if item.field.prefix else ("empty", "long", "short")
        case _:
            yield from ("empty", "batch") if item.field.element == "records" else ("empty", "short")
