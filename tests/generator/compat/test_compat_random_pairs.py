"""`kipgen compat` beside the bytes of random pairs of specs: each alarm is true, and without one the bytes are equal.

SEED and PAIRS of the environment choose other pairs, or more of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

import pytest

from kipgen.commands.compat.compare import compare_messages
from kipgen.commands.compat.messages import version_shift
from kipgen.commands.compat.model import Change
from kipgen.commands.compat.package import header_changes
from kipgen.commands.compat.rules import BY_ID
from kipgen.language.names import attribute_name
from kipgen.language.spec import HEADERS, MessageSpec
from kipgen.resolve.headers import HeaderVersions
from kipwire.description.fields import is_required
from kipwire.description.values import field_range
from kipwire.model.errors import DecodeError, EncodeError
from kipwire.model.structs import Field, Struct
from kipwire.model.types import KINDS
from kipwire.testing.strategies import arranged
from tests.support.spec_package import classes_in_memory
from tests.support.subjects.spec_pairs import PAIRS_OF_ONE, random_pairs

SEED = int(os.environ.get("SEED", "0"))
PAIRS = int(os.environ.get("PAIRS", "2000"))
BY_DAY = 7 * PAIRS_OF_ONE
TRIES = 40
"""Number of messages of either side that are tried in a version."""
MOST_TRIES = 4000
"""The same, until one is misread: null in an array in a struct that may be null is rare."""

Classes = Mapping[int, Any]
HEADED = {"request", "response", "header"}
TAG_RULES = {"tag-reused", "tag-changed", "tagged-versions-changed"}
"""The rules about a tag, which some versions of a peer may read rightly."""


def test_random_pairs_of_specs() -> None:
    for number in range(0, BY_DAY, PAIRS_OF_ONE):
        check_pairs(number)


@pytest.mark.night
@pytest.mark.parametrize("part", range(8))
def test_many_random_pairs_of_specs(part: int) -> None:
    for number in range(BY_DAY + part * PAIRS_OF_ONE, BY_DAY + PAIRS, 8 * PAIRS_OF_ONE):
        check_pairs(number)


def check_pairs(number: int) -> None:
    """Check some pairs with one old spec; they count from a number, which alone decides what they are."""
    random = Random(f"{SEED}.{number}")
    old, news = random_pairs(random)
    with classes_in_memory(old.spec, f"random_old_{number}") as olds:
        for count, new in enumerate(news):
            with classes_in_memory(new.spec, f"random_new_{number + count}") as classes:
                said = f"pair {number + count} of seed {SEED}:\n{old.text}\n{new.text}"
                _check_pair(_Pair(old.spec, new.spec, olds, classes, random), said)


def _check_pair(pair: _Pair, said: str) -> None:
    headers = HeaderVersions()
    changes = (*compare_messages(pair.old, pair.new), *header_changes(pair.old, pair.new, headers, headers))
    found = [change for change in changes if BY_ID[change.rule].severity == "wire"]
    said += f"\n{[(one.rule, one.path, one.text) for one in found]}"
    for change in found:
        assert pair.is_true(change), f"false alarm {change.rule}, {said}"
    alarming = {version for change in found if change.rule not in _ELSEWHERE for version in change.versions}
    for version in pair.common - alarming:
        assert pair.agree(version), f"no alarm in version {version}, but other bytes or values, {said}"


_ELSEWHERE = {
    "highest-version-lowered",
    "lowest-version-lowered",
    "new-version-refused",
    "message-type-changed",
    "api-key-changed",
    "tag-forgotten",
    "tagged-form-changed",
}
"""The rules whose findings are not about the bytes of one version in both revisions."""


@dataclass(frozen=True)
class _Pair:
    """Both revisions of a message, with the classes of their versions."""

    old: MessageSpec
    new: MessageSpec
    olds: Classes
    news: Classes
    random: Random

    @property
    def shift(self) -> int:
        return version_shift(self.old, self.new)

    @property
    def common(self) -> set[int]:
        """The versions that both have, as the old spec numbers them."""
        return {version for version in self.olds if version - self.shift in self.news}

    def is_true(self, change: Change) -> bool:
        """True if an alarm is: one side has no class, another header, or bytes that the other misreads."""
        types = {self.old.type, self.new.type}
        match change.rule:
            case "highest-version-lowered":
                return bool(change.versions) and self.common.isdisjoint(change.versions)
            case "lowest-version-lowered":
                return min(self.news) < min(self.olds) - self.shift
            case "new-version-refused":
                return max(self.news) > max(self.olds)
            case "message-type-changed":
                return not HEADED.isdisjoint(types)
            case "api-key-changed":
                return types.isdisjoint({"data", "header", "layout"}) and self.old.api_key != self.new.api_key
            case "header-changed":
                return all(self.has_other_header(version) for version in change.versions)
            case "tag-forgotten":  # harms with the next field alone
                return True
            case "tagged-form-changed":
                return self.is_tag_misread(change)
        if change.rule == "type-changed" and "with named bits" in change.text:
            return True  # the values of an integer that gets names for bits are no numbers any more
        versions = self.common & change.versions
        if change.rule in TAG_RULES:
            # What was only reserved has no class.
            is_read = any(self.is_misread(version, by_tag=True) for version in versions)
            return is_read or not change.versions or self.is_tag_misread(change)
        return bool(versions) and all(self.is_misread(version) for version in versions)

    def has_other_header(self, version: int) -> bool:
        """True if another header comes before one side's messages of a version."""
        return bool(self.olds[version].HEADER_VERSION != self.news[version - self.shift].HEADER_VERSION)

    def messages(self, version: int, tries: int = TRIES) -> Iterator[tuple[Any, Any, bytes]]:
        """Yield random messages of either side in a version, with the other side's class and the bytes."""
        sides = self.olds[version], self.news[version - self.shift]
        for _ in range(tries):
            for writer, reader in (sides, sides[::-1]):
                message = random_struct(self.random, writer)
                try:
                    data = message.encode()
                except EncodeError:  # values of a layout that do not go together
                    continue
                yield message, reader, data

    def is_misread(self, version: int, *, by_tag: bool = False) -> bool:
        """True if one side refuses a message of the other, reads other values, or writes it otherwise."""
        for message, reader, data in self.messages(version, MOST_TRIES):
            try:
                found = reader.decode(data)
            except DecodeError:
                return True
            if found.encode() != data or conflicts(message, found, by_tag=by_tag):
                return True
            if list(plain_leaves(message)) != list(plain_leaves(found)):
                return True
        return False

    def agree(self, version: int) -> bool:
        """True if each side writes again what it reads of the other, and in it the same values without their names."""
        if self.old.type == self.new.type and self.old.type in HEADERS and self.has_other_header(version):
            return False
        for message, reader, data in self.messages(version):
            try:
                found = reader.decode(data)
            except DecodeError:
                return False
            if found.encode() != data:
                return False
            # Tagged fields may be unknown to one side.
            if list(plain_leaves(message)) != list(plain_leaves(found)):
                return False
        return True

    def is_tag_misread(self, change: Change) -> bool:
        """True if the data of a tagged field of the message, as some version writes it, is misread in another one."""
        name = attribute_name(change.path.split(".")[1])
        sides = [
            (first, second) for first in (*self.olds.values(), *self.news.values()) for second in self.news.values()
        ]
        is_known = False
        for first, second in (*sides, *((second, first) for first, second in sides)):
            theirs = {field.tag: field for field in second.ATTRIBUTES if field.tag is not None}
            for field in first.ATTRIBUTES:
                other = theirs.get(field.tag) if field.tag is not None else None
                if other is not None and name in (field.name, other.name):
                    is_known = True
                    if any(self._is_misread_alone(first, field, second, other) for _ in range(TRIES)):
                        return True
        # A tag of a struct that may be anywhere is not tried.
        return not is_known

    def _is_misread_alone(self, writer: Any, field: Field, reader: Any, other: Field) -> bool:
        value = random_value(self.random, field)
        plain = writer().encode()
        section = writer(**{field.name: value}).encode()[len(plain) - 1 :]
        try:
            found = reader.decode(reader().encode()[:-1] + section)
        except DecodeError:
            return True
        read = getattr(found, other.name)
        return differs(value, read) or (field.name != other.name and not field.is_default(value))


