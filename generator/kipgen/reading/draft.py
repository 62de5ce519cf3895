"""A spec between the file and a `MessageSpec`: the same data, with its locations and with what is wrong in it.

The rules check drafts. What could not be read has a harmless value in a draft and is listed in `broken`, so that no
rule reports it again.

A draft has the classes of `language.spec`, so that rules and later stages read the same attributes. But its content may
be wrong in any way that a rule can report: two structs of one name, circles, versions outside others. Code that walks
over a draft must come to an end in spite of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from kipgen.language.spec import FieldSpec, Location, MessageSpec, StructSpec
from kipgen.language.versions import Versions
from kipgen.reading.source import Document, JsonPath

StructKind = Literal["message", "inline", "common", "stray"]
"""Owner of the fields: the message, an inline or a common struct, or a field that may not have fields."""


@dataclass(frozen=True, slots=True)
class SpecPart:
    """One JSON object of a spec: a message, a struct or a field."""

    document: Document
    path: JsonPath
    names: str
    """The object by the names in the spec, as in `MetadataResponse.Topics.Name`."""
    given: frozenset[str]
    """The properties that are written and not blank. As in Kafka, a blank text is an absent one."""
    broken: frozenset[str]
    """The properties about which there is a problem already."""

    def location(self, property_: str = "name", *below: str | int) -> Location:
        """Find the location of a property's value, or of a value below it; else of the name, else of the object."""
        if (*self.path, property_) in self.document.value_offsets:
            return self.document.location((*self.path, property_, *below))
        return self.document.location((*self.path, "name"))

    def written(self, property_: str) -> str:
        """Return the text of a property that is given, as it is written."""
        return str(self._value(property_)).strip()

    def keys(self, property_: str) -> tuple[str, ...]:
        """Return the keys of a property that is an object, as they are written."""
        return tuple(self._value(property_))

    def _value(self, property_: str) -> Any:
        here: Any = self.document.value
        for step in (*self.path, property_):
            here = here[step]
        return here


@dataclass(frozen=True, slots=True)
class FieldDraft:
    """A field, with the facts of its surroundings that rules need."""

    spec: FieldSpec
    part: SpecPart
    within: Versions | None
    """The message versions in which its message or struct exists; None if that is not known."""
    present: Versions | None
    """The message versions in which the field exists; None if that is not known."""
    fields_given: int
    """Number of its nested fields."""


@dataclass(frozen=True, slots=True)
class StructDraft:
    """A list of fields, with one name space for their names and tags."""

    kind: StructKind
    spec: StructSpec
    """The struct; of a message, its own fields as if they were one."""
    part: SpecPart
    fields: tuple[FieldDraft, ...]


@dataclass(frozen=True)  # without slots, which leave no room for what is computed once
class Draft:
    """A message that is being read; `message` is only valid once no rule reports an error."""

    message: MessageSpec
    part: SpecPart
    structs: tuple[StructDraft, ...]
    """The message itself first, then every struct, outer before inner."""
    entity_types: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The words for `entityType` that the settings declare, with the types that they go with."""

    @property
    def fields(self) -> Iterator[FieldDraft]:
        """Every field of the message and its structs."""
        for struct in self.structs:
            yield from struct.fields

    @property
    def is_retired(self) -> bool:
        """True if the message has no versions any more (`validVersions` is `none`)."""
        return self.message.valid_versions.is_empty

    @cached_property
    def common(self) -> dict[str, StructDraft]:
        """The common structs by name; of two with one name, the first."""
        found: dict[str, StructDraft] = {}
        for struct in self.structs:
            if struct.kind == "common":
                found.setdefault(struct.spec.name, struct)
        return found

    @property
    def struct_fields(self) -> dict[str, tuple[FieldSpec, ...]]:
        """The fields of the message and of each struct by its name; of two with one name, the first."""
        found: dict[str, tuple[FieldSpec, ...]] = {}
        for struct in self.structs:
            found.setdefault(struct.spec.name, struct.spec.fields)
        return found
