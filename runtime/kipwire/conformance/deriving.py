"""All vectors that follow from the description of a message in one version.

Vectors must not depend on what they judge: bytes are made by `writing`, from the plan of a class, and each is read by
the tracer before it goes out. A valid vector that the tracer refuses, or a damage that it accepts, raises
`DeriveError`; only in record formats, where the meaning of a damage depends on what is around it, such a one is left
out. Order and ids are the same in every run, because lists of expected failures name ids.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kipwire.codec.wire import MAX_TAG, write_varint
from kipwire.conformance import damage
from kipwire.conformance.building import (
    MOST_STRUCTS,
    FieldPath,
    field_cases,
    field_paths,
    full,
    message_of_structs,
    message_with,
    random_message,
    structs,
    structs_in_all,
)
from kipwire.conformance.damage import Damage, Sample
from kipwire.conformance.field_values import Case, longest_text
from kipwire.conformance.vectors import SPEC, Kind, TaggedDefaults, Vector
from kipwire.conformance.writing import tagged_field, value_bytes, write
from kipwire.description.json_codec import default_to_json, write_json
from kipwire.description.plan import Item, plan_of, struct_plan
from kipwire.description.trace import Element, trace
from kipwire.description.values import check
from kipwire.model.errors import DecodeError, EncodeError
from kipwire.model.structs import Root, Struct

RANDOM = 3
"""Random messages of each version."""


class DeriveError(Exception):
    """No vectors can be made: the message is too large, or the tracer does not read the bytes as a vector says."""


def derive(cls: type[Root], seed: int = 0) -> Iterator[Vector]:
    """Yield the vectors of a message in one version, in a fixed order.

    Args:
        cls: the class of the version; of it only the fields are used.
        seed: the seed of the random messages.

    Raises:
        NoPlanError: a struct contains itself.
        EncodeError: the description has a default that cannot be written.
        DeriveError: the message is too large, or the tracer does not read the bytes as a vector says.
    """
    yield from _Deriver(cls, seed).vectors()


def tagged_defaults(cls: type[Root]) -> TaggedDefaults:
    """Find the tagged fields of a message, with the defaults at which the JSON form leaves them out."""
    return {field.name: default_to_json(field.item.field) for field in field_paths(cls) if field.item.tag is not None}


class _Deriver:
    def __init__(self, cls: type[Root], seed: int) -> None:
        self.cls = cls
        self.seed = seed
        self.ids: set[str] = set()
        if (count := structs_in_all(plan_of(cls))) > MOST_STRUCTS:
            what = f"a message with all fields has {count:,} structs; there are vectors for up to {MOST_STRUCTS:,}"
            raise DeriveError(f"{cls.NAME} v{cls.VERSION}: {what}")
        self.is_plain = all(way[-1].plan.is_plain for way in structs(cls) if way and way[-1].plan)
        self.is_plain = self.is_plain and struct_plan(cls).is_plain

    def vectors(self) -> Iterator[Vector]:
        yield from self._whole()
        is_first_text = True
        for field in field_paths(self.cls):
            yield from self._of_field(field)
            if is_first_text and field.item.kind == "string" and not field.item.array and not field.item.field.prefix:
                is_first_text = False
                yield from self._longest(field)
        for way in structs(self.cls):
            plan = way[-1].plan if way else struct_plan(self.cls)
            if plan is not None and plan.flexible:
                yield from self._of_tag_section(way)
        if not self.is_plain:
            yield from self._of_computed()

    # Valid messages.

    def _whole(self) -> Iterator[Vector]:
        plain = message_of_structs(self.cls, ())[0]
        yield from self._valid("", "defaults", plain)
        data = write(plain)
        if data and self.is_plain:
            yield from self._damage("", damage.surplus(data), plain)
        yield from self._valid("", "all fields", full(self.cls, self.cls))
        rng = random.Random(f"{self.seed}/{self.cls.NAME}/{self.cls.VERSION}")
        for number in range(RANDOM):
            yield from self._valid("", f"random {number}", random_message(self.cls, self.cls, rng))

    def _of_field(self, field: FieldPath) -> Iterator[Vector]:
        tried: list[Any] = []
        for case in field_cases(field.item, self.cls):
            message = message_with(self.cls, field.path, case.value)
            if field.item.tag is not None and field.item.field.is_default(case.value):
                yield from self._spelt_out(field, case, message)
                continue
            if not self.is_plain and not _fits(message):
                continue
            tried.append(message)
            yield from self._valid(field.name, case.name, message)
        if not tried:
            return
        message = tried[-1]
        sample = self._read(message)
        own = _elements_of(sample.elements, field.attributes)
        for one in damage.of_field(sample, own, field.attributes, nullable=field.item.nullable):
            yield from self._damage(field.name, one, message)
        if field.item.nullable:
            message = message_with(self.cls, field.path, None)
            sample_of_null = self._read(message)
            for one in damage.of_null(sample_of_null, _elements_of(sample_of_null.elements, field.attributes)):
                yield from self._damage(field.name, one, message)
        if field.item.tag is not None:
            message = tried[-1]
            section = _section_of(sample, field.attributes.rpartition(".")[0])
            for one in damage.of_tagged_field(sample, own, section, _free_tags(field.item.field.owner)):
                yield from self._damage(field.name, one, message)

    def _spelt_out(self, field: FieldPath, case: Case, message: Any) -> Iterator[Vector]:
        """Yield the vector of a tagged field that is there although it has its default, as a sender may write it."""
        sample = self._read(message)
        section = damage.tag_section_at(sample, field.attributes.rpartition(".")[0])
        if section is None:
            return
        fields = {**section.fields, field.item.tag or 0: value_bytes(field.item, case.value)}
        written_out = b"".join(tagged_field(tag, fields[tag]) for tag in sorted(fields))
        changed = sample.splice(section.start, section.end, write_varint(len(fields)) + written_out)
        case_name = f"{case.name}, spelt out"
        yield from self._vector(field.name, case_name, "valid", changed, message, encodes=sample.data)

    def _longest(self, field: FieldPath) -> Iterator[Vector]:
        """Yield vectors of the longest string, for the last version of a message alone: one has a hundred kilobytes."""
        if self.cls.VERSION != self.cls.MAX_VERSION:
            return
        message = message_with(self.cls, field.path, longest_text())
        yield from self._valid(field.name, "longest", message)
        sample = self._read(message)
        *_, length, content = _elements_of(sample.elements, field.attributes)
        if (one := damage.too_long_text(sample, length, content.end)) is not None:
            yield from self._damage(field.name, one, message)

    # Tag sections.

    def _of_tag_section(self, way: Sequence[Item]) -> Iterator[Vector]:
        message, struct = message_of_structs(self.cls, way)
        plan = struct_plan(type(struct))
        name = ".".join(item.field.json_name for item in way)
        path = ".".join(f"{item.name}[0]" if item.array else item.name for item in way)
        free = _free_tags(type(struct))
        sample = self._read(message)
        *_, section = (one for one in sample.elements if one.role == "tags" and one.path == path)
        if not section.value:
            own = {item.tag for item in plan.tagged}
            foreign = [tag for tag in plan.declared_tags if tag not in own]
            for one in damage.of_tag_section(sample, section, foreign, free):
                yield from self._damage(name, one, message)
        pointer = "".join(f"/{item.field.json_name}/0" if item.array else f"/{item.field.json_name}" for item in way)
        for case, fields in {
            "one unknown tag": {free[0]: b"\0\xff"},
            "unknown tag without bytes": {free[0]: b""},
            "several unknown tags": {free[0]: b"a" * 128, free[-2]: b"b", free[-1]: b"\1" * 3},
        }.items():
            message, struct = message_of_structs(self.cls, way)
            struct._unknown_tagged_fields = fields
            unknown = tuple({"path": pointer, "tag": tag, "hex": fields[tag].hex()} for tag in sorted(fields))
            yield from self._vector(name, case, "unknown_tags", write(message), message, unknown=unknown)

        if len(plan.tagged) > 1:
            whole = full(type(struct), self.cls)
            message = message_with(self.cls, way, [whole] if way[-1].array else whole) if way else whole
            yield from self._damage(name, damage.descending(self._read(message), path), message)

    def _of_computed(self) -> Iterator[Vector]:
        message = full(self.cls, self.cls)
        sample = self._read(message)
        for one in sample.elements:
            for found in damage.of_computed(sample, one):
                yield from self._damage(_names(one.path), found, message)

    # Vectors, each of which the tracer reads as it says.

    def _valid(self, field: str, case: str, message: Any) -> Iterator[Vector]:
        if self.is_plain or _fits(message):
            yield from self._vector(field, case, "valid", write(message), message)

    def _vector(
        self,
        field: str,
        case: str,
        kind: Kind,
        data: bytes,
        message: Any,
        *,
        encodes: bytes | None = None,
        unknown: tuple[dict[str, Any], ...] = (),
    ) -> Iterator[Vector]:
        if why := self._fault(data):
            raise DeriveError(f"{self.cls.NAME} v{self.cls.VERSION}, {case}: {data.hex()}: {why}")
        plain = Vector(
            id=self._id(field, case),
            message=self.cls.NAME,
            version=self.cls.VERSION,
            form="message",
            kind=kind,
            level="required",
            origin=SPEC,
            field=field,
            case=case,
            data=data,
            json=write_json(message),
        )
        yield replace(plain, encodes=encodes, unknown=unknown)

    def _damage(self, field: str, one: Damage, message: Any) -> Iterator[Vector]:
        if not self._fault(one.data):
            if not self.is_plain:
                return  # of a record format what a damage means depends on what is around it
            raise DeriveError(
                f"{self.cls.NAME} v{self.cls.VERSION}, {one.case}: {one.data.hex()}: the tracer accepts it"
            )
        json = write_json(message) if one.kind == "may_refuse" and one.keeps_value else None
        yield Vector(
            id=self._id(field, one.case),
            message=self.cls.NAME,
            version=self.cls.VERSION,
            form="message",
            kind=one.kind,
            level=one.level,
            origin=SPEC,
            field=field,
            case=one.case,
            data=one.data,
            json=json,
            why=one.why,
        )

    def _id(self, field: str, case: str) -> str:
        parts = (self.cls.NAME, str(self.cls.VERSION), field, case.replace(",", "").replace(":", "").replace(" ", "-"))
        plain = unique = ":".join(part for part in parts if part)
        number = 2
        while unique in self.ids:
            unique, number = f"{plain}:{number}", number + 1
        self.ids.add(unique)
        return unique

    def _read(self, message: Any) -> Sample:
        data, elements = write(message), list[Element]()
        trace(self.cls, data, 0, elements.append)
        return Sample(data, elements)

    def _fault(self, data: bytes) -> str:
        """Return the tracer's error for bytes; "" if they are a message."""
        try:
            end = trace(self.cls, data, 0)
        except DecodeError as error:
            return str(error)
        return f"{len(data) - end} bytes are left over" if end < len(data) else ""


def _fits(message: Root) -> bool:
    """True if the values of a record format can be written: its sizes may have too few bits for long ones."""
    try:
        check(message)
    except EncodeError:
        return False
    return True


def _elements_of(elements: Sequence[Element], path: str) -> list[Element]:
    """Find the elements of a field, with those within it, in the order of the bytes."""
    inner = (f"{path}.", f"{path}[")
    return [one for one in elements if one.path == path or one.path.startswith(inner)]


def _section_of(sample: Sample, path: str) -> Element:
    """Find the number of tagged fields of the struct at a path."""
    return next(one for one in sample.elements if one.role == "tags" and one.path == path)


def _free_tags(cls: type[Struct] | None) -> list[int]:
    """Some tags that no version of a struct has fields for: the lowest, and high ones that Java can write, too."""
    declared = frozenset() if cls is None else cls.DECLARED_TAGS
    lowest = next(tag for tag in range(MAX_TAG) if tag not in declared)
    high = (tag for tag in range(MAX_TAG - 7, 0, -1) if tag not in declared)
    return [lowest, *reversed([next(high), next(high)])]


def _names(path: str) -> str:
    """Remove the numbers of elements from a path."""
    return ".".join(step.partition("[")[0] for step in path.split("."))
