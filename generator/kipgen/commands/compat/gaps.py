"""The plain items of one version that only one revision has, or that moved among the others.

Items that only one side has are grouped by the gaps between the items that kept their order. Only within such a gap can
a field be a renamed one: the same bytes at the same position.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from kipgen.commands.compat.model import Change, Replaced, Spot
from kipgen.commands.compat.wire_items import Owner, Pair, WireItem, fingerprint, prefixes


def names_of_moves(before: list[str], after: list[str]) -> set[str]:
    """Return the names that moved among the others."""
    # The longest runs in the old order stay, so one field that moves past ten others is one move and not ten.
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return set(before).difference(*(before[block.a : block.a + block.size] for block in blocks))


def predecessors(items: Sequence[WireItem]) -> dict[str, str]:
    """Describe the place of each item, by its key."""
    places = ["first", *(f"after {item.name}" for item in items)]
    return {item.key: place for item, place in zip(items, places, strict=False)}


def gaps(items: list[WireItem], stays: Collection[str], known: Collection[str]) -> list[list[WireItem]]:
    """Group the items that only one revision has: before, between and after those that kept their order."""
    groups: list[list[WireItem]] = [[]]
    for item in items:
        if item.key in stays:
            groups.append([])
        elif item.key not in known:
            groups[-1].append(item)
    return groups


Group = tuple[list[WireItem], list[WireItem]]
"""Items that only the old revision has, and those at their place that only the new one has."""


def match_gap(gone: list[WireItem], come: list[WireItem]) -> list[Group]:
    """Divide the items of a gap into the smallest groups that have the same bytes, and what is left between them."""
    if fingerprint(gone) == fingerprint(come):
        return _cut_alike(gone, come)
    before, after = ([fingerprint((item,)) for item in items] for items in (gone, come))
    # Without `autojunk`: it would pass over forms that many fields share, such as int32, in groups of 200 and more.
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    groups: list[Group] = []
    start, begin = 0, 0
    for block in blocks:
        groups.append((gone[start : block.a], come[begin : block.b]))
        groups += (([gone[block.a + number]], [come[block.b + number]]) for number in range(block.size))
        start, begin = block.a + block.size, block.b + block.size
    return groups


def _cut_alike(gone: list[WireItem], come: list[WireItem]) -> list[Group]:
    """Cut two sequences with the same bytes wherever the bytes up to there are the same."""
    after = {prefix: number for number, prefix in enumerate(prefixes(come), start=1)}
    groups: list[Group] = []
    start, begin = 0, 0
    for end, prefix in enumerate(prefixes(gone), start=1):
        stop = after.get(prefix)
        if stop is not None:
            groups.append((gone[start:end], come[begin:stop]))
            start, begin = end, stop
    return [*groups, (gone[start:], come[begin:])]  # what is left takes no bytes


def renamed_items(groups: Iterable[Group]) -> list[tuple[WireItem, WireItem]]:
    """List the items that were only renamed: the same bytes at the same position."""
    return [(before[0], after[0]) for before, after in groups if _is_renamed(before, after)]


def _is_renamed(before: list[WireItem], after: list[WireItem]) -> bool:
    if len(before) != 1 or len(after) != 1 or fingerprint(before) != fingerprint(after):
        return False
    # Else a struct took the place of its only field, which may be a struct itself.
    (was,), (now,) = before, after
    return (was.inner is None, was.nullable) == (now.inner is None, now.nullable)


def explain_gap(pair: Pair, groups: Iterable[Group]) -> Iterator[Change]:
    """Explain the changes in a gap."""
    for before, after in groups:
        if _is_renamed(before, after):
            text = f"was {before[0].name}; the bytes are the same"
            yield pair.change("field-renamed", after[0].name, text, *_places(before[0], after[0]))
        # A struct in place of its fields, or the reverse: peers notice nothing, if no tag section comes with it.
        elif before and after and fingerprint(before) == fingerprint(after):
            change = pair.change("type-same-bytes", after[0].name, "", *_places(before[0], after[0]))
            replaced = Replaced(pair.path, _in_spec(pair.old, before), _in_spec(pair.new, after))
            yield replace(change, replaced=replaced)
        else:
            yield from _explain_others(pair, before, after)


def _explain_others(pair: Pair, before: list[WireItem], after: list[WireItem]) -> Iterator[Change]:
    for item in before:
        spots = Spot(item.spec.location), _spot_in(pair.new, item.key)
        if takes_no_bytes(item):
            yield pair.change("type-same-bytes", item.name, "the field was removed, which took no bytes", *spots)
        else:
            yield pair.change("field-removed", item.name, "the field was removed", *spots)
    for item in (one for one in after if not takes_no_bytes(one)):
        spot = Spot(item.spec.location, "versions" if pair.old.field(item.key) else "name")
        yield pair.change("field-added", item.name, "the field was added", _spot_in(pair.old, item.key), spot)


def takes_no_bytes(item: WireItem) -> bool:
    """True for a struct without fields that nothing follows, not even a tag section."""
    return fingerprint((item,)) == fingerprint(())


def _in_spec(owner: Owner, items: list[WireItem]) -> frozenset[tuple[int, str]]:
    positions = {field.name: position for position, field in enumerate(owner.fields)}
    return frozenset((positions.get(item.name, number), item.name) for number, item in enumerate(items))


def merge_replacements(changes: Iterable[Change]) -> list[Change]:
    """Merge the replacements of several versions that have fields in common: a struct with more fields in later ones.

    Replacements are put into words only here, since no version need have all the fields.
    """
    slots: list[Change | None] = []
    slot_of: dict[tuple[str, bool, tuple[int, str]], int] = {}
    for change in changes:
        known = sorted({slot_of[name] for name in _names(change) if name in slot_of})
        joined = change
        for slot in known:
            same = slots[slot]
            joined, slots[slot] = _joined(same, joined) if same is not None else joined, None
        if known:
            slots[known[0]] = joined
        else:
            slots.append(joined)
        slot_of |= dict.fromkeys(_names(joined), known[0] if known else len(slots) - 1)
    merged = [change for change in slots if change is not None]
    return [replace(one, text=_text(one.replaced)) if one.replaced else one for one in merged]


def _names(change: Change) -> list[tuple[str, bool, tuple[int, str]]]:
    """List the fields that a replacement is about, old and new ones; none for another change."""
    replaced = change.replaced
    if replaced is None:
        return []
    return [
        (replaced.owner, is_new, name)
        for is_new, names in ((False, replaced.old), (True, replaced.new))
        for name in names
    ]


def _joined(one: Change, other: Change) -> Change:
    """Join two replacements; the one whose new fields begin earlier in the spec has the place."""
    was, now = one.replaced, other.replaced
    assert was is not None
    assert now is not None
    first = one if min(was.new) <= min(now.new) else other
    replaced = Replaced(was.owner, was.old | now.old, was.new | now.new)
    return replace(first, versions=one.versions | other.versions, replaced=replaced)


def _text(replaced: Replaced) -> str:
    before, after = (", ".join(name for _, name in sorted(names)) for names in (replaced.old, replaced.new))
    return f"{before} became {after}, with the same bytes"


def _spot_in(owner: Owner, key: str) -> Spot:
    """Find the place for a field that a version lacks: its versions, or anywhere in its owner."""
    field = owner.field(key)
    return Spot(field.location, "versions") if field else Spot(owner.location)


def _places(item: WireItem, now: WireItem) -> tuple[Spot, Spot]:
    return Spot(item.spec.location), Spot(now.spec.location)
