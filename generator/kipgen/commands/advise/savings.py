"""Advice on the encodings of KIP-625 for the integers of a message, from counted values and the spec.

Advice is about the next version alone, because a released one keeps its bytes. `_reasons` has the fields that get none:
the next version lacks them, or they are tagged in a released version and keep their form for ever (KIP-482). KIP-625
has encodings for single integers; what the extension elementEncoding saves on elements of arrays is kept apart
everywhere.

Values are counted by path in `kipwire.drafts.kip_625`, and joined by field here, since a field of a common struct
has one encoding and several paths. Bytes are those that the values would take under each encoding of the type's own
width, not those in the samples, whose versions may have other encodings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

from kipgen.language.spec import FieldSpec, MessageSpec
from kipgen.language.tagged_forms import kept_forms
from kipgen.language.types import Encoding, encoding_property
from kipgen.language.versions import Versions
from kipwire.drafts.kip_625 import Counts, IntegerCounts
from kipwire.model.types import ENCODINGS

EncodingMap = tuple[tuple[Versions, Encoding], ...]
"""Encodings by version, the lowest first, as in `FieldSpec.encodings`."""


class AdviceError(ValueError):
    """No advice can be given; the text is the reason."""


@dataclass(frozen=True, slots=True)
class FieldAdvice:
    """Advice for one integer field of the spec."""

    paths: tuple[str, ...]
    """Paths of the field, such as `Topics.Partitions.LeaderId`; a field of a common struct may have several."""
    field: FieldSpec
    counts: IntegerCounts
    sizes: Mapping[str, int]
    """Bytes that all values take, by encoding of the type's own width: fixed, packed, upacked."""
    current: Encoding
    """The encoding that the next version has if nothing is changed."""
    current_size: int
    """Bytes that all values take under `current`; if not all fit, under the fixed encoding of the type's own width."""
    best: Encoding
    """The encoding that takes the fewest bytes; `current` where none takes fewer, or nothing can be advised."""
    encodings: EncodingMap
    """The versions' encodings with the best one in the next version and later; empty where nothing should change."""
    note: str
    """Reason why there is no advice, or fault of the current encoding; mostly empty."""

    @property
    def path(self) -> str:
        """The first of the paths."""
        return self.paths[0]

    @property
    def is_element(self) -> bool:
        """True if the advice is about an array's elements, which only our extension of KIP-625 can encode."""
        return self.field.type.is_array

    @property
    def saved(self) -> int:
        """Bytes that the advice saves over all messages; 0 where nothing should change."""
        return self.current_size - self.sizes[str(self.best)] if self.encodings else 0

    @property
    def property_name(self) -> str:
        """The property of the spec: `encoding`, or `elementEncoding` for the elements of an array."""
        return encoding_property(self.field.type)

    @property
    def text(self) -> str:
        """The property to write into the spec; empty if nothing should change."""
        value = {str(versions): str(encoding) for versions, encoding in self.encodings}
        return f'"{self.property_name}": {json.dumps(value)}' if value else ""


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice for a message."""

    spec: MessageSpec
    messages: int
    """Number of messages that the advice is based on."""
    versions: Mapping[int, int]
    """Number of messages of each version."""
    fields: tuple[FieldAdvice, ...]
    """Every integer field, the one that saves most first, then in the order of the spec."""

    @property
    def next_version(self) -> int:
        """The first version that is not released yet."""
        return self.spec.valid_versions.highest + 1

    def saved(self, *, elements: bool) -> int:
        """Bytes that all fields save together: single integers, or the elements of arrays."""
        return sum(field.saved for field in self.fields if field.is_element == elements)


MOST_PATHS = 65_536
"""The most paths that the fields of a message may have; the largest of Kafka's has about two hundred."""


def advise(spec: MessageSpec, counts: Counts) -> Advice:
    """Choose an encoding for every integer field of a message.

    Released versions stay as they are: the advice starts in the version after the highest of `validVersions`. A field
    that is tagged in one of them stays as it is in all versions: the form of a tagged field never changes (KIP-482).
    The lengths of tagged structs around a field, which may also shrink by a byte, are not counted.

    Args:
        spec: the message, with at least one version that is served.
        counts: the values that sample messages have.

    Raises:
        AdviceError: the samples have values that the spec has no field for, none of its versions is served, or its
            structs share structs so often that its fields have too many paths.
    """
    expect_advisable(spec)
    counted = dict(counts.fields)
    fields = []
    reasons = _reasons(spec)
    for field, paths in _integer_fields(spec).items():
        empty = IntegerCounts.of(field.type.element, (), is_element=field.type.is_array)
        found = [counted.pop(path, empty) for path, _ in paths]
        try:
            merged = reduce(IntegerCounts.merged, found, empty)
            fields.append(_advise_field(spec, field, paths, merged, reasons.get(field, "")))
        except ValueError as error:
            raise AdviceError(f"{spec.name}.{paths[0][0]} is {field.type} in the spec: {error}") from None
    # The classes that decoded the samples are of another spec of this name.
    if counted:
        raise AdviceError(f"the samples have values of {', '.join(counted)}, but the spec has no such integer field")
    return Advice(
        spec=spec,
        messages=counts.messages,
        versions=dict(sorted(counts.versions.items())),
        fields=tuple(sorted(fields, key=lambda advice: -advice.saved)),
    )


