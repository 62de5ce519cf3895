"""Sizes that the integers of messages would have under each encoding of KIP-625, counted over any number of messages.

The encodings themselves are in `kipwire.codec`, for generated code; this is the statistic to choose among them.
Counts are made from the field metadata of generated classes alone, take little memory however many values there are,
and can be merged: parts of a topic are counted apart, in threads or on a cluster, and put together in any order.

    counts = count_all(messages)
    counts.fields["Topics.Partitions.LeaderId"].sizes()   # {"fixed32": 400, "packed32": 100, "upacked32": 100}
    merge(counts, Counts.from_plain(from_elsewhere))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from itertools import chain, filterfalse, groupby, islice
from operator import add, attrgetter, index
from typing import Any, NamedTuple

from kipwire.message.messages import Message
from kipwire.model.structs import DEFAULT, Field, Struct
from kipwire.model.types import ENCODINGS, TYPES

_WAITING = 8192
"""Values of a field that may wait to be counted: counting many at a time is what makes it quick."""
_BATCH = 64
"""Messages whose values are gathered at a time."""


@dataclass(frozen=True, slots=True)
class IntegerCounts:
    """Counts of the values of one field."""

    type: str
    """`int16`, `int32` or `int64`."""
    is_element: bool
    """True if the values are elements of an array, for which KIP-625 itself has no encoding."""
    count: int
    minimum: int | None
    """None if there is no value; so is `maximum`."""
    maximum: int | None
    total: int
    """The sum of all values."""
    negative: int
    """Number of values below 0."""
    packed: tuple[int, ...]
    """Numbers of values that take 1, 2, 3 ... bytes as zigzag varints (`packed32`)."""
    upacked: tuple[int, ...]
    """Numbers of values that take 1, 2, 3 ... bytes as varints of their two's complement (`upacked32`)."""

    @classmethod
    def of(cls, type: str, values: Iterable[int], *, is_element: bool = False) -> IntegerCounts:
        """Count values.

        Raises:
            ValueError: a value is outside the type's range.
        """
        numbers, total = _plain(values)
        longest = _varint_bytes(TYPES[type].bits)
        lowest, highest = min(numbers, default=None), max(numbers, default=None)
        _expect_within(TYPES[type].range, (lowest, highest), f"is out of range for {type}")
        if lowest is None or highest is None or 0 <= lowest <= highest < 64:
            negative = 0  # and short, as ids and error codes are: most fields of most messages
            packed = upacked = (len(numbers), *(0,) * (longest - 1))
        else:
            negative, packed, upacked = _histograms(numbers, lowest < 0, longest)
        return cls(type, is_element, len(numbers), lowest, highest, total, negative, packed, upacked)

    def merged(self, other: IntegerCounts) -> IntegerCounts:
        """Add two counts up; neither is changed.

        Raises:
            ValueError: they are counts of different types.
        """
        if (self.type, self.is_element) != (other.type, other.is_element):
            raise ValueError(f"counts of {_kind(self)} and of {_kind(other)} cannot be merged")
        ends = [end for end in (self.minimum, self.maximum, other.minimum, other.maximum) if end is not None]
        return IntegerCounts(
            self.type,
            self.is_element,
            self.count + other.count,
            min(ends, default=None),
            max(ends, default=None),
            self.total + other.total,
            self.negative + other.negative,
            tuple(map(add, self.packed, other.packed)),
            tuple(map(add, self.upacked, other.upacked)),
        )

    def sizes(self) -> dict[str, int]:
        """Sum up the bytes of all values, by encoding of the type's own width: fixed, packed, upacked."""
        bits = TYPES[self.type].bits
        return {f"{scheme}{bits}": self.size(f"{scheme}{bits}") for scheme in ("fixed", "packed", "upacked")}

    def best(self, *, expect_negative: bool = False) -> str:
        """Choose the encoding of the type's own width under which all values together take the fewest bytes.

        Fixed wins ties, as it is the simplest. Between the other two, upacked stays short for twice as many numbers and
        packed for negative ones, so that the latter wins only where negative values are to be expected.

        Args:
            expect_negative: whether negative values are to be expected although there was none.
        """
        sizes, bits = self.sizes(), TYPES[self.type].bits
        schemes = ("fixed", "packed", "upacked") if self.negative or expect_negative else ("fixed", "upacked", "packed")
        return min((f"{scheme}{bits}" for scheme in schemes), key=lambda encoding: sizes[encoding])

    def size(self, encoding: str) -> int:
        """Sum up the bytes that all values take under an encoding such as `upacked32`.

        Raises:
            ValueError: not every value fits the encoding.
        """
        scheme, bits = ENCODINGS[encoding].scheme, ENCODINGS[encoding].bits
        _expect_within(ENCODINGS[encoding].range, (self.minimum, self.maximum), f"does not fit {encoding}")
        if scheme == "fixed":
            return self.count * (bits // 8)
        if scheme == "packed":
            return _weighted_sum(self.packed)
        # The two's complement of a negative number is as long as its width allows.
        return _weighted_sum(self.upacked) - self.negative * (len(self.upacked) - _varint_bytes(bits))


class Counts:
    """Counts of all integer fields of one message, over many messages in any versions."""

    def __init__(self, message: str | None = None) -> None:
        self.message = message
        """Name of the message; None until the first one is added."""
        self.versions: dict[int, int] = {}
        """Number of messages added, by version."""
        self._settled: dict[str, IntegerCounts] = {}
        self._waiting: dict[_Place, list[int]] = {}

    @property
    def messages(self) -> int:
        """Number of messages added."""
        return sum(self.versions.values())

    @property
    def fields(self) -> dict[str, IntegerCounts]:
        """Counts of each field that has a value, by its path in the names of the spec.

        Such as `Topics.Partitions.LeaderId`. Only values on the wire count: tagged fields at their defaults
        do not.
        """
        for place in list(self._waiting):
            self._settle(place)
        return dict(sorted(self._settled.items()))

    def add(self, message: Message) -> None:
        """Count the values of one more message, which must be one that can be encoded.

        Raises:
            ValueError: it is another message than the others, or a value is out of its field's range. In the latter
                case it may be reported only later, and the counts are not usable any more.
        """
        self._add_batch(type(message), [message])

    def add_all(self, messages: Iterable[Message]) -> None:
        """Count the values of many messages: as `add` of each, but several times as quick for small ones.

        Raises:
            ValueError: as `add`.
        """
        for cls, alike in groupby(messages, type):
            while batch := list(islice(alike, _BATCH)):
                self._add_batch(cls, batch)

    def to_plain(self) -> dict[str, Any]:
        """Convert the counts to plain data for `json.dumps`, to be sent elsewhere; sums may have more than 64 bits."""
        return {
            "message": self.message,
            "versions": {str(version): count for version, count in sorted(self.versions.items())},
            "fields": {
                path: asdict(counts) | {"packed": list(counts.packed), "upacked": list(counts.upacked)}
                for path, counts in self.fields.items()
            },
        }

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> Counts:
        """Restore the counts from what `to_plain` gave.

        Raises:
            ValueError: the value is not of that form.
        """
        try:
            counts = cls(value["message"])
            counts.versions = {int(version): int(count) for version, count in value["versions"].items()}
            for path, field in value["fields"].items():
                histograms = {name: tuple(field[name]) for name in ("packed", "upacked")}
                counts._settled[path] = IntegerCounts(**{**field, **histograms})
                if any(len(one) != _varint_bytes(TYPES[field["type"]].bits) for one in histograms.values()):
                    raise ValueError(f"a histogram of {path} does not have the length of its type")
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not counts in the form of to_plain: {error!r}") from error
        return counts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (self.message, self.versions, self.fields) == (other.message, other.versions, other.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Counts of {self.messages} {self.message or 'messages'}: {sum(f.count for f in self.fields.values())}>"

    def _add_batch(self, cls: type[Message], messages: list[Message]) -> None:
        if self.message is None:
            self.message = cls.NAME
        elif self.message != cls.NAME:
            raise ValueError(f"cannot add a {cls.NAME} to counts of {self.message}")
        self._gather(_parts(cls, ""), messages)  # type: ignore[arg-type]  # the class is hashable
        self.versions[cls.VERSION] = self.versions.get(cls.VERSION, 0) + len(messages)

    def _gather(self, parts: tuple[_Part, ...], items: list[Any]) -> None:
        """Put the values of structs of one class to those that wait: a field at a time, not a struct at a time."""
        for part in parts:
            if part.struct is not None:
                if inner := list(part.values(items)):  # only these paths are looked at: there may be very many others
                    self._gather(_parts(part.struct, part.place.path), inner)  # type: ignore[arg-type]
                continue
            values = self._waiting.setdefault(part.place, [])
            values.extend(part.values(items))
            if len(values) > _WAITING:
                self._settle(part.place)

    def _settle(self, place: _Place) -> None:
        values = self._waiting.pop(place)
        if not values:
            return
        try:
            counts = IntegerCounts.of(place.type, values, is_element=place.is_element)
        except ValueError as error:
            raise ValueError(f"{self.message}: {place.path}: {error}") from None
        before = self._settled.get(place.path)
        self._settled[place.path] = counts if before is None else before.merged(counts)


def count(message: Message) -> Counts:
    """Count the integers of one message.

    Raises:
        ValueError: a value is out of its field's range.
    """
    return count_all([message])


def count_all(messages: Iterable[Message]) -> Counts:
    """Count the integers of many messages of one name, in any versions.

    Raises:
        ValueError: see `Counts.add`.
    """
    counts = Counts()
    counts.add_all(messages)
    return counts


def merge(a: Counts, b: Counts) -> Counts:
    """Add two counts up, as if all messages had been added to one; neither is changed.

    Raises:
        ValueError: they are counts of different messages, or of classes that differ in the type of a field.
    """
    if None not in (a.message, b.message) and a.message != b.message:
        raise ValueError(f"counts of {a.message} and of {b.message} cannot be merged")
    result = Counts(a.message if a.message is not None else b.message)
    result.versions = dict(Counter(a.versions) + Counter(b.versions))
    fields = a.fields
    for path, counts in b.fields.items():
        fields[path] = fields[path].merged(counts) if path in fields else counts
    result._settled = fields
    return result


# Where the integers of a class are, found out once.


class _Place(NamedTuple):  # hashed for each field of each batch, and a tuple is quick at that
    path: str
    type: str
    is_element: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """A field of integers, or of structs that have integers somewhere."""

    field: Field
    place: _Place
    get: Callable[[Any], Any]
    struct: type[Struct] | None
    """The struct, or the struct of an array's elements."""

    def values(self, items: list[Any]) -> Iterable[Any]:
        """Return the values on the wire that this field of the given structs has; of arrays the elements."""
        values: Iterable[Any] = map(self.get, items)
        if self.field.array:
            return chain.from_iterable(filter(None, values))
        if self.struct is not None:
            values = [value for value in values if value is not None and value is not DEFAULT]
        return values if self.field.tag is None else filterfalse(self.field.is_default, values)


@lru_cache(maxsize=4096)
def _parts(cls: type[Struct], path: str) -> tuple[_Part, ...]:
    parts = []
    for field in cls.ATTRIBUTES:
        if _has_integers(field):
            where = f"{path}.{field.spec_name}" if path else field.spec_name
            place = _Place(where, field.element, field.array)
            # The slot, not the property: reading the property would make the struct of defaults.
            parts.append(_Part(field, place, attrgetter(field.slot), field.struct))
    return tuple(parts)


def _has_integers(field: Field) -> bool:
    if field.struct is None:
        return TYPES[field.element].encodable
    return _struct_has_integers(field.struct)  # type: ignore[arg-type]  # the class is hashable


@cache
def _struct_has_integers(cls: type[Struct]) -> bool:
    return any(map(_has_integers, cls.ATTRIBUTES))


# Lengths of varints, from how many bits numbers have.


def _histograms(numbers: list[int], some_negative: bool, longest: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Count the negative numbers, and the numbers that take 1, 2, 3 ... bytes as packed and as upacked."""
    below = [~number for number in numbers if number < 0] if some_negative else []
    natural = [number for number in numbers if number >= 0] if below else numbers
    packed, upacked = [0] * longest, [0] * longest
    for width, count in Counter(map(int.bit_length, natural)).items():
        packed[width // 7] += count  # zigzag adds a bit
        upacked[max(width - 1, 0) // 7] += count
    for width, count in Counter(map(int.bit_length, below)).items():
        packed[width // 7] += count  # zigzag(n) is zigzag(~n) + 1, of the same width
    upacked[-1] += len(below)
    return len(below), tuple(packed), tuple(upacked)


def _plain(values: Iterable[int]) -> tuple[list[int], int]:
    """Convert values to Python's own integers; return them, and their sum, which is one if all of them are."""
    numbers = list(values)
    try:
        total = sum(numbers)
    except TypeError:
        total = None
    if type(total) is not int:  # a field may also hold anything that Python accepts as an index
        numbers = list(map(index, numbers))
        total = sum(numbers)
    return numbers, total


def _expect_within(limits: tuple[int, int], ends: Iterable[int | None], problem: str) -> None:
    for end in ends:
        if end is not None and not limits[0] <= end <= limits[1]:
            raise ValueError(f"{end} {problem}")


def _varint_bytes(bits: int) -> int:
    """Compute the number of bytes of a varint of `bits` bits."""
    return -(-bits // 7)


def _weighted_sum(histogram: tuple[int, ...]) -> int:
    return sum(size * count for size, count in enumerate(histogram, 1))


def _kind(counts: IntegerCounts) -> str:
    return f"{'elements of ' if counts.is_element else ''}{counts.type}"
