"""Stage two of reading: a document that fits the JSON Schema becomes a draft, with every default of the language.

A document is read once, top down. Reading goes on after a mistake: the value becomes a default of its type, the
property is noted as broken in its part, and rules skip parts whose properties they need and which are broken. So one
run finds all mistakes of a file, without problems that only follow from others.

What a property says by itself is judged here. What takes two properties, or two fields, is mostly a function in
`rules`. Defaults belong here, so that rules see the value that counts, whether it is written or not; they look at
`SpecPart.given` where that makes a difference.

A default that follows from a broken property is as unknown as that property. `_versions_and_tag` therefore passes the
mark on, from `versions` to `taggedVersions` and back; so does a new default that depends on another property.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from kipgen.language.defaults import parse_default, type_default
from kipgen.language.problems import Problem
from kipgen.language.spec import Default, FieldSpec, MessageSpec, StructSpec
from kipgen.language.types import Encoding, FieldType, encoding_property, parse_encoding
from kipgen.language.versions import MAX_VERSION, Versions
from kipgen.reading.draft import Draft, FieldDraft, StructDraft, StructKind
from kipgen.reading.parse_layout_properties import layout_properties, refuse_foreign
from kipgen.reading.schema_check import SchemaCheck, abbreviate
from kipgen.reading.source import Document
from kipgen.reading.spec_object import Reading, SpecObject

_CAPITALISED = re.compile(r"[A-Z][A-Za-z0-9]*", re.ASCII)
_ALPHANUMERIC = re.compile(r"[A-Za-z][A-Za-z0-9]*", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,5}", re.ASCII)
_UNKNOWN_TYPE = FieldType("bytes")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of parsing: the draft, unless the document is not an object, and what could not be read."""

    draft: Draft | None
    problems: tuple[Problem, ...]


def parse(document: Document, checked: SchemaCheck) -> Parsed:
    """Read a document as a message spec; what cannot be read is a problem, and reading goes on.

    Args:
        document: the spec file's values.
        checked: what the JSON Schema already reported; it is not reported again.
    """
    if not isinstance(document.value, dict):
        return Parsed(None, ())
    parser = _Parser(document, checked)
    return Parsed(parser.draft(), tuple(parser.reading.problems))


def build_message(draft: Draft) -> MessageSpec:
    """Build the message of a draft that no rule objects to, with its structs in order of use.

    Common structs that no field uses are kept, as Kafka's generator keeps them. The depth of the recursion is bounded,
    of inline structs by `MAX_DEPTH`, of common ones by the rule `struct-depth`.
    """
    structs = {struct.spec.name: struct.spec for struct in draft.structs if struct.kind != "message"}
    done: dict[str, StructSpec] = {}

    def add_used_by(fields: tuple[FieldSpec, ...]) -> None:
        for field in fields:
            if field.type.has_struct:
                add(structs[field.type.element])

    def add(struct: StructSpec) -> None:
        if struct.name not in done:
            add_used_by(struct.fields)
            done[struct.name] = struct

    add_used_by(draft.message.fields)
    for struct in structs.values():
        add(struct)
    return replace(draft.message, structs=tuple(done.values()))