def expect_advisable(spec: MessageSpec) -> None:
    """Check that advice on the next version can be given.

    Raises:
        AdviceError: none of the message's versions is served, or its fields have too many paths.
    """
    if spec.served_versions.is_empty:
        raise AdviceError(f"{spec.name} is retired: none of its versions is served, so it gets no new one")
    # Structs that share structs may have 2**n paths, so they are counted before they are listed.
    if (ways := _ways(spec)) > MOST_PATHS:
        text = f"shared structs give its fields {ways:,} paths; the limit is {MOST_PATHS:,}"
        raise AdviceError(f"{spec.name}: {text}; use shared structs in fewer places")


def form_of_tagged(field: str, tagged: str) -> str:
    """Say why a field keeps its form that is a tagged one, or a part of it."""
    what = "a tagged field" if field == tagged else f"part of the tagged field {tagged}"
    return f"{what}, which keeps its form (KIP-482)"


def _reasons(spec: MessageSpec) -> dict[FieldSpec, str]:
    """Reasons why fields keep their encodings; other fields are left out."""
    next_version = spec.valid_versions.highest + 1
    reasons = {}
    for field, tagged in kept_forms(spec.struct_fields, spec.valid_versions).items():
        reasons[field] = form_of_tagged(field.name, tagged.name)
    for field, paths in _integer_fields(spec).items():
        if not any(next_version in versions for _, versions in paths):
            reasons[field] = f"not in version {next_version}, the next one"
    return reasons


def _ways(spec: MessageSpec) -> int:
    """Count the paths of all fields of a message."""
    ways: dict[str, int] = {}
    for name, fields in (*((one.name, one.fields) for one in spec.structs), (spec.name, spec.fields)):
        ways[name] = len(fields) + sum(ways[field.type.element] for field in fields if field.type.has_struct)
    return ways[spec.name]


_Paths = list[tuple[str, Versions]]
"""The paths of a field, each with the versions that have both the field and all structs around it."""


def _integer_fields(spec: MessageSpec) -> dict[FieldSpec, _Paths]:
    """Find every field that has or could have encodings, with all its paths; its location in the file identifies it."""
    found: dict[FieldSpec, _Paths] = {}
    for path, versions, field in fields_with_paths(spec, spec.fields, "", Versions.ALL):
        if field.type.is_encodable:
            found.setdefault(field, []).append((path, versions))
    return found


def fields_with_paths(
    spec: MessageSpec, fields: tuple[FieldSpec, ...], outer: str, within: Versions
) -> Iterator[tuple[str, Versions, FieldSpec]]:
    for field in fields:
        path = f"{outer}{field.name}"
        versions = field.versions.intersect(within)
        yield path, versions, field
        if field.type.has_struct:
            yield from fields_with_paths(spec, spec.struct(field.type.element).fields, f"{path}.", versions)


def _advise_field(
    spec: MessageSpec, field: FieldSpec, paths: _Paths, counts: IntegerCounts, reason: str
) -> FieldAdvice:
    """Advise on one field; `reason` explains why it keeps its encodings, and is empty if it need not."""
    next_version = spec.valid_versions.highest + 1
    fixed = Encoding("fixed", field.type.bits)
    current = next((encoding for versions, encoding in field.encodings if next_version in versions), fixed)
    sizes = counts.sizes()
    # A narrower encoding on a wider type is how KIP-625 widens a field, so values may be beyond it.
    fits = current.range[0] <= (counts.minimum or 0) and (counts.maximum or 0) <= current.range[1]
    current_size = counts.size(str(current)) if fits else sizes[str(fixed)]
    best, note = current, reason
    if not reason and not counts.count:
        note = "no values in the samples"
    elif not reason:
        # A default such as -1 will be sent even if no sample has it, and upacked32 takes five bytes for it.
        cheapest = ENCODINGS[counts.best(expect_negative=isinstance(field.default, int) and field.default < 0)]
        if not fits:
            note = f"{current}, which version {next_version} has so far, does not fit all values"
        if not fits or sizes[str(cheapest)] < current_size:
            best = cheapest
    return FieldAdvice(
        paths=tuple(path for path, _ in paths),
        field=field,
        counts=counts,
        sizes=sizes,
        current=current,
        current_size=current_size,
        best=best,
        encodings=_with_encoding_from(field, fixed, next_version, best) if best != current else (),
        note=note,
    )


def _with_encoding_from(field: FieldSpec, fixed: Encoding, version: int, encoding: Encoding) -> EncodingMap:
    """Add an encoding from a version on to the field's encodings; they cover the field's versions, just as before."""
    # The ranges must cover `versions` and not overlap, or the spec breaks a rule of KIP-625: so the last range ends
    # before the new version.
    released = Versions(0, version - 1)
    before = field.encodings or ((field.versions, fixed),)
    kept = [(versions.intersect(released), old) for versions, old in before]
    new = field.versions.intersect(Versions(version, Versions.ALL.highest))
    return (*((versions, old) for versions, old in kept if not versions.is_empty), (new, encoding))
