"""Rules between the structs of a layout and the fields that use them.

In a layout, a struct may go on to the end of the bytes around it, and may take no byte. Both can differ between
versions, and the former depends on the structs below. So they are computed for all versions at once, as sets of bits;
a loop over versions would repeat the search for each of them.

A wrong spec may have circles of structs. `_endless` therefore starts from "none is endless" and goes over all structs
until nothing changes, which ends because versions are only ever added.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.language.versions import Versions
from kipgen.reading.draft import Draft, FieldDraft, StructDraft
from kipgen.reading.rules.examples import field_of, layout
from kipgen.reading.rules.layout_fields import existing, fault_of_versions, is_rest, may_be_missing
from kipgen.reading.rules.rule import Finding, layout_rule

_Structs = dict[str, "StructDraft"]
_VersionSet = int
"""A set of versions as a number: bit n is version n."""


_ID = field_of("int32", "Id")
_SIZE = field_of("int32", "Size", sizeOf="rest")
_REST = field_of("bytes", "Leaf", size="rest")


@layout_rule(
    summary="The elements of a sorted array have one mapKey: an integer, string or bytes that is always present.",
    good=layout(field_of("[]Inner", sorted=True, fields=[field_of("int32", "Id", mapKey=True)])),
    bad=layout(field_of("[]Inner", sorted=True, fields=[_ID])),
)
def sorted_key(draft: Draft) -> Iterator[Finding]:
    structs = _structs(draft)
    keys = {name: [field for field in struct.fields if field.spec.map_key] for name, struct in structs.items()}
    for field in draft.fields:
        type_ = field.spec.type
        if field.spec.layout.is_sorted and type_.is_array and type_.element in keys:
            fault = _fault_of_keys(field, keys[type_.element])
            if fault:
                yield Finding(field.part, fault, "sorted")


def _fault_of_keys(field: FieldDraft, keys: list[FieldDraft]) -> str | None:
    """Find the fault of the keys by which the elements of an array are to be sorted."""
    struct = field.spec.type.element
    if not keys:
        return f"no field of {struct} is a mapKey; mark the one to sort by"
    if len(keys) > 1:
        return f"{keys[0].spec.name} and {keys[1].spec.name} of {struct} are both mapKeys; keep the one to sort by"
    name, type_ = keys[0].spec.name, keys[0].spec.type
    if type_.is_array or not (type_.is_integer or type_.element in ("string", "bytes")):
        return f"{name} is {type_}, which cannot be sorted by; use an integer, a string or bytes"
    fault = f"{name} may be absent or null; sort by a field that is always present"
    return fault_of_versions(field, keys[0], "array") or (fault if may_be_missing(field, keys[0]) else None)


@layout_rule(
    summary="A struct of a layout takes at least one byte in each version, so that zero bytes cannot be many elements.",
    good=layout(field_of("[]Inner", fields=[field_of("int8", "Leaf")])),
    bad=layout(field_of("[]Inner", fields=[field_of("int8", "Leaf", versions="1+")])),
)
def empty_struct(draft: Draft) -> Iterator[Finding]:
    filled = {name: _nonempty_versions(struct) for name, struct in _structs(draft).items()}
    for field in draft.fields:
        struct = field.spec.type.element
        # -1 has all bits: a type that is no struct takes a byte in every version.
        empty = _set(existing(field)) & ~filled.get(struct, -1)
        if empty:
            text = f"{struct} may take zero bytes in version {_lowest(empty)}"
            yield Finding(field.part, f"{text}; give it a field that is always present and not a rest", "type")


def _nonempty_versions(struct: StructDraft) -> _VersionSet:
    """Find the versions in which a struct surely takes a byte; nested structs are judged on their own.

    An array takes one, too, for its count or its size.
    """
    found = 0
    for field in struct.fields:
        if not (is_rest(field) or field.spec.layout.presence_bit or field.spec.layout.size_only_with):
            found |= _set(existing(field))
    return found


@layout_rule(
    summary="An element that ends in a rest has its own sizeOf before it; without one its end is unknown.",
    good=layout(field_of("[]Inner", fields=[_SIZE, _REST])),
    bad=layout(field_of("[]Inner", fields=[_ID, _REST])),
)
def endless_element(draft: Draft) -> Iterator[Finding]:
    endless = _endless(_structs(draft))
    for field in draft.fields:
        found = _set(existing(field)) & endless.get(field.spec.type.element, 0)
        if field.spec.type.is_array and found:
            text = f"in version {_lowest(found)}, the end of an element is unknown: {field.spec.type.element}"
            yield Finding(field.part, f"{text} goes on to the end; give it a sizeOf before its rest", "type")


@layout_rule(
    summary="A struct that goes on to the end, without a sizeOf before its rest, is the last field of its struct.",
    good=layout(field_of("int32", "Beta"), field_of("Inner", fields=[_ID, _REST])),
    bad=layout(field_of("Inner", fields=[_ID, _REST]), field_of("int32", "Beta")),
)
def endless_struct(draft: Draft) -> Iterator[Finding]:
    endless = _endless(_structs(draft))
    for struct in draft.structs:
        later = 0
        for field in reversed(struct.fields):
            present = _set(existing(field))
            if field.spec.type.is_struct and present & later & endless.get(field.spec.type.element, 0):
                text = f"{field.spec.type.element} goes on to the end, but fields come after it"
                yield Finding(field.part, f"{text}; move it to the end, or give it a sizeOf before its rest", "type")
            later |= present


def _endless(structs: _Structs) -> dict[str, _VersionSet]:
    """Return the versions in which each struct continues to the end of the bytes around it."""
    known = dict.fromkeys(structs, 0)
    is_news = True
    while is_news:
        is_news = False
        for name, struct in reversed(structs.items()):  # inner structs mostly come after outer ones
            found = _goes_on(struct, known)
            is_news |= found != known[name]
            known[name] = found
    return known


def _goes_on(struct: StructDraft, known: dict[str, _VersionSet]) -> _VersionSet:
    """Find the versions in which a struct is endless, as far as it is known which of those within it are."""
    found = sized = 0
    for field in struct.fields:
        present = _set(existing(field))
        if field.spec.layout.size_of:
            sized |= present
        elif is_rest(field):
            found |= present & ~sized
        elif field.spec.type.is_struct:
            found |= present & ~sized & known.get(field.spec.type.element, 0)
    return found


def _structs(draft: Draft) -> _Structs:
    """Return the inline and common structs by name; of several with one name, the first."""
    found: _Structs = {}
    for struct in draft.structs:
        if struct.kind in ("inline", "common"):
            found.setdefault(struct.spec.name, struct)
    return found


def _set(versions: Versions) -> _VersionSet:
    return 0 if versions.is_empty else (1 << versions.highest + 1) - (1 << versions.lowest)


def _lowest(versions: _VersionSet) -> int:
    return (versions & -versions).bit_length() - 1
