"""The form of a tagged field is for ever (KIP-482): what it is, and in which versions it is which.

A peer reads a tagged field by its tag, in any version that has the tag. So nothing that decides how its bytes are read
ever changes: type, encoding, nullability, default, and likewise the plain fields of the structs in it. Tagged fields of
these structs may come and go, as anywhere. A field that is plain in early versions may have another form there.

This is the only definition of such a form. The rule `tagged-form` compares versions of one spec by it, and
`commands.compat` two revisions; `commands.advise` leaves the fields of `kept_forms` alone. A property that changes
bytes belongs into `Form`, or the first two let through what older peers cannot read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from kipgen.language.spec import FieldSpec
from kipgen.language.types import Encoding
from kipgen.language.versions import MAX_VERSION, Versions

StructFields = Mapping[str, Sequence[FieldSpec]]
"""The fields of each struct by its name; the message is one of them."""


@dataclass(frozen=True, slots=True)
class WireForm:
    """Wire form of a field in one version: how its bytes are written."""

    written: str
    """Type on the wire: the encoding of an integer, the element's type for an array, `struct` for a struct."""
    is_array: bool
    nullable: bool
    compact: bool
    """True if its length is a varint, as in every tagged field; true also where it has none.

    Only the field's own `flexibleVersions` make it false. The message's do not count: all tagged versions are flexible.
    """
    default: str = ""
    """Value of a tagged field that is left out; empty for a plain field, which is always written."""

    def __str__(self) -> str:
        length = "" if self.compact else " with a length of fixed width"
        return f"{'[]' if self.is_array else ''}{self.written}{length}{' or null' if self.nullable else ''}"


@dataclass(frozen=True, slots=True)
class TaggedPart:
    """A field whose form is for ever: a tagged one, or a plain one in the data of a tagged one."""

    field: FieldSpec
    owner: FieldSpec
    """The tagged field: the field itself, or the tagged one in whose data it is."""
    versions: Versions
    """The versions that have this data."""

    @property
    def is_inside(self) -> bool:
        """True for a field of a struct in the data of a tagged field."""
        return self.field is not self.owner

    @property
    def forms(self) -> tuple[tuple[Versions, WireForm | None], ...]:
        """Its forms, each with its versions, the lowest first; None where the data lacks it. More than one is wrong."""
        starts = sorted({self.versions.lowest, *(cut for cut in _cuts(self.field) if cut in self.versions)})
        runs: list[tuple[Versions, WireForm | None]] = []
        for start, end in zip(starts, [*(cut - 1 for cut in starts[1:]), self.versions.highest], strict=True):
            form = plain_form(self.field, start) if self.is_inside else form_in(self.field, start)
            if runs and runs[-1][1] == form:
                start = runs.pop()[0].lowest
            runs.append((Versions(start, end), form))
        return tuple(runs)


def lowest_free_tag(taken: Collection[int]) -> int:
    """Return the lowest tag that is not among those taken."""
    return next(tag for tag in count() if tag not in taken)


def tagged_parts(structs: StructFields) -> Iterator[TaggedPart]:
    """Yield every field whose form is for ever; one of a common struct once for each range of versions."""
    seen: set[tuple[str, Versions]] = set()
    for fields in structs.values():
        for field in fields:
            if field.tag is not None and not field.tagged_versions.is_empty:
                part = TaggedPart(field, field, field.tagged_versions)
                yield part
                yield from _parts_inside(structs, part, seen)


def kept_forms(structs: StructFields, released: Versions) -> dict[FieldSpec, FieldSpec]:
    """Find the fields that some released version has tagged or in tagged data: no version gives them another form.

    Args:
        structs: the fields of each struct by its name; the message is one of them.
        released: the versions that peers may have.

    Returns:
        the tagged field of each: itself, or the one in whose data it is.
    """
    return {part.field: part.owner for part in tagged_parts(structs) if not part.versions.intersect(released).is_empty}


def _parts_inside(structs: StructFields, tagged: TaggedPart, seen: set[tuple[str, Versions]]) -> Iterator[TaggedPart]:
    # Each struct once for each range of versions. Otherwise a chain of 24 structs, each used by four fields of the one
    # before, has 4 ** 24 parts.
    waiting = [tagged]
    for part in waiting:  # which grows; a loop, since structs of a wrong spec may go in circles
        key = part.field.type.element, part.versions
        if not part.field.type.has_struct or part.versions.is_empty or key in seen:
            continue
        seen.add(key)
        for field in structs.get(part.field.type.element, ()):
            if not field.tagged_versions.contains(part.versions):
                yield TaggedPart(field, tagged.owner, part.versions)
                waiting.append(TaggedPart(field, tagged.owner, part.versions.intersect(field.versions)))


def plain_form(field: FieldSpec, version: int) -> WireForm | None:
    """Return the form of a field where it is plain; None in a version without it, or in which it is tagged."""
    is_plain = version in field.versions and version not in field.tagged_versions
    return replace(form_in(field, version), default="") if is_plain else None


def form_in(field: FieldSpec, version: int) -> WireForm:
    """Return the form of a field in one version that has it, as a tagged one where it is tagged."""
    flexible = field.flexible_versions
    return WireForm(
        written=_tag_text(field, version),
        is_array=field.type.is_array,
        nullable=field.type.may_be_null and version in field.nullable_versions,
        compact=flexible is None or version in flexible or version in field.tagged_versions,
        # The text, since -0.0 equals 0.0 but is another value on the wire, and NaN does not even equal itself.
        default=repr(field.default),
    )


def _tag_text(field: FieldSpec, version: int) -> str:
    type_ = field.type
    # A struct's name is not on the wire; its fields are parts of their own. Records are written as bytes are.
    if type_.has_struct:
        return "struct"
    if not type_.is_encodable:
        return "bytes" if type_.element == "records" else type_.element
    # A version that no encoding covers is wrong by another rule, and has the last one here.
    otherwise = field.encodings[-1][1] if field.encodings else Encoding("fixed", type_.bits)
    return str(next((encoding for versions, encoding in field.encodings if version in versions), otherwise))


def _cuts(field: FieldSpec) -> Iterator[int]:
    """Yield the versions in which a field's form may become another one.

    Forms are made at these alone, because a range without an end has more than 32,000 versions.
    """
    ranges = [field.versions, field.tagged_versions, field.nullable_versions, *(pair[0] for pair in field.encodings)]
    if field.flexible_versions is not None:
        ranges.append(field.flexible_versions)
    for versions in ranges:
        if not versions.is_empty:
            yield versions.lowest
            yield min(versions.highest, MAX_VERSION) + 1