# Values


def random_struct(random: Random, cls: Any) -> Any:
    """Make a message or struct; now and then with a tagged field that no version knows."""
    values = {
        field.name: random_value(random, field)
        for field in cls.ATTRIBUTES
        if is_required(field) or random.random() < 0.75
    }
    sets = {field.name: field.default_value() for field in cls.ATTRIBUTES if field.sorted_by}
    item = cls(**arranged(cls, sets | values))
    if cls.FLEXIBLE and random.random() < 0.1:
        item.unknown_tagged_fields = {9: b"?"}
    return item


def random_value(random: Random, field: Field) -> Any:
    if field.nullable and random.random() < 0.25:
        return None
    if field.array:
        return [_element(random, field) for _ in range(random.choice((0, 1, 1, 2)))]
    return _element(random, field)


def _element(random: Random, field: Field) -> Any:
    if field.struct is not None:
        return random_struct(random, field.struct)
    if KINDS[field.element] == "integer":
        low, high = field_range(field)
        return random.choice((low, high, 0, 1, max(low, -1), min(high, 300), random.randint(low, high)))
    return random.choice(_VALUES[field.element])


_VALUES: dict[str, tuple[Any, ...]] = {
    "bool": (True, False),
    "float64": (0.0, 1.5, -1e300),
    "string": ("", "a", "\u00e9", "abc", "x" * 130),
    "uuid": (UUID(int=0), UUID(int=1), UUID(int=2**128 - 1)),
    "bytes": (b"", b"\xff", b"ab", bytes(130)),
    "records": (b"", b"\xff", b"ab", bytes(130)),
}


