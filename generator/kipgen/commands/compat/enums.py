"""Enums of two revisions: what a number means to peers of either, and the names that code uses.

An enum changes no byte, but two peers that name one number differently misunderstand each other. From the names alone
follows what a change means. A name with another number is read wrongly by one side: WIRE. A number whose old name is
gone and whose new name is new was renamed: code has to change, peers do not notice. A number without a name is read as
it is, so new values break nothing, and neither does a removed one, until its number or name is used again: hence
`reservedValues` and `reservedNames`, as tags have `reservedTags`.

A field that gets another enum is judged by the numbers that it can have. There nothing tells a renamed value from
another one, so two names of one number are two meanings.

An enum with `valuesFrom` is left to the messages that it follows: their names and keys have rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kipgen.commands.compat.model import Finding
from kipgen.commands.compat.rules import BY_ID
from kipgen.language.spec import FieldSpec, Location, MessageSpec, enum_of
from kipgen.python.render import registry_entry
from kipgen.python.render_enums import message_number_name, numbered_messages
from kipgen.reading.draft import SpecPart
from kipgen.reading.enum_spec import EnumDraft, EnumSpec
from kipgen.resolve.headers import header_versions
from kipwire.model.types import TYPES


@dataclass(frozen=True, eq=False)
class EnumRevision:
    """One enum without errors, old or new."""

    relative: str
    """The file below the folder of specs; its own name if it was given as a file."""
    draft: EnumDraft
    specs: tuple[MessageSpec, ...]
    """All messages of its revision, whose API keys may be its numbers."""

    @property
    def spec(self) -> EnumSpec:
        return self.draft.spec

    @cached_property
    def names(self) -> dict[int, str]:
        """The names by their numbers."""
        source = self.spec.values_from
        if source is None:
            return {value.number: value.name for value in self.spec.values}
        headers = header_versions(self.specs)
        entries = numbered_messages(source, (registry_entry(spec, headers) for spec in self.specs))
        return {entry.api_key: message_number_name(entry) for entry in entries if entry.api_key is not None}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers by their names."""
        return {name: number for number, name in self.names.items()}

    @cached_property
    def reserved(self) -> tuple[frozenset[int], frozenset[str]]:
        """The reserved numbers and names."""
        return frozenset(self.spec.reserved_values), frozenset(self.spec.reserved_names)

    def location(self, property_: str = "name") -> Location:
        """Location of a property of the enum, or of its name if the property is not written."""
        return self.draft.part.location(property_)

    def value_location(self, number: int, property_: str) -> Location:
        """Location of a property of a value; of `valuesFrom` where the values are messages."""
        part = self._parts.get(number)
        return self.location("valuesFrom") if part is None else part.location(property_)

    @cached_property
    def _parts(self) -> dict[int, SpecPart]:
        return {value.number: part for value, part in zip(self.spec.values, self.draft.values, strict=True)}


@dataclass(frozen=True, eq=False)
class EnumPairs:
    """The enums of two revisions."""

    matched: tuple[tuple[EnumRevision, EnumRevision], ...] = ()
    """The enums that both have, old and new."""
    gone: tuple[EnumRevision, ...] = ()
    old: tuple[EnumRevision, ...] = ()
    new: tuple[EnumRevision, ...] = ()

    @cached_property
    def heirs(self) -> Mapping[str, str]:
        """The new names of the enums that both have, by their old ones."""
        return {before.spec.name: after.spec.name for before, after in self.matched}

    @cached_property
    def names(self) -> tuple[Mapping[str, dict[int, str]], Mapping[str, dict[int, str]]]:
        """The old and the new enums' names of numbers, by the names of the enums."""
        old, new = ({one.spec.name: one.names for one in side} for side in (self.old, self.new))
        return old, new


NO_ENUMS = EnumPairs()


def match_enums(old: Sequence[EnumRevision], new: Sequence[EnumRevision], unknown: Collection[str] = ()) -> EnumPairs:
    """Match the enums of two revisions: by their names; of the others, those in one file, or with the same values.

    Args:
        old: the old enums that can be compared.
        new: all new enums.
        unknown: names of new enums whose old file cannot be compared.
    """
    later = {one.spec.name: one for one in new}
    matched = [(one, later[one.spec.name]) for one in old if one.spec.name in later]
    known = {one.spec.name for one, _ in matched}
    gone = [one for one in old if one.spec.name not in known]
    come = [one for one in new if one.spec.name not in known and one.spec.name not in unknown]
    for before in list(gone):
        same = [one for one in come if one.relative == before.relative] or [
            one for one in come if one.names == before.names
        ]
        # Two files that were given as old and new belong together, whatever is in them.
        if len(old) == len(new) == 1:
            same = come
        if len(same) == 1:
            matched.append((before, same[0]))
            gone.remove(before)
            come.remove(same[0])
    return EnumPairs(tuple(matched), tuple(gone), tuple(old), tuple(new))


