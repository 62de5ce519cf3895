"""Station two: a document of the right shape becomes a draft, with every default of the language filled in."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from kipgen.defaults import parse_default, type_default
from kipgen.draft import Body, BodyKind, Draft, FieldDraft
from kipgen.node import Node, Reading
from kipgen.parse_wire_form import refuse_foreign, wire_form
from kipgen.problems import Problem
from kipgen.shape import Shape
from kipgen.source import Document
from kipgen.spec import Default, FieldSpec, MessageSpec, StructSpec
from kipgen.types import Encoding, FieldType, encoding_property, parse_encoding
from kipgen.versions import Versions

_CAPITALISED = re.compile(r"[A-Z][A-Za-z0-9]*", re.ASCII)
_ALPHANUMERIC = re.compile(r"[A-Za-z][A-Za-z0-9]*", re.ASCII)
_UNKNOWN_TYPE = FieldType("bytes")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What parsing gave: the draft, unless the document is no object at all, and what could not be read."""

    draft: Draft | None
    problems: tuple[Problem, ...]


def parse(document: Document, shape: Shape) -> Parsed:
    """Read a document as a message spec; what cannot be read is a problem, and reading goes on.

    Args:
        document: the spec file's values.
        shape: what is known to be wrong with their shape; nothing is said about that again.
    """
    if not isinstance(document.value, dict):
        return Parsed(None, ())
    parser = _Parser(document, shape)
    return Parsed(parser.draft(), tuple(parser.reading.problems))


def finished(draft: Draft) -> MessageSpec:
    """The message of a draft that no rule objects to, with its structs in order of use."""
    structs = {body.spec.name: body.spec for body in draft.bodies if body.kind != "message"}
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

    def __init__(self, document: Document, shape: Shape) -> None:
        self.reading = Reading(document, shape)
        self.bodies: list[Body] = []
        self.common_names: frozenset[str] = frozenset()
        # Of the message.
        self.is_layout = False
        self.flexible = Versions.NONE
        self.flexible_is_known = True

    def draft(self) -> Draft:
        assert isinstance(self.reading.document.value, dict)
        node = Node(self.reading, (), self.reading.document.value)
        name = node.name(_CAPITALISED, "letters and digits with a capital first")
        valid = node.versions("validVersions", Versions.ALL)
        if "validVersions" in node.value and "validVersions" not in node.broken and not node.filled("validVersions"):
            text = "'validVersions' is blank; write a range such as 0-5, or none"
            node.report("validVersions", "version-syntax", text)
        served = node.versions("servedVersions", valid)
        flexible = node.versions("flexibleVersions", Versions.NONE)
        deprecated = node.versions("deprecatedVersions", Versions.NONE)
        retired = valid.is_empty
        self.flexible = Versions.NONE if retired else flexible
        self.flexible_is_known = "flexibleVersions" not in node.broken
        type_, api_key, about = node.text("type") or "data", node.integer("apiKey"), node.about()
        self.is_layout = type_ == "layout"
        common = [Node(self.reading, path, value) for path, value in node.objects("commonStructs")]
        self.common_names = frozenset(struct.text("name") or "" for struct in common)
        within = None if "validVersions" in node.broken else valid
        fields = self._fields(node, within)
        message = MessageSpec(
            name=name,
            type=type_,
            valid_versions=valid,
            served_versions=_up_to_date(served, valid),
            flexible_versions=self.flexible,
            fields=tuple(field.spec for field in fields),
            structs=(),
            place=node.part().place(),
            about=about,
            api_key=api_key,
            deprecated_versions=deprecated,
            listeners=() if retired else _listeners(node),
            latest_version_unstable=not retired and node.flag("latestVersionUnstable"),
            reserved_tags=node.integers("reservedTags"),
        )
        as_struct = StructSpec(name, valid, message.fields, message.place, about, reserved_tags=message.reserved_tags)
        own = Body("message", as_struct, node.part(), fields)
        for struct in common:
            self._common_struct(struct, within)
        return Draft(message, node.part(), (own, *self.bodies))

    def _common_struct(self, node: Node, within: Versions | None) -> None:
        name = node.name(_CAPITALISED, "letters and digits with a capital first, as struct names have")
        versions = node.versions("versions", Versions.ALL)
        if "versions" not in node.broken and not node.filled("versions"):
            node.report("versions", "version-syntax", "'versions' is blank; write a range such as 0+")
        node.versions("deprecatedVersions", Versions.NONE)
        fields = self._fields(node, _present(node, within, versions))
        self._add_body("common", node, name, versions, fields, node.about())

    def _fields(self, holder: Node, within: Versions | None) -> tuple[FieldDraft, ...]:
        return tuple(self._field(Node(self.reading, *item), within) for item in holder.objects("fields"))

    def _field(self, node: Node, within: Versions | None) -> FieldDraft:
        """Read a field of a struct that exists `within` some versions, and the struct that it brings along."""
        if self.is_layout:
            refuse_foreign(node)
        name = node.name(_ALPHANUMERIC, "letters and digits with a letter first")
        type_ = _type(node)
        override = _override(node)
        flexible = self.flexible if override is None else override
        versions, tag, tagged = _versions_and_tag(node, flexible, self.flexible_is_known)
        spec = FieldSpec(
            name=name,
            type=type_,
            versions=versions,
            place=node.part().place(),
            about=node.about(),
            default=_default(node, type_),
            nullable_versions=node.versions("nullableVersions", Versions.NONE),
            tag=tag,
            tagged_versions=tagged,
            flexible_versions=override,
            encodings=_encodings(node, encoding_property(type_), versions),
            ignorable=node.flag("ignorable"),
            map_key=node.flag("mapKey"),
            entity_type=None if (entity := node.text("entityType")) == "unknown" else entity,
            zero_copy=node.flag("zeroCopy"),
            wire=wire_form(node),
        )
        present = _present(node, within, versions)
        position = len(self.bodies)
        nested = self._fields(node, present)
        if type_.has_struct and type_.element not in self.common_names:
            self._add_body("inline", node, type_.element, versions, nested, spec.about, position)
        elif nested:
            self._add_body("stray", node, type_.element, versions, nested, spec.about, position)
        return FieldDraft(spec, node.part(), within, present, len(nested))

    def _add_body(
        self,
        kind: BodyKind,
        node: Node,
        name: str,
        versions: Versions,
        fields: tuple[FieldDraft, ...],
        about: str,
        position: int | None = None,
    ) -> None:
        own, reserved = tuple(field.spec for field in fields), node.integers("reservedTags")
        part = node.part()
        spec = StructSpec(name, versions, own, part.place(), about, kind == "common", reserved)
        self.bodies.insert(len(self.bodies) if position is None else position, Body(kind, spec, part, fields))


