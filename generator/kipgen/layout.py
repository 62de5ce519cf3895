"""Station "layout": a spec and one version -> exactly what that version has and how each field stands on the wire.

All version logic ends here: whatever comes later sees no version ranges.
"""

from __future__ import annotations

from dataclasses import dataclass

from kipgen import names
from kipgen.layout_parts import Part, lay_out_parts
from kipgen.spec import Default, FieldSpec, MessageSpec
from kipgen.types import ENCODABLE, Encoding, FieldType
from kipgen.versions import Versions


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """A field in one version."""

    attribute: str
    spec_name: str
    type: FieldType
    about: str
    default: Default
    """`()` for a new array or struct and for empty bytes."""
    nullable: bool
    compact: bool
    """Whether lengths and counts are unsigned varints of n + 1 (KIP-482)."""
    tag: int | None
    """The tag where the field is tagged in this version; None where it is positional."""
    encoding: Encoding | None
    """KIP-625, of an integer or of an array's elements; None for the fixed form of the type's own width."""
    ignorable: bool
    map_key: bool
    entity_type: str | None
    bits: int | None = None
    """Of an attribute that is some bits of an integer of its type: how many."""

    @property
    def is_sized(self) -> bool:
        """Whether a length or a count stands before its value."""
        return self.type.is_array or self.type.element in ("string", "bytes", "records")

    @property
    def struct(self) -> str | None:
        """The class of the struct or of an array's elements."""
        return names.class_name(self.type.element) if self.type.has_struct else None


@dataclass(frozen=True, slots=True)
class StructLayout:
    """A struct in one version; the message itself is one too."""

    class_name: str
    about: str
    flexible: bool
    """Whether a tag section ends it."""
    fields: tuple[FieldLayout, ...]
    """In the order of the spec, tagged ones among them."""
    declared_tags: tuple[int, ...]
    """The tags that any version has fields for, ascending."""
    parts: tuple[Part, ...] = ()
    """Of a layout: what stands in each place. Elsewhere the fields tell it."""


@dataclass(frozen=True, slots=True)
class MessageLayout:
    """A message in one version."""

    spec: MessageSpec
    version: int
    structs: tuple[StructLayout, ...]
    """Each after those that it uses."""
    root: StructLayout
    header_version: int | None
    """Of a request or a response: the version of the header before it."""

    def same_form(self, other: MessageLayout) -> bool:
        """Whether both versions have the same fields and the same wire form."""
        return (self.structs, self.root, self.header_version) == (other.structs, other.root, other.header_version)


def lay_out(spec: MessageSpec, version: int, header_version: int | None = None) -> MessageLayout:
    """The layout of one version, which must be one of the message's."""
    reachable = _reachable_structs(spec, version)
    structs = tuple(
        _struct(spec, version, struct.name, struct.about, struct.fields)
        for struct in spec.structs
        if struct.name in reachable
    )
    root = _struct(spec, version, spec.name, spec.about, spec.fields)
    return MessageLayout(spec, version, structs, root, header_version)


def _reachable_structs(spec: MessageSpec, version: int) -> set[str]:
    """The structs that the version has a use for, and the common ones that it merely has."""
    found = {struct.name for struct in spec.structs if struct.is_common and version in struct.versions}
    pending = [spec.fields, *(spec.struct(name).fields for name in found)]
    while pending:
        for field in pending.pop():
            if version in field.versions and field.type.has_struct and field.type.element not in found:
                found.add(field.type.element)
                pending.append(spec.struct(field.type.element).fields)
    return found


def _struct(spec: MessageSpec, version: int, name: str, about: str, fields: tuple[FieldSpec, ...]) -> StructLayout:
    present = tuple(field for field in fields if version in field.versions)
    if spec.is_layout:
        attributes, parts = lay_out_parts(spec, version, present, lambda field: _field(spec, version, field))
        return StructLayout(names.class_name(name), about, False, attributes, (), parts)
    return StructLayout(
        class_name=names.class_name(name),
        about=about,
        flexible=version in spec.flexible_versions,
        fields=tuple(_field(spec, version, field) for field in present),
        declared_tags=tuple(sorted(field.tag for field in fields if field.tag is not None)),
    )


def _field(spec: MessageSpec, version: int, field: FieldSpec) -> FieldLayout:
    nullable = version in field.nullable_versions
    default = field.default
    if default is None and not nullable:
        default = ()  # records default to null even in versions where they must not be null
    return FieldLayout(
        attribute=names.attribute_name(field.name),
        spec_name=field.name,
        type=field.type,
        about=field.about,
        default=default,
        nullable=nullable,
        compact=version in _flexible_versions(spec, field),
        tag=field.tag if version in field.tagged_versions else None,
        encoding=_encoding(field, version),
        ignorable=field.ignorable,
        map_key=field.map_key,
        entity_type=field.entity_type,
    )


def _flexible_versions(spec: MessageSpec, field: FieldSpec) -> Versions:
    return spec.flexible_versions if field.flexible_versions is None else field.flexible_versions


def _encoding(field: FieldSpec, version: int) -> Encoding | None:
    for versions, encoding in field.encodings:
        if version in versions:
            own_width = Encoding("fixed", ENCODABLE[field.type.element])
            return None if encoding == own_width else encoding
    return None
