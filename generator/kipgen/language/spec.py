"""Message specs as frozen data: the content of checked spec files, with every default of the language filled in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from kipgen.language.layout_properties import LayoutProperties
from kipgen.language.types import Encoding, FieldType
from kipgen.language.versions import Versions
from kipwire.model.api_keys import is_api_versions_response, is_controlled_shutdown_request

MESSAGE_TYPES = ("request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value", "layout")


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A location in a file: line and column count from 1; by file first, then by line and column."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


Default = bool | int | float | str | UUID | tuple[()] | None
"""A field's default value; `()` is the empty array, the empty bytes or the struct of defaults, `None` is null."""

ERROR_CODE = "ErrorCode"
"""The enum of every int16 whose name is this, or ends so.

Kafka names all its error codes so and gives the fields no property, and specs that Kafka's generator reads cannot have
one. So the name alone must do.
"""

HEADERS = {"request": "RequestHeader", "response": "ResponseHeader"}
"""The name of the header before a message, by the type of the message."""
KAFKA_HEADERS = {
    "RequestHeader": (Versions(0, 2), Versions.parse("2+")),
    "ResponseHeader": (Versions(0, 1), Versions.parse("1+")),
}
"""The valid and the flexible versions of Kafka's headers, which a package without headers of its own has."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field. Version ranges are as written in the file (open ends included), or the language's default.

    They are not cut to the message's valid versions, because rules compare what is written. KIP-625 requires encodings
    for exactly `versions`, and Kafka lets a default be null only if `nullableVersions` contain all of `versions`.
    """

    name: str
    type: FieldType
    versions: Versions
    location: Location
    layout: LayoutProperties
    """The properties that only fields of layouts have."""
    about: str = ""
    default: Default = None
    nullable_versions: Versions = Versions.NONE
    tag: int | None = None
    tagged_versions: Versions = Versions.NONE
    flexible_versions: Versions | None = None
    """The field's own override of the message's flexible versions, where it has one."""
    encodings: tuple[tuple[Versions, Encoding], ...] = ()
    """KIP-625 encodings by version range (for arrays: of the elements). Empty, or covers all of `versions`."""
    ignorable: bool = False
    map_key: bool = False
    entity_type: str | None = None
    enum: str | None = None
    """The enum of the package that names its numbers, or the numbers of its elements."""
    enum_bits: bool = False
    """True if the enum names the bits that are set in the number, not the number itself."""
    zero_copy: bool = False


def enum_of(field: FieldSpec) -> str | None:
    """Find the enum that names a field's numbers or their bits, if its package has it; None where there is none."""
    is_error = field.type.element == "int16" and field.name.endswith(ERROR_CODE)
    return field.enum or (ERROR_CODE if is_error else None)


@dataclass(frozen=True, slots=True)
class StructSpec:
    """A struct: of one field (inline) or shared by several (common)."""

    name: str
    versions: Versions
    fields: tuple[FieldSpec, ...]
    location: Location
    about: str = ""
    is_common: bool = False
    """True if the struct is defined under `commonStructs`; otherwise in the field that uses it."""
    reserved_tags: tuple[int, ...] = ()
    """Tags of removed fields, never to be used again (KIP-482)."""


# Without slots, which leave no room for what is computed once.
@dataclass(frozen=True)
class MessageSpec:
    """A message with all its structs."""

    name: str
    type: str
    """One of `MESSAGE_TYPES`."""
    valid_versions: Versions
    served_versions: Versions
    """The valid versions that the protocol's current release speaks; an open end is closed."""
    flexible_versions: Versions
    fields: tuple[FieldSpec, ...]
    structs: tuple[StructSpec, ...]
    """Every inline and common struct, each after the structs that it uses.

    Resolving relies on the order: it must know if a struct can take no byte before it resolves the structs that use it.
    """
    location: Location
    about: str = ""
    api_key: int | None = None
    deprecated_versions: Versions = Versions.NONE
    header_versions: tuple[tuple[Versions, int], ...] = ()
    """The versions of the header before the message, by ranges of its own versions, the lowest first (KIP-1313).

    Empty where they follow from the flexible versions.
    """
    listeners: tuple[str, ...] = ()
    latest_version_unstable: bool = False
    closed_tagged_versions: bool = False
    """True if the tagged versions of a field may have an end."""
    extensible_tagged_versions: bool = False
    """True if tagged fields may later begin in an earlier version: readers keep a tag that is not of their version."""
    no_new_versions: bool = False
    """True if its versions are not negotiated, so that it may get tagged fields but no new version."""
    reserved_tags: tuple[int, ...] = ()
    """Tags of removed fields of the message itself, never to be used again (KIP-482)."""

    @property
    def is_layout(self) -> bool:
        """True for a record format, whose fields have properties that no other message has."""
        return self.type == "layout"

    @property
    def has_oldest_header(self) -> bool:
        """True if all its versions have the oldest header (KIP-511)."""
        return self.type == "response" and is_api_versions_response(self.name, self.api_key)

    @property
    def begins_with_oldest_header(self) -> bool:
        """True if its version 0, and no other, has the oldest header, which has no client id."""
        return self.type == "request" and is_controlled_shutdown_request(self.name, self.api_key)

    @cached_property
    def struct_fields(self) -> dict[str, tuple[FieldSpec, ...]]:
        """The fields of the message and of each struct by its name."""
        return {self.name: self.fields, **{struct.name: struct.fields for struct in self.structs}}

    def struct(self, name: str) -> StructSpec:
        """Return the struct of a name.

        Raises:
            KeyError: the message has none.
        """
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, StructSpec]:
        return {struct.name: struct for struct in reversed(self.structs)}  # the first of a name counts