def _present(node: Node, within: Versions | None, versions: Versions) -> Versions | None:
    """The message versions that have a field or a struct; None if that is not known."""
    return None if within is None or "versions" in node.broken else within.intersect(versions)


def _up_to_date(served: Versions, valid: Versions) -> Versions:
    """Served versions with the highest version in the place of an open end; a rule objects to what is beyond it."""
    if valid.is_empty:
        return Versions.NONE
    return served.intersect(valid) if served.is_open and served.lowest in valid else served


def _listeners(node: Node) -> tuple[str, ...]:
    value = node.value.get("listeners")
    items = value if isinstance(value, list) else [value]
    return tuple(item for item in items if isinstance(item, str)) if "listeners" not in node.broken else ()


def _type(node: Node) -> FieldType:
    text = node.text("type")
    if text is None:
        node.broken.add("type")
        return _UNKNOWN_TYPE
    try:
        return FieldType.parse(text)
    except ValueError as error:
        node.report("type", "type-syntax", str(error))
        return _UNKNOWN_TYPE


def _override(node: Node) -> Versions | None:
    if "flexibleVersions" not in node.value or "flexibleVersions" in node.broken:
        return None
    if not node.filled("flexibleVersions"):
        node.report("flexibleVersions", "version-syntax", "'flexibleVersions' is blank; write none, or leave it out")
        return None
    override = node.versions("flexibleVersions", Versions.NONE)
    return None if "flexibleVersions" in node.broken else override


def _versions_and_tag(node: Node, flexible: Versions, flexible_is_known: bool) -> tuple[Versions, int | None, Versions]:
    """The field's versions, tag and tagged versions, each with its default.

    A tag alone means tagged in all flexible versions, and a tagged field exists where it is tagged (KIP-482,
    "Specifying Tagged Fields"). If versions are given with a lone tag, the field is positional in the inflexible ones.
    """
    tag = node.integer("tag")
    versions = node.versions("versions", Versions.ALL)
    tagged = node.versions("taggedVersions", Versions.NONE)
    has_versions = node.filled("versions") is not None or "versions" in node.broken
    has_tagged = node.filled("taggedVersions") is not None or "taggedVersions" in node.broken
    has_tag = tag is not None or "tag" in node.broken
    if has_tag and not has_tagged:
        tagged = versions.intersect(flexible)
        if not flexible_is_known or not node.broken.isdisjoint(("versions", "tag", "flexibleVersions")):
            node.broken.add("taggedVersions")
    if not has_versions and (has_tag or has_tagged):
        versions = tagged
        if "taggedVersions" in node.broken:
            node.broken.add("versions")
    elif not has_versions:
        text = '\'versions\' is missing; add it, as in "versions": "0+" (only a tagged field can do without)'
        node.report("versions", "versions-missing", text)
    return versions, tag, tagged


def _default(node: Node, type_: FieldType) -> Default:
    text = node.text("default") if "type" not in node.broken else None
    try:
        return parse_default(type_, text or "")
    except ValueError as error:
        node.report("default", "default-value", str(error))
        return type_default(type_)


def _encodings(node: Node, property_: str, versions: Versions) -> tuple[tuple[Versions, Encoding], ...]:
    """The encodings by version, the lowest first; a single one covers just the field's versions (KIP-625)."""
    value = node.value.get(property_)
    path = (*node.path, property_)
    if value is None or property_ in node.broken:
        return ()
    if isinstance(value, str):
        encoding = _encoding(node, property_, value)
        return ((versions, encoding),) if encoding and not versions.is_empty else ()
    assert isinstance(value, dict)
    result: list[tuple[Versions, Encoding]] = []
    already = node.reading.broken_by_parent.get(path, set())
    for key, name in value.items():
        encoding = None if key in already else _encoding(node, property_, name, key)
        try:
            range_ = Versions.parse(key)
            if range_.is_empty:
                raise ValueError("'none' names no version; leave it out")
        except ValueError as error:
            node.report(property_, "version-syntax", str(error), key)
            continue
        if encoding:
            result.append((range_, encoding))
    if already:
        node.broken.add(property_)
    return tuple(sorted(result, key=lambda pair: pair[0].lowest))


def _encoding(node: Node, property_: str, name: object, *key: str) -> Encoding | None:
    try:
        return parse_encoding(str(name))
    except ValueError as error:
        node.report(property_, "encoding-name", str(error), *key)
        return None