class _Parser:
    """Reads one document once, top down."""

    def __init__(self, document: Document, checked: SchemaCheck) -> None:
        self.reading = Reading(document, checked)
        self.structs: list[StructDraft] = []
        self.common_names: frozenset[str] = frozenset()
        # Of the message.
        self.is_layout = False
        self.flexible = Versions.NONE
        self.flexible_is_known = True

    def draft(self) -> Draft:
        assert isinstance(self.reading.document.value, dict)
        obj = SpecObject(self.reading, (), self.reading.document.value)
        name = obj.name(_CAPITALISED, "start with a capital, then use letters and digits")
        valid = obj.versions("validVersions", Versions.ALL)
        if "validVersions" in obj.value and "validVersions" not in obj.broken and not obj.nonblank("validVersions"):
            text = "'validVersions' is blank; write a range such as 0-5, or none"
            obj.report("validVersions", "version-syntax", text)
        served = obj.versions("servedVersions", valid)
        flexible = obj.versions("flexibleVersions", Versions.NONE)
        deprecated = obj.versions("deprecatedVersions", Versions.NONE)
        headers = _header_versions(obj)
        # As in Kafka since 4.0, a message without versions only keeps its API key taken: other properties do not count.
        retired = valid.is_empty
        self.flexible = Versions.NONE if retired else flexible
        self.flexible_is_known = "flexibleVersions" not in obj.broken
        type_, api_key, about = obj.text("type") or "data", obj.integer("apiKey"), obj.about()
        self.is_layout = type_ == "layout"
        # Their names are needed before the fields: a field is not the definition of its struct if that is a common one.
        # The structs themselves follow the fields of the message, in the order of `Draft.structs`.
        common = [SpecObject(self.reading, path, value) for path, value in obj.objects("commonStructs")]
        self.common_names = frozenset(struct.text("name") or "" for struct in common)
        within = None if "validVersions" in obj.broken else valid
        fields = self._fields(obj, within)
        message = MessageSpec(
            name=name,
            type=type_,
            valid_versions=valid,
            served_versions=_close_range(served, valid),
            flexible_versions=self.flexible,
            fields=tuple(field.spec for field in fields),
            structs=(),
            location=obj.part().location(),
            about=about,
            api_key=api_key,
            deprecated_versions=deprecated,
            header_versions=() if retired else headers,
            listeners=() if retired else _listeners(obj),
            latest_version_unstable=not retired and obj.flag("latestVersionUnstable"),
            closed_tagged_versions=obj.flag("closedTaggedVersions"),
            extensible_tagged_versions=obj.flag("extensibleTaggedVersions"),
            no_new_versions=obj.flag("noNewVersions"),
            reserved_tags=obj.integers("reservedTags"),
        )
        as_struct = StructSpec(
            name, valid, message.fields, message.location, about, reserved_tags=message.reserved_tags
        )
        own = StructDraft("message", as_struct, obj.part(), fields)
        for struct in common:
            self._common_struct(struct, within)
        return Draft(message, obj.part(), (own, *self.structs))

    def _common_struct(self, obj: SpecObject, within: Versions | None) -> None:
        name = obj.name(_CAPITALISED, "start with a capital, then use letters and digits")
        versions = obj.versions("versions", Versions.ALL)
        if "versions" not in obj.broken and not obj.nonblank("versions"):
            obj.report("versions", "version-syntax", "'versions' is blank; write a range such as 0+")
        obj.versions("deprecatedVersions", Versions.NONE)
        fields = self._fields(obj, _present(obj, within, versions))
        self._add_struct("common", obj, name, versions, fields, obj.about())

    def _fields(self, holder: SpecObject, within: Versions | None) -> tuple[FieldDraft, ...]:
        return tuple(self._field(SpecObject(self.reading, *item), within) for item in holder.objects("fields"))

    def _field(self, obj: SpecObject, within: Versions | None) -> FieldDraft:
        """Read a field of a struct that exists `within` some versions, and the struct that it defines."""
        if self.is_layout:
            refuse_foreign(obj)
        name = obj.name(_ALPHANUMERIC, "start with a letter, then use letters and digits")
        type_ = _type(obj)
        override = _override(obj)
        flexible = self.flexible if override is None else override
        versions, tag, tagged = _versions_and_tag(obj, flexible, self.flexible_is_known)
        spec = FieldSpec(
            name=name,
            type=type_,
            versions=versions,
            location=obj.part().location(),
            about=obj.about(),
            default=_default(obj, type_),
            nullable_versions=obj.versions("nullableVersions", Versions.NONE),
            tag=tag,
            tagged_versions=tagged,
            flexible_versions=override,
            encodings=_encodings(obj, encoding_property(type_), versions),
            ignorable=obj.flag("ignorable"),
            map_key=obj.flag("mapKey"),
            entity_type=_entity_type(obj),
            enum=obj.text("enum"),
            enum_bits=obj.flag("enumBits"),
            zero_copy=obj.flag("zeroCopy"),
            layout=layout_properties(obj),
        )
        present = _present(obj, within, versions)
        # The struct is complete only after those in it, but comes before them: `Draft.structs` has outer before inner.
        position = len(self.structs)
        nested = self._fields(obj, present)
        is_inline = type_.has_struct and type_.element not in self.common_names
        if is_inline or nested:
            # Stray fields, of an int32 or of a use of a common struct, are wrong; what is wrong in them is still found.
            kind: StructKind = "inline" if is_inline else "stray"
            self._add_struct(kind, obj, type_.element, versions, nested, spec.about, position)
        return FieldDraft(spec, obj.part(), within, present, len(nested))

    def _add_struct(
        self,
        kind: StructKind,
        obj: SpecObject,
        name: str,
        versions: Versions,
        fields: tuple[FieldDraft, ...],
        about: str,
        position: int | None = None,
    ) -> None:
        own, reserved = tuple(field.spec for field in fields), obj.integers("reservedTags")
        part = obj.part()
        spec = StructSpec(name, versions, own, part.location(), about, kind == "common", reserved)
        self.structs.insert(len(self.structs) if position is None else position, StructDraft(kind, spec, part, fields))


