"""Hypothesis strategies for every generated class, and what else a property test of messages needs.

`pip install 'kipwire[testing]'` brings Hypothesis. The strategies are made from the field metadata of a class alone, so
they work for the classes of any generated package:

    from hypothesis import given
    from kafka_messages.metadata_response.v12 import MetadataResponse
    from kipwire.testing import messages, same_message

    @given(messages(MetadataResponse))
    def test_what_is_sent_is_received(message):
        assert same_message(MetadataResponse.decode(message.encode()), message)
"""

from __future__ import annotations

import copy
import struct
import uuid
from functools import lru_cache
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hypothesis import strategies as st

from kipwire.codec.wire import MAX_TAG
from kipwire.description.fields import meet_conditions
from kipwire.description.values import field_range
from kipwire.message.messages import Message
from kipwire.model.structs import Struct
from kipwire.model.types import KINDS, MAX_STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from kipwire.model.structs import Field

__all__ = ["damaged", "field_values", "messages", "same_message", "structs", "unknown_tagged_fields"]

M = TypeVar("M", bound=Message)
S = TypeVar("S", bound=Struct)
T = TypeVar("T")

# Each with the number above it. Next to every power of two lies the end of some integer type, or a length at which some
# varint grows by a byte.
_EDGES = [edge for bit in range(65) for edge in ((1 << bit) - 1, -(1 << bit) - 1)]
_ALPHABET = (
    "".join(map(chr, range(128))) + "éÿ\u0100\u07ff\u0800日本語\ud7ff\ue000\ufeff\ufffd\uffff\U00010000𝄞\U0010ffff"
)
"""Characters of one to four bytes: a list, as Hypothesis takes a second to find what is UTF-8 among all of Unicode."""
_NANS = tuple(struct.unpack(">d", bytes.fromhex(bits))[0] for bits in ("7ff8000000000001", "fff8000000000000"))
_LONG_SIZES = (126, 128, 255, 16382, 16384, MAX_STRING - 1)
"""Bytes, each with the number above it: where a compact length grows by a byte, and the longest."""
_LONG_COUNTS = (126, 128)
"""Elements, likewise."""
_HEAVY = 15
"""Weight of structs of which arrays have fewer, as a message with three of each at every level takes long to draw."""
_FAULTY_BYTES = tuple(bytes.fromhex(text) for text in ("ff", "80", "7f", "00", "01", "8000", "ffffffff", "7fffffff"))


def messages(cls: type[M], *, long: bool = True) -> SearchStrategy[M]:
    """Generate messages that can be encoded.

    They cover all that their class allows: the first and last values of every integer type and encoding, NaN and
    -0.0, null, tagged fields set and not set, unknown tagged fields in every flexible struct. Text has no lone
    surrogates, as those cannot be encoded. The sets of record formats are in order, as they are when they are read.

    Args:
        cls: the generated class of a message in one version.
        long: whether now and then a string, bytes or an array is so long that its compact length takes two or three
            bytes. Without it messages are short: good where a test does something for each of their bytes.

    Example:
        @given(messages(MetadataResponse))
        def test_size(message):
            assert message.encoded_size() == len(message.encode())
    """
    return structs(cls, long=long)


def structs(cls: type[S], *, long: bool = True) -> SearchStrategy[S]:
    """Generate values of a struct in one version; see `messages`, which are structs as well.

    Example:
        @given(st.lists(structs(MetadataResponseBroker), max_size=3))
        def test_brokers(brokers):
            assert MetadataResponse.decode(MetadataResponse(brokers=brokers).encode())
    """
    return cast("SearchStrategy[S]", _structs(cls, long))  # type: ignore[arg-type]  # the class is hashable


