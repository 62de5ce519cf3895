"""Rules of registers of header keys: each key lies where the key space of KIP-82 lets the register have it.

This is the draft of KIP-82 whose headers have numbers for keys. A record has the number alone, so nothing could tell
two meanings of a key apart; the ranges separate parties that do not know of each other. Kafka built headers with texts
for keys, which need no register.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.reading.draft import SpecPart
from kipgen.reading.enum_spec import EnumDraft
from kipgen.reading.rules.examples import enum, spec
from kipgen.reading.rules.rule import Finding, Folder, enum_rule, folder_rule, reading_rule
from kipgen.reading.schema_check import one_of
from kipwire.drafts.header_keys import HIGHEST_KEY, KEY_SPACES, KeySpace, key_space

_LOCAL = '"keyAreas": ["local use"]'
_KAFKA = '"keyAreas": ["Kafka open source"]'
_APP = '{"value": 1114000, "name": "app.name", "about": "The application.", "by": "IG"}'
_CLIENT = '{"value": 1, "name": "client.id", "about": "The client.", "by": "Kafka"}'

header_key_range = reading_rule(
    "header-key-range",
    summary=f"The keys of a register are unsigned 32-bit numbers, 0 to {HIGHEST_KEY}.",
    good=enum(_APP, more=_LOCAL),
    bad=enum(_APP.replace("1114000", "4294967296"), more=_LOCAL),
)


@enum_rule(
    summary="A register names the areas that its keys are from, and has the keys itself, not those of messages.",
    good=enum(_APP, more=_LOCAL),
    bad=enum(_APP, more='"keyAreas": []'),
)
def header_key_areas(draft: EnumDraft) -> Iterator[Finding]:
    if draft.spec.key_areas is None or not draft.part.broken.isdisjoint(("keyAreas", "valuesFrom")):
        return
    if not draft.spec.key_areas:
        areas = one_of(dict.fromkeys(space.area for space in KEY_SPACES if not space.is_reserved))
        yield Finding(draft.part, f"'keyAreas' is empty; name one or more of {areas}", "keyAreas")
    if "valuesFrom" in draft.part.given:
        yield Finding(draft.part, "messages have no header keys; give the keys as values", "valuesFrom")


@enum_rule(
    summary="No key of a register is in a range that KIP-82 reserves for later.",
    good=enum(_APP, more=_LOCAL),
    bad=enum(_APP.replace("1114000", "1400000"), more=_LOCAL),
)
def header_key_reserved(draft: EnumDraft) -> Iterator[Finding]:
    for key, space, part in _keys(draft):
        if space.is_reserved:
            text = f"{key} is in the reserved range {_range(space)}; take one of {_free(draft)}"
            yield Finding(part, text, "value")


@enum_rule(
    summary="Every key of a register is in one of the areas that the register names.",
    good=enum(_CLIENT, more=_KAFKA),
    bad=enum(_CLIENT, more=_LOCAL),
)
def header_key_area(draft: EnumDraft) -> Iterator[Finding]:
    areas = draft.spec.key_areas or ()
    for key, space, part in _keys(draft):
        if not space.is_reserved and space.area not in areas:
            text = f"{key} is a key of {space.area} ({_range(space)}), and the register is for {one_of(areas)}"
            yield Finding(part, f"{text}; take one of {_free(draft)}", "value")


@folder_rule(
    summary="A header key is in one register of a package only.",
    good=(spec(), enum(_APP, more=_LOCAL), enum(_CLIENT, more=_KAFKA, name="Lamp")),
    bad=(spec(), enum(_APP, more=_LOCAL), enum(_APP, more=_LOCAL, name="Lamp")),
)
def header_key_taken(folder: Folder) -> Iterator[Finding]:
    seen: dict[int, EnumDraft] = {}
    for draft in folder.enums:
        for key, _, part in _keys(draft):
            first = seen.setdefault(key, draft)
            if first is not draft:
                text = f"{key} is already in the register {first.spec.name} ({first.part.location()}); take another key"
                yield Finding(part, text, "value")


def _keys(draft: EnumDraft) -> Iterator[tuple[int, KeySpace, SpecPart]]:
    """Yield the keys of a register whose areas are known, each with its range; none for another enum."""
    if draft.spec.key_areas:
        for value, part in zip(draft.spec.values, draft.values, strict=True):
            yield value.number, key_space(value.number), part


def _range(space: KeySpace) -> str:
    return f"{space.first} to {space.last}"


def _free(draft: EnumDraft) -> str:
    """List the keys that the register may have; the ranges of an area follow each other."""
    areas = draft.spec.key_areas or ()
    spaces = [space for space in KEY_SPACES if space.area in areas and not space.is_reserved]
    first_of_areas = [space for space in spaces if space.first - 1 not in {other.last for other in spaces}]
    last_of_areas = [space for space in spaces if space.last + 1 not in {other.first for other in spaces}]
    return one_of(f"{a.first} to {b.last}" for a, b in zip(first_of_areas, last_of_areas, strict=True))