def _present(obj: SpecObject, within: Versions | None, versions: Versions) -> Versions | None:
    """Return the message versions that have a field or a struct; None if that is not known."""
    return None if within is None or "versions" in obj.broken else within.intersect(versions)


def _close_range(served: Versions, valid: Versions) -> Versions:
    """Served versions with the highest valid version instead of an open end; a rule objects to what is beyond it."""
    if valid.is_empty:
        return Versions.NONE
    return served.intersect(valid) if served.is_open and served.lowest in valid else served


def _listeners(obj: SpecObject) -> tuple[str, ...]:
    value = obj.value.get("listeners")
    items = value if isinstance(value, list) else [value]
    return tuple(item for item in items if isinstance(item, str)) if "listeners" not in obj.broken else ()


def _type(obj: SpecObject) -> FieldType:
    text = obj.text("type")
    if text is None:
        obj.broken.add("type")
        return _UNKNOWN_TYPE
    try:
        return FieldType.parse(text)
    except ValueError as error:
        obj.report("type", "type-syntax", str(error))
        return _UNKNOWN_TYPE


def _entity_type(obj: SpecObject) -> str | None:
    """Read a word; None also for Kafka's own word for none, which goes with every type."""
    word = obj.text("entityType")
    if word is not None and not _ALPHANUMERIC.fullmatch(word):
        text = f"'entityType' is {abbreviate(word)}; write a word of letters and digits, such as topicName"
        obj.report("entityType", "unknown-word", text)
        return None
    return None if word == "unknown" else word


def _override(obj: SpecObject) -> Versions | None:
    if "flexibleVersions" not in obj.value or "flexibleVersions" in obj.broken:
        return None
    # A blank one of a message is `none`, as in Kafka. Kafka fails at a field's, whose absence means another thing.
    if not obj.nonblank("flexibleVersions"):
        obj.report("flexibleVersions", "version-syntax", "'flexibleVersions' is blank; write none, or leave it out")
        return None
    override = obj.versions("flexibleVersions", Versions.NONE)
    return None if "flexibleVersions" in obj.broken else override