def conflicts(written: Struct, found: Struct, *, by_tag: bool) -> bool:
    """True if a field that both have has another value; `by_tag`, also if another field, or none, got a tag's."""
    theirs = {field.name: field for field in written.ATTRIBUTES}
    ours = {field.name for field in found.ATTRIBUTES}
    lost = [field for name, field in theirs.items() if name not in ours and field.tag is not None]
    if by_tag and any(not field.is_default(getattr(written, field.name)) for field in lost):
        return True
    if _has_unknown(written) != _has_unknown(found) and written.FLEXIBLE == found.FLEXIBLE:
        return True
    for field in found.ATTRIBUTES:
        if field.name in theirs:
            if differs(getattr(written, field.name), getattr(found, field.name), by_tag=by_tag):
                return True
        elif by_tag and field.tag is not None and not field.is_default(getattr(found, field.name)):
            return True
    return False


def _has_unknown(item: Struct) -> bool:
    """True if a struct has the tagged field that no version knows."""
    return item.FLEXIBLE and 9 in (item._unknown_tagged_fields or {})


def differs(one: Any, other: Any, *, by_tag: bool = False) -> bool:
    if isinstance(one, Struct) and isinstance(other, Struct):
        return conflicts(one, other, by_tag=by_tag)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) != len(other) or any(differs(*pair, by_tag=by_tag) for pair in zip(one, other, strict=True))
    return bool(one != other)


def plain_leaves(value: Any) -> Iterator[Any]:
    """Yield the values of plain fields in the order of the bytes, whatever structs they are in."""
    if isinstance(value, Struct):
        for field in value.ATTRIBUTES:
            if field.tag is None:
                yield from plain_leaves(getattr(value, field.name))
    elif isinstance(value, list):
        yield len(value)
        for element in value:
            yield from plain_leaves(element)
    else:
        yield value