def enum_findings(pairs: EnumPairs, folder: Path) -> Iterator[Finding]:
    """Find all changes of the enums themselves; `folder` is where the files of removed ones would be."""
    for before, after in pairs.matched:
        yield from _compare(before, after)
    for one in pairs.gone:
        place = Location(str(folder / one.relative), 1, 1)
        yield make_finding("enum-removed", one.spec.name, "the enum was removed", place, one.location())


def _compare(old: EnumRevision, new: EnumRevision) -> Iterator[Finding]:
    name = new.spec.name
    if name != old.spec.name:
        yield make_finding("enum-renamed", name, f"was {old.spec.name}", new.location(), old.location())
    lost = _attributes(old.spec)
    if lost and lost != _attributes(new.spec):
        yield make_finding(
            "enum-kind-changed", name, f"its values no longer have {lost}", new.location(), old.location()
        )
    if old.spec.values_from is None or old.spec.values_from != new.spec.values_from:
        for number, value in old.names.items():
            yield from _compare_value(old, new, number, value)
    yield from _compare_reserved(old, new)


def _attributes(spec: EnumSpec) -> str:
    """List the attributes of an enum's members in Python beyond those that every enum has."""
    if spec.values_from is not None:
        return "message and versions"
    if spec.key_areas is not None:
        return "header, by, url and notes"
    return "retriable" if any(value.retriable is not None for value in spec.values) else ""


def _compare_value(old: EnumRevision, new: EnumRevision, number: int, name: str) -> Iterator[Finding]:
    path, was = f"{new.spec.name}.{name}", old.value_location(number, "value")
    now, heir = new.numbers.get(name), new.names.get(number)
    if now is not None:
        if now != number:
            others = (number, "is now", new.names.get(number)), (now, "was", old.names.get(now))
            parts = [f"was {number}, is now {now}", *(f"{one} {verb} {other}" for one, verb, other in others if other)]
            text = "; ".join(parts)
            yield make_finding("enum-value-changed", path, text, new.value_location(now, "value"), was)
    elif heir is None:
        missing = not_reserved(new, number, name)
        rule = "enum-value-forgotten" if missing else "enum-value-removed"
        text = f"{number} was removed{f', and {missing}' if missing else ''}"
        yield make_finding(rule, path, text, new.location("reservedValues"), was)
    # Else the heir has changed its number, which is the worse finding.
    elif heir not in old.numbers:
        text = f"{number} was {name}"
        place = new.value_location(number, "name")
        yield make_finding(
            "enum-value-renamed", f"{new.spec.name}.{heir}", text, place, old.value_location(number, "name")
        )


def not_reserved(new: EnumRevision, number: int, name: str) -> str:
    """Say what of a removed value is not reserved; "" if all is."""
    numbers, names = new.reserved
    if number in numbers:
        return "" if name in names else "its name is not reserved"
    return "its number is not reserved" if name in names else "neither its number nor its name is reserved"


def _compare_reserved(old: EnumRevision, new: EnumRevision) -> Iterator[Finding]:
    """Find reserved numbers and names that are used again, or no longer reserved."""
    path, (numbers, names) = new.spec.name, new.reserved
    was = old.location("reservedValues")
    for number in old.spec.reserved_values:
        if number in new.names:
            text = f"{number} was reserved: it once had another name"
            place = new.value_location(number, "value")
            yield make_finding("enum-value-reused", f"{path}.{new.names[number]}", text, place, was)
        elif number not in numbers:
            text = f"{number} is no longer reserved"
            yield make_finding("enum-value-forgotten", path, text, new.location("reservedValues"), was)
    was = old.location("reservedNames")
    for name in old.spec.reserved_names:
        if name in new.numbers:
            # A value that comes back as it was has its number reserved, too, and is one finding.
            if new.numbers[name] not in old.reserved[0]:
                text = f"{name} was reserved: it once was the name of another number"
                place = new.value_location(new.numbers[name], "name")
                yield make_finding("enum-value-reused", f"{path}.{name}", text, place, was)
        elif name not in names:
            text = f"{name} is no longer reserved"
            yield make_finding("enum-value-forgotten", path, text, new.location("reservedNames"), was)