@lru_cache(maxsize=256)
def _structs(cls: type[Struct], long: bool) -> SearchStrategy[Struct]:
    """Make the strategy of a struct; it is kept, since a message may have one struct many times."""
    has_room = _has_room(cls)
    positional = {
        field.name: field_values(field, long=long and has_room and not (field.sized and field.prefix == "int16"))
        for field in cls.ATTRIBUTES
        if field.tag is None
    }
    tagged = {field.name: field_values(field, long=long) for field in cls.ATTRIBUTES if field.tag is not None}
    unknown = _mostly(st.just({}), _unknown_tagged_fields(cls, long), one_in=4) if cls.FLEXIBLE else st.just({})

    values = st.fixed_dictionaries(positional, optional=tagged)

    # Not `builds`, which would show what was drawn, not the struct that was made of it.
    @st.composite
    def struct(draw: DrawFn) -> Struct:
        item = cls(**arranged(cls, draw(values)))
        if unknown_fields := draw(unknown):
            item.unknown_tagged_fields = unknown_fields  # type: ignore[attr-defined]
        return item

    return struct()


def _has_room(cls: type[Struct]) -> bool:
    """Return True if the sizes around the values of a struct have room for long ones; 16-bit sizes may not."""
    return all(field_range(one)[1] >= 1 << 16 for one in cls.FIELDS if one.role == "size")


def arranged(cls: type[Struct], values: Mapping[str, Any]) -> dict[str, Any]:
    """Arrange values of a struct so that they fit together, from any that do not.

    A set loses elements whose keys are there already, and is put into order, so that it is read as it was written.
    What does not meet a condition, such as that arrays have the same length, loses elements or bytes.
    """
    result = dict(values)
    for field in cls.FIELDS:
        if field.sorted_by:
            by_key = {getattr(element, field.sorted_by): element for element in result[field.name]}
            result[field.name] = [by_key[key] for key in sorted(by_key)]
    meet_conditions(cls, result)
    return result


def field_values(field: Field, *, long: bool = True) -> SearchStrategy[Any]:
    """Generate values that a field can carry, null among them where it is nullable.

    Example:
        port = next(field for field in MetadataResponseBroker.FIELDS if field.name == "port")

        @given(field_values(port))
        def test_port(value):
            assert MetadataResponse(brokers=[MetadataResponseBroker(port=value)]).encode()
    """
    values = _arrays(field, long) if field.array else _elements(field, long)
    return st.none() | values if field.nullable else values


def unknown_tagged_fields(cls: type[Struct]) -> SearchStrategy[dict[int, bytes]]:
    """Generate tagged fields that no version of the struct knows, as `unknown_tagged_fields` has them: bytes by tag.

    Args:
        cls: a generated class of a flexible version.

    Raises:
        ValueError: the class is not of a flexible version, so it has no tagged fields (KIP-482).

    Example:
        @given(unknown_tagged_fields(MetadataResponse))
        def test_fields_of_later_versions_are_kept(fields):
            message = MetadataResponse()
            message.unknown_tagged_fields = fields
            assert MetadataResponse.decode(message.encode()).unknown_tagged_fields == fields
    """
    if not cls.FLEXIBLE:
        raise ValueError(f"{cls.__module__}.{cls.__qualname__} is not flexible and has no tagged fields")
    return _unknown_tagged_fields(cls, long=True)


def _unknown_tagged_fields(cls: type[Struct], long: bool) -> SearchStrategy[dict[int, bytes]]:
    tags = _integers(0, MAX_TAG).filter(lambda tag: tag not in cls.DECLARED_TAGS)
    return st.dictionaries(tags, _blobs(long=long), max_size=3)


def damaged(data: bytes) -> SearchStrategy[bytes]:
    """Damage bytes by 1 to 3 faults, never unharmed: cut short, bits flipped, bytes added, removed or overwritten.

    What comes out may be a valid message all the same.

    Example:
        @given(damaged(MetadataResponse().encode()))
        def test_faults_are_found(data):
            try:
                MetadataResponse.decode(data)
            except kipwire.DecodeError as error:
                assert 0 <= error.offset <= len(data)
    """
    return _FAULTS.map(lambda faults: _with_faults(data, faults))


_FAULT_SIZE = 10
_FAULTS = st.binary(min_size=_FAULT_SIZE, max_size=3 * _FAULT_SIZE)
"""The bytes that choose one to three faults, drawn at once: one draw for each choice is slower than decoding."""


