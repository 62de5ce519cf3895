"""Resolving: a spec and one version -> the class that generated code has for it, without a codec.

All version logic ends here: later stages see no version ranges. `FIELDS` have all that is on the wire, and a plan of
the class (`kipwire.description.plan`) says what follows: prefixes, widths, the bit of a presence. So generator, kernel
and tracer read the same description. Messages and record formats have the same result: in a message, the prefix of a
value follows from its type and the version; in a record format, the spec has it.

`python.render` and `data` compare the classes of versions (`same_form`), and a version that equals the one before gets
no code of its own. So an argument of `Field` that differs without need doubles generated code. An argument that is
missing is worse: versions would share code although their bytes differ.

Here nothing is checked. The rules have refused whatever has no result, and lookups may fail with a KeyError if they
have not; the remedy is a rule, not a test here.

`python.steps` and `python.pymodel` make code of the result, `data` makes JSON, `commands.compat` compares revisions by
it, and `commands.vectors` makes instances. To add a property, see the heads of `kipgen` and `layout_properties`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import signature
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from kipgen.language import names
from kipgen.language.layout_properties import PROPERTIES, REST, VERSION, BitsSpec, has_size
from kipgen.language.spec import FieldSpec, MessageSpec, StructSpec
from kipgen.language.types import Encoding
from kipwire.model.structs import Field, FlexibleStruct, Role, Root, Struct

if TYPE_CHECKING:
    from kipwire.model.structs import Default

W = TypeVar("W", bound="WireStruct")


class WireStruct(Struct):
    """A struct in one version, with the texts of its spec."""

    ABOUT: ClassVar[str]
    TEXTS: ClassVar[dict[str, str]]
    """The text of each field and named bit, by its name in the spec."""


class WireMessage(WireStruct, Root):
    """A message in one version."""

    SPEC: ClassVar[MessageSpec]
    STRUCTS: ClassVar[tuple[type[WireStruct], ...]]
    """The structs, each after those that it uses."""


def resolve(spec: MessageSpec, version: int, header_version: int | None = None) -> type[WireMessage]:
    """Make the class of one version, which must be one of the message's.

    Args:
        spec: the message.
        version: the version.
        header_version: the version of the header before it, for a request or a response.
    """
    # The structs of a spec come after those that they use.
    reachable = _reachable_structs(spec, version)
    structs: dict[str, type[WireStruct]] = {}
    for struct in spec.structs:
        if struct.name in reachable:
            structs[struct.name] = _class(WireStruct, spec, version, struct, structs, {})
    facts = {
        "NAME": spec.name,
        "TYPE": spec.type,
        "API_KEY": spec.api_key,
        "VERSION": version,
        "MIN_VERSION": spec.valid_versions.lowest,
        "MAX_VERSION": spec.valid_versions.highest,
        "SPEC": spec,
        "STRUCTS": tuple(structs.values()),
        **({} if header_version is None else {"HEADER_VERSION": header_version}),
    }
    return _class(WireMessage, spec, version, spec, structs, facts)


_facts = attrgetter(*(name for name in Field.__slots__ if name not in ("owner", "struct")))
"""Returns what a field says. The class of its struct is another one in each version; the type has the name."""


def same_form(one: type[WireMessage], other: type[WireMessage]) -> bool:
    """True if two versions of a message have the same fields and the same wire form."""
    # Texts, and the tags of other versions, follow from the names: a rule makes these unique over all versions.
    headers = (getattr(message, "HEADER_VERSION", None) for message in (one, other))
    structs, others = (*one.STRUCTS, one), (*other.STRUCTS, other)
    return len({*headers}) == 1 and len(structs) == len(others) and all(map(_is_same_struct, structs, others))


def _is_same_struct(one: type[WireStruct], other: type[WireStruct]) -> bool:
    if (one.__name__, one.FLEXIBLE) != (other.__name__, other.FLEXIBLE):
        return False
    return [*map(_facts, one.FIELDS)] == [*map(_facts, other.FIELDS)]


def _reachable_structs(spec: MessageSpec, version: int) -> set[str]:
    """Find the structs that the version uses, and the common ones that exist in it.

    A common struct has versions of its own, so its class exists by these, also without a use. An inline struct exists
    only within the structs around it.
    """
    structs = {struct.name: struct for struct in spec.structs}
    found = {struct.name for struct in spec.structs if struct.is_common and version in struct.versions}
    pending = [spec.fields, *(structs[name].fields for name in found)]
    while pending:
        for field in pending.pop():
            if version in field.versions and field.type.has_struct and field.type.element not in found:
                found.add(field.type.element)
                pending.append(structs[field.type.element].fields)
    return found


def _class(
    base: type[W],
    spec: MessageSpec,
    version: int,
    struct: StructSpec | MessageSpec,
    structs: dict[str, type[WireStruct]],
    facts: dict[str, Any],
) -> type[W]:
    """Make the class of a struct, or of the message itself; `structs` has those that it uses, by name."""
    present = [field for field in struct.fields if version in field.versions]
    flexible = version in spec.flexible_versions
    own_tags = {field.tag for field in present if version in field.tagged_versions}
    # As in Kafka, a tag of other versions is a mistake, not an unknown field to keep. With `extensibleTaggedVersions`
    # it is one to keep.
    is_refusing = flexible and not spec.extensible_tagged_versions
    tags = {field.tag for field in struct.fields if field.tag is not None} if is_refusing else set()
    texts = {field.name: field.about for field in present}
    texts |= {bit.name: bit.about for field in present for bit in field.layout.bits}
    attributes = {
        **facts,
        "FIELDS": tuple(_fields(spec, version, present, structs)),
        "OTHER_TAGS": frozenset(tags - own_tags),
        "ABOUT": struct.about,
        "TEXTS": texts,
    }
    made: type[W] = type(names.class_name(struct.name), (FlexibleStruct, base) if flexible else (base,), attributes)
    return made


def _fields(
    spec: MessageSpec, version: int, present: Sequence[FieldSpec], structs: dict[str, type[WireStruct]]
) -> Iterator[Field]:
    """Yield the fields of a struct, each integer made of bits before its bits."""
    presence_bits = {field.layout.presence_bit for field in present}
    for field in present:
        yield _field(spec, version, field, structs)
        for bit in field.layout.bits:
            yield _bit(field, bit, states_presence=bit.name in presence_bits)


def _field(spec: MessageSpec, version: int, field: FieldSpec, structs: dict[str, type[WireStruct]]) -> Field:
    # The field's own ranges are enough, for only fields of structs that exist in the version get here.
    type_ = field.type
    compact = version in (spec.flexible_versions if field.flexible_versions is None else field.flexible_versions)
    is_as_struct = compact == (version in spec.flexible_versions)
    role, default = _role_and_default(field, version)
    return Field(
        names.attribute_name(field.name),
        field.name,
        str(type_),
        default=default,
        struct=structs[type_.element] if type_.has_struct else None,
        nullable=version in field.nullable_versions,
        compact=None if is_as_struct else compact,
        tag=field.tag if version in field.tagged_versions else None,
        encoding=_encoding(field, version),
        role=role,
        ignorable=field.ignorable,
        map_key=field.map_key,
        entity_type=field.entity_type,
        **(_layout_arguments(field, structs) if spec.is_layout else {}),
    )


def _role_and_default(field: FieldSpec, version: int) -> tuple[Role, Default]:
    layout, default = field.layout, field.default
    if layout.size_of:
        return "size", ()
    if layout.checksum is not None:
        return "checksum", ()
    if layout.constant is not None:
        return "constant", version if layout.constant == VERSION else int(layout.constant)
    if layout.bits:
        return "bits", ()
    if layout.is_required:
        return "value", None
    if default is None and version not in field.nullable_versions:
        default = ()  # records default to null even in versions where they must not be null
    return "value", b"" if default == () and has_size(field.type) else default


_ARGUMENTS = tuple(
    attribute
    for attribute, property_ in PROPERTIES.items()
    if attribute in signature(Field).parameters and property_.reader != "own"
)
"""The properties of record formats that are arguments of `Field`, by the name that both have."""


def _layout_arguments(field: FieldSpec, structs: dict[str, type[WireStruct]]) -> dict[str, Any]:
    """Collect what only fields of record formats say; what names a field or a bit names its attribute."""
    layout = field.layout
    given = {name: value for name in _ARGUMENTS if (value := getattr(layout, name)) is not None}
    elements = structs[field.type.element].ATTRIBUTES if layout.is_sorted else ()
    return {
        **{name: names.attribute_name(value) if isinstance(value, str) else value for name, value in given.items()},
        "prefix": layout.size or layout.count or field.type.prefix or "",
        "sized": field.type.is_array and layout.size not in (None, REST),
        "sorted_by": next((one.name for one in elements if one.map_key), ""),
        "algorithm": layout.checksum.algorithm if layout.checksum else "",
        "start": names.attribute_name(layout.checksum.start) if layout.checksum else "",
    }


def _bit(integer: FieldSpec, bit: BitsSpec, *, states_presence: bool) -> Field:
    """Make the field of a named bit, or of several."""
    is_flag = bit.width == 1
    # A bit that states a presence is computed, because the other value determines it. Else it is an attribute.
    return Field(
        names.attribute_name(bit.name),
        bit.name,
        "bool" if is_flag else str(integer.type),
        default=() if states_presence else False if is_flag else 0,
        role="presence" if states_presence else "value",
        bit=bit.lowest,
        bits=None if is_flag else bit.width,
        ignorable=integer.ignorable,
    )


def _encoding(field: FieldSpec, version: int) -> str | None:
    """Find the encoding in a version; None for the fixed one of the type's own width, which is what no encoding means.

    So a version that names it has the same form as one that leaves it out (KIP-625).
    """
    for versions, encoding in field.encodings:
        if version in versions:
            own_width = Encoding("fixed", field.type.bits)
            return None if encoding == own_width else str(encoding)
    return None