def make_finding(rule_id: str, path: str, text: str, place: Location, was: Location) -> Finding:
    """Make a finding on an enum, of the severity of its rule."""
    rule = BY_ID[rule_id]
    return Finding(rule, rule.severity, path, text, frozenset(), place, was)


# The enum of a field


@dataclass(frozen=True, slots=True)
class FieldChange:
    """The meaning of a change of a field's enum."""

    rule: str
    text: str
    property: str
    """The property of the field that changed."""


def compare_field_enums(enums: EnumPairs, old: FieldSpec, new: FieldSpec) -> FieldChange | None:
    """Judge the change of a field's `enum` or `enumBits`; None if there is none, or if its numbers had no names."""
    before, after = enum_of(old), enum_of(new)
    if before is None:
        return None
    is_same = enums.heirs.get(before, before) == after
    if is_same and old.enum_bits == new.enum_bits:
        return None
    old_names, new_names = enums.names
    # A field may be an error code by its name alone, in a package that has no names for these.
    if before not in old_names and old.enum is None:
        return None
    texts = [] if is_same else [f"enum {before} became {after or 'none'}"]
    if after is not None and old.enum_bits != new.enum_bits:
        was, now = (str(field.enum_bits).lower() for field in (old, new))
        texts.append(f"enumBits {was} became {now}")
    text, property_ = " and ".join(texts), "enumBits" if is_same else "enum"
    sides = (old, old_names.get(before, {})), (new, new_names.get(after or "", {}))
    width = min(TYPES[field.type.element].bits for field, _ in sides)
    is_signed = all(TYPES[field.type.element].signed for field, _ in sides)
    lowest, highest = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    meanings = [_Meaning(names, field.enum_bits, lowest, highest) for field, names in sides]
    misread = _misread(*meanings)
    if misread is None:
        return FieldChange("enum-replaced", text, property_)
    return FieldChange("enum-changed", f"{text}{misread}", property_)


@dataclass(frozen=True)
class _Meaning:
    """The names of the numbers of one field."""

    names: Mapping[int, str]
    is_bits: bool
    lowest: int
    """The lowest number that the field can have."""
    highest: int

    def of(self, number: int) -> frozenset[str]:
        """Return the names that readers see for a number, as `kipwire.model.enums` has it."""
        if self.is_bits:
            bits = range(self.highest.bit_length())
            found = frozenset(self.names[bit] for bit in bits if number >> bit & 1 and bit in self.names)
            return found | self._names_of_sign if number < 0 else found
        return frozenset((self.names[number],)) if number in self.names else frozenset()

    @cached_property
    def probes(self) -> tuple[int, ...]:
        """The numbers that have each name once, as far as the field can have them."""
        if not self.is_bits:
            return tuple(number for number in self.names if self.lowest <= number <= self.highest)
        bits = [1 << bit for bit in range(self.highest.bit_length())]
        return (*bits, self.lowest) if self.lowest else tuple(bits)

    @cached_property
    def _names_of_sign(self) -> frozenset[str]:
        """The names of the sign: the highest bit of a negative number, and all that would be above it, are set."""
        return frozenset(name for bit, name in self.names.items() if bit >= self.highest.bit_length())

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The names that a number of the field can have."""
        return frozenset[str]().union(*map(self.of, self.probes))


def _misread(old: _Meaning, new: _Meaning) -> str | None:
    """Find a number that one side reads with another meaning than the other side writes.

    Returns:
        An example as the end of a text, "" if no number with one name is one, or None if all keep their meaning.
    """
    both = old.vocabulary & new.vocabulary
    moved = ""
    for number in sorted({*old.probes, *new.probes}, key=lambda one: (abs(one), one)):
        before, after = old.of(number), new.of(number)
        lost, come = before - after, after - before
        example = f": {number} was {_words(before)}, is now {_words(after)}"
        # Of bits, a name that came or went alone changes the meaning of no other.
        if lost and come:
            return example
        if (lost | come) & both:
            moved = moved or example
    if moved:
        return moved
    # Among bits a name is in many numbers, else in one: with another bit beside it the two differ.
    return "" if both and old.is_bits != new.is_bits else None


def _words(names: frozenset[str]) -> str:
    return " and ".join(sorted(names)) or "without a name"