def _with_faults(data: bytes, faults: bytes) -> bytes:
    result = data
    for at in range(0, len(faults), _FAULT_SIZE):
        result = _with_fault(result, faults[at : at + _FAULT_SIZE].ljust(_FAULT_SIZE, b"\0"))
    return result if result != data else data + b"\0"


def _with_fault(data: bytes, fault: bytes) -> bytes:
    kind, which, size = fault[0] % 6, fault[1], fault[2] % 4 + 1
    start = int.from_bytes(fault[3:6], "big") % max(len(data), 1)
    before, hit, after = data[:start], data[start : start + size], data[start + size :]
    faulty = _FAULTY_BYTES[which % len(_FAULTY_BYTES)]
    if kind == 0:  # cut short
        return before
    if kind == 1:  # overwritten
        return before + faulty + data[start + len(faulty) :]
    if kind == 2:  # a bit flipped
        return before + bytes(byte ^ 1 << which % 8 for byte in hit[:1]) + hit[1:] + after
    if kind == 3:  # something added
        return before + (faulty if which < 128 else fault[6 : 6 + size]) + hit + after
    return before + after if kind == 4 else before + hit + hit + after  # removed, or repeated


def same_message(a: Struct, b: Struct) -> bool:
    """Return True if two messages (or structs) are equal; other than with `==`, a NaN equals a NaN of the same bits.

    Example:
        assert same_message(MetadataResponse.decode(message.encode()), message)
    """
    if type(a) is not type(b):
        return False
    if a.FLEXIBLE and (a._unknown_tagged_fields or {}) != (b._unknown_tagged_fields or {}):
        return False
    return all(
        (field.is_unmade(a) and field.is_unmade(b)) or _same_value(getattr(a, field.name), getattr(b, field.name))
        for field in a.ATTRIBUTES
    )


def _same_value(a: object, b: object) -> bool:
    if isinstance(a, Struct) and isinstance(b, Struct):
        return same_message(a, b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same_value, a, b))
    if isinstance(a, float) and isinstance(b, float) and a != b:
        return struct.pack(">d", a) == struct.pack(">d", b)
    return a == b


def _elements(field: Field, long: bool) -> SearchStrategy[Any]:
    """Generate values of a field that is not an array, or elements of one that is."""
    if field.struct is not None:
        return _structs(field.struct, long)  # type: ignore[arg-type]  # the class is hashable
    kind = KINDS.get(field.element, "struct")
    if kind == "integer":
        return _integers(*field_range(field))
    if kind == "blob":
        return _blobs(long=long)
    return _texts(long) if kind == "text" else _OTHERS[kind]


def _arrays(field: Field, long: bool) -> SearchStrategy[list[Any]]:
    weight = _weight_of_elements(field)
    short = st.lists(_elements(field, long), max_size=3 if weight < _HEAVY else 2)
    if not long or weight >= 4 * _HEAVY:
        return short
    # Made of few elements over and over, as the elements matter less than their number.
    few = st.lists(_elements(field, long=False), min_size=1, max_size=2)
    return _mostly(short, _repetitions(few, _near(_LONG_COUNTS, 1, _LONG_COUNTS[-1] + 1)), one_in=16)


@lru_cache(maxsize=1024)
def _weight(cls: type[Struct]) -> float:
    """Estimate the number of values that a struct has with those in it, where an array has 1.5 elements."""
    total = 0.0
    for field in cls.ATTRIBUTES:
        total += (1.5 if field.array else 1) * _weight_of_elements(field)
    return total


def _weight_of_elements(field: Field) -> float:
    return 1 if field.struct is None else _weight(field.struct)  # type: ignore[arg-type]  # the class is hashable


@st.composite
def _repetitions(draw: DrawFn, few: SearchStrategy[list[Any]], counts: SearchStrategy[int]) -> list[Any]:
    """Draw repeated elements; like `_structs`, without `builds`."""
    return repeated(draw(few), draw(counts))