def _versions_and_tag(
    obj: SpecObject, flexible: Versions, flexible_is_known: bool
) -> tuple[Versions, int | None, Versions]:
    """Read the field's versions, tag and tagged versions, each with its default.

    A tag alone means tagged in all flexible versions, and a tagged field exists where it is tagged (KIP-482,
    "Specifying Tagged Fields"). If versions are given with a lone tag, the field is positional in the inflexible ones.
    """
    tag = obj.integer("tag")
    versions = obj.versions("versions", Versions.ALL)
    tagged = obj.versions("taggedVersions", Versions.NONE)
    has_versions = obj.nonblank("versions") is not None or "versions" in obj.broken
    has_tagged = obj.nonblank("taggedVersions") is not None or "taggedVersions" in obj.broken
    has_tag = tag is not None or "tag" in obj.broken
    if has_tag and not has_tagged:
        tagged = versions.intersect(flexible)
        if not flexible_is_known or not obj.broken.isdisjoint(("versions", "tag", "flexibleVersions")):
            obj.broken.add("taggedVersions")
    if not has_versions and (has_tag or has_tagged):
        versions = tagged
        if "taggedVersions" in obj.broken:
            obj.broken.add("versions")
    elif not has_versions:
        text = '\'versions\' is missing; add it, as in "versions": "0+" (only a tagged field may omit it)'
        obj.report("versions", "versions-missing", text)
    return versions, tag, tagged


def _default(obj: SpecObject, type_: FieldType) -> Default:
    # JSON's null, which some of Kafka's specs have, means no default. The null value is the text "null".
    text = obj.text("default") if "type" not in obj.broken else None
    try:
        return parse_default(type_, text or "")
    except ValueError as error:
        obj.report("default", "default-value", str(error))
        return type_default(type_)


def _encodings(obj: SpecObject, property_: str, versions: Versions) -> tuple[tuple[Versions, Encoding], ...]:
    """Read the encodings by version, the lowest first; a single one covers just the field's versions (KIP-625).

    The rules `encoding-overlap` and `encoding-coverage` rely on the order.
    """
    value = obj.value.get(property_)
    if value is None or property_ in obj.broken:
        return ()
    if isinstance(value, str):
        encoding = _encoding(obj, property_, value)
        return ((versions, encoding),) if encoding and not versions.is_empty else ()
    assert isinstance(value, dict)
    return _by_versions(obj, property_, value, _encoding)


def _header_versions(obj: SpecObject) -> tuple[tuple[Versions, int], ...]:
    """Read the versions of the header before each version, the lowest first; the rules on gaps rely on the order."""
    value = obj.value.get("headerVersions")
    if not isinstance(value, dict) or "headerVersions" in obj.broken:
        return ()
    return _by_versions(obj, "headerVersions", value, _header_version)


T = TypeVar("T")


def _by_versions(
    obj: SpecObject, property_: str, value: dict[str, object], read: Callable[[SpecObject, str, object, str], T | None]
) -> tuple[tuple[Versions, T], ...]:
    """Read an object with a value for each range of versions; return them by the range, the lowest first."""
    result: list[tuple[Versions, T]] = []
    already = obj.reading.broken_by_parent.get((*obj.path, property_), set())
    for key, item in value.items():
        found = None if key in already else read(obj, property_, item, key)
        try:
            range_ = Versions.parse(key)
            if range_.is_empty:
                raise ValueError("'none' is not a version; leave it out")
        except ValueError as error:
            obj.report(property_, "version-syntax", str(error), key)
            continue
        if found is not None:
            result.append((range_, found))
    if already:
        obj.broken.add(property_)
    return tuple(sorted(result, key=lambda pair: pair[0].lowest))


def _header_version(obj: SpecObject, property_: str, value: object, key: str) -> int | None:
    text = str(value).strip()
    # Without a bound Python refuses to convert very long digits, with a text of its own.
    if _NUMBER.fullmatch(text) and int(text) < MAX_VERSION:
        return int(text)
    fault = f"{abbreviate(value)} is not the version of a header; write a number such as 1"
    obj.report(property_, "header-version-syntax", fault, key)
    return None


def _encoding(obj: SpecObject, property_: str, name: object, *key: str) -> Encoding | None:
    try:
        return parse_encoding(str(name))
    except ValueError as error:
        obj.report(property_, "encoding-name", str(error), *key)
        return None