def repeated(few: Sequence[Any], count: int) -> list[Any]:
    """Repeat the elements up to a count, each as a copy of its own."""
    return [_copied(element) for element in islice(cycle(few), count)]


def _copied(value: Any) -> Any:
    """Copy a value deeply; `copy.deepcopy` takes many times as long."""
    if isinstance(value, list):
        return [_copied(element) for element in value]
    if not isinstance(value, Struct):
        return value  # cannot be changed
    result = copy.copy(value)
    for field in type(value).ATTRIBUTES:
        if field.array or field.struct is not None:
            setattr(result, field.name, _copied(getattr(value, field.name)))
    if value.FLEXIBLE:
        result.unknown_tagged_fields = dict(value.unknown_tagged_fields)  # type: ignore[attr-defined]
    return result


def _near(edges: Sequence[int], lowest: int, highest: int, *, elsewhere: int = 1) -> SearchStrategy[int]:
    """Generate integers of a range, most of them one of the edges or the number above it.

    The range that a number is drawn from is chosen first, and number and choice shrink apart from each other: the same
    number out of the whole range, which comes first, is simpler, and shrinks to the smallest one that fails.

    Args:
        edges: numbers of the range; the highest one has none above it.
        lowest: the lowest number.
        highest: the highest number.
        elsewhere: how often the whole range is chosen, where each edge is chosen once.
    """
    ranges = [st.integers(edge, edge + 1) for edge in edges]
    return st.sampled_from([st.integers(lowest, highest)] * elsewhere + ranges).flatmap(lambda one: one)


@lru_cache
def _integers(lowest: int, highest: int) -> SearchStrategy[int]:
    if lowest == highest:
        return st.just(lowest)
    ends = (lowest, highest - 1) * 4  # more often than the edges between, of which there may be a hundred
    edges = (*ends, *(edge for edge in _EDGES if lowest <= edge < highest))
    return _near(edges, lowest, highest, elsewhere=len(edges))


@lru_cache
def _texts(long: bool) -> SearchStrategy[str]:
    short = st.text(_ALPHABET, max_size=6)
    short.validate()  # makes a table the first time, which would take long for the first draw
    return _sometimes_long(short, _long_text) if long else short


def _long_text(text: str, size: int) -> str:
    """Repeat a text up to a number of bytes."""
    raw = text.encode() or b"0"
    if size <= len(raw):
        return text
    result = (raw * (size // len(raw) + 1))[:size].decode(errors="ignore")
    return result + "0" * (size - len(result.encode()))


@lru_cache
def _blobs(*, long: bool) -> SearchStrategy[bytes]:
    short = st.binary(max_size=6)
    return _sometimes_long(short, _long_blob) if long else short


def _long_blob(data: bytes, size: int) -> bytes:
    """Repeat bytes up to their number."""
    if size <= len(data):
        return data
    return ((data or b"\0") * size)[:size]


@st.composite
def _sometimes_long(draw: DrawFn, short: SearchStrategy[T], lengthen: Callable[[T, int], T]) -> T:
    """Draw short values, and now and then a long one, which takes no more choices than they do."""
    value = draw(short)  # first, so that it stays as it is where a failure needs no long one
    return lengthen(value, draw(_LONG)) if draw(_ONE_IN_18) == 17 else value


@st.composite
def _uuids(draw: DrawFn) -> uuid.UUID:
    """Draw UUIDs; like `_structs`, without `map`."""
    return uuid.UUID(int=draw(_UUID_NUMBERS))


_UUID_NUMBERS = _near((0, 2**128 - 2), 0, 2**128 - 1, elsewhere=2)
_LONG = _near(_LONG_SIZES, 0, MAX_STRING)
_ONE_IN_18 = st.integers(0, 17)


@st.composite
def _mostly(draw: DrawFn, usual: SearchStrategy[T], rare: SearchStrategy[T], one_in: int) -> T:
    return draw(rare if draw(st.integers(1, one_in)) == one_in else usual)


_OTHERS: dict[str, SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "float": _mostly(st.floats(), st.sampled_from(_NANS), one_in=8),
    "uuid": _uuids(),
}
