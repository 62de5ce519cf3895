"""Properties of every message of every generated class; test modules check them for their classes."""

from __future__ import annotations

import copy
import decimal
import fractions
import json
import math
import os
import pickle
import uuid
import zlib
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker
from kipwire import DecodeError, EncodeError, Message, Struct
from kipwire.description.values import check
from kipwire.testing import messages, same_message
from tests.support.cases import THOROUGH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hypothesis.strategies import DrawFn, SearchStrategy

    from kipwire import Field

M = TypeVar("M", bound=Message)
S = TypeVar("S", bound=Struct)

EXAMPLES = int(os.environ.get("KIPWIRE_EXAMPLES") or (6 if THOROUGH else 2))
"""Examples of each property of each class: few, as there are many classes; three times as many each night."""


class _Index:
    """A number that is not an `int`."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class _Text(str):
    """A subclass of a field's type."""


class _List(list[Any]):
    """A subclass of a field's type."""


PROFILE = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate, Phase.shrink),  # explaining a failure takes minutes with messages of many fields
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


_ODD: tuple[tuple[Any, ...], ...] = (
    (None, False, True, 0, 1, 2, -1, 127, 128, 255, 256, -129, 2**15, 2**16, 2**31, -(2**31) - 1, 2**32, 2**63),
    (-(2**63) - 1, 10**30, 0.0, -0.0, 1.0, 2.5, math.nan, math.inf, 10**400, 1j),
    (decimal.Decimal(1), fractions.Fraction(1, 2), _Index(5), _Index(2**70)),
    ("", "a", "\ud800", "a" * 32767, "a" * 32768, "é" * 16384, _Text("text")),
    (b"", b"a", bytearray(b"b"), memoryview(b"c"), [], [None], [1, "a"], [""], [b""], [0.5], [[]], _List([1])),
    ((), (1,), ("a",), set(), frozenset({1}), range(3), iter("ab"), {}, {5: b"a"}, {-1: b""}, {0: b""}),
    ({2**31 - 1: b""}, {2**31: b""}, {1.0: b""}, {"a": b""}, {True: b""}, {7: "text"}, {7: None}, {7: bytearray(b"x")}),
    (uuid.UUID(int=0), uuid.UUID(int=9), object(), int),
    (MetadataResponseBroker(), MetadataResponse(), [MetadataResponseBroker()], [MetadataResponse()]),
)

ANYTHING: SearchStrategy[Any] = st.sampled_from([value for values in _ODD for value in values])
"""Values of many types; most fields cannot carry them."""

ANY_TAG = st.sampled_from([0, 1, 7, 127, 128, 2**31 - 1, 2**31, -1, 1.0, 300.0, "a", None, True, b"a", (1,)])
"""Tags, and values that are no tags."""


_STRATEGIES: dict[tuple[type[Any], bool], SearchStrategy[Any]] = {}


def messages_of(cls: type[M], *, long: bool = True) -> SearchStrategy[M]:
    """Return `kipwire.testing.messages`, made once a process: making and checking a strategy costs more than a draw."""
    found = _STRATEGIES.get((cls, long))
    if found is None:
        found = _STRATEGIES[cls, long] = messages(cls, long=long)
    return found


def for_all(property_: Callable[..., None], *strategies: SearchStrategy[Any]) -> None:
    """Run a check on examples of its arguments."""
    together = strategies[0] if len(strategies) == 1 else st.tuples(*strategies)

    # Hypothesis reads the code of this function at every run, so it is short. The seed is the property's own.
    def holds(example: Any) -> None:
        property_(*example) if len(strategies) > 1 else property_(example)

    seed(zlib.crc32(property_.__qualname__.encode()))(PROFILE(given(together)(holds)))()


def check_round_trip(message: Message) -> None:
    """Check that an encoded message can be decoded, from a buffer of its own and out of a longer one."""
    cls = type(message)
    data = message.encode()
    assert message.encoded_size() == len(data)
    decoded = cls.decode(data)
    assert same_message(decoded, message)
    assert decoded.encode() == data
    assert decoded.encoded_size() == len(data)
    after = b"" if cls.TYPE == "layout" else b"\xff\x00"  # a record format may take all bytes that are left
    read, end = cls.read(b"\xff\x80\x00" + data + after, 3)
    assert end == len(data) + 3
    assert same_message(read, message)
    assert same_message(cls.decode(memoryview(bytearray(data))), message)  # type: ignore[arg-type]


def check_unknown_tagged_fields(message: Message) -> None:
    """Unknown tagged fields come back as they were, in every struct; JSON and inflexible versions have none."""
    decoded = type(message).decode(message.encode())
    for before, after in zip(structs_in(message), structs_in(decoded), strict=True):
        if before.FLEXIBLE:
            assert before.unknown_tagged_fields == after.unknown_tagged_fields  # type: ignore[attr-defined]
        else:
            assert not hasattr(before, "unknown_tagged_fields")


def check_json(message: Message) -> None:
    """Check that the JSON form, through text, gives the same message without its unknown tagged fields."""
    cls = type(message)
    text = json.dumps(message.to_json(), allow_nan=False)
    known = _without_what_json_lacks(message)
    read = cls.from_json(json.loads(text))
    assert same_message(read, known)
    assert read.encode() == known.encode()


def check_copies(message: Message) -> None:
    """Copies are equal, write the same bytes and are independent where they are deep."""
    data = message.encode()
    made = [
        pickle.loads(pickle.dumps(message)),
        pickle.loads(pickle.dumps(message, protocol=2)),
        copy.deepcopy(message),
        copy.copy(message),
        message.__replace__(),
    ]
    for other in made:
        assert other is not message
        assert same_message(other, message)
        assert other.encode() == data
    assert repr(made[0]) == repr(message)
    for mine, own in zip(structs_in(message), structs_in(made[2]), strict=True):
        assert mine is not own
    for field in message.ATTRIBUTES:
        changed = message.__replace__(**{field.name: field.default_value()})
        assert field.is_default(getattr(changed, field.name)) or field.default != field.default
        assert same_message(changed.__replace__(**{field.name: getattr(message, field.name)}), message)
    assert message.encode() == data


def check_truncations(message: Message) -> None:
    """Check that no proper beginning of a message is a message: each is refused, with a location within it."""
    cls = type(message)
    data = message.encode()
    for size in range(len(data)):
        short = data[:size]
        try:
            cls.decode(short)
        except DecodeError as error:
            check_decode_error(error, cls, short)
        else:
            raise AssertionError(f"{size} of {len(data)} bytes were accepted")


def check_any_bytes(cls: type[Message], data: bytes) -> None:
    """Bytes are refused with a location, or are a message that can be written and read again."""
    try:
        message = cls.decode(data)
    except DecodeError as error:
        check_decode_error(error, cls, data)
        return
    written = message.encode()
    again = cls.decode(written)
    assert same_message(again, message)
    assert again.encode() == written


def check_many_bytes(cls: type[Message], faulty: list[bytes]) -> None:
    """Run `check_any_bytes` for each; one example has many bytes, as making examples takes most of the time."""
    for data in faulty:
        check_any_bytes(cls, data)


def check_decode_error(error: DecodeError, cls: type[Message], data: bytes) -> None:
    """Check that a DecodeError has the message, a location within the bytes and a reason, and survives pickling."""
    assert (error.message, error.version) == (cls.NAME, cls.VERSION)
    assert 0 <= error.offset <= len(data)
    assert error.reason
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def check_encode_agrees(message: Message) -> None:
    """Encoding refuses what `values.check` refuses, with the same error, and nothing else."""
    try:
        check(message)
    except EncodeError as error:
        for write in (message.encode, message.encoded_size, message.to_json):
            try:
                write()
            except EncodeError as refusal:
                assert str(refusal) == str(error)
            else:
                raise AssertionError(f"{write.__name__} accepts what check refuses: {error}") from None
    else:
        data = message.encode()
        assert message.encoded_size() == len(data)
        assert type(message).decode(data).encode() == data
        assert json.dumps(message.to_json())


def messages_with_a_wrong_value(cls: type[M]) -> SearchStrategy[M]:
    """Return messages that are valid but for one value at any depth, which may be anything (also something valid)."""
    return _spoilt(messages_of(cls))


@st.composite
def _spoilt(draw: DrawFn, strategy: SearchStrategy[M]) -> M:
    message = draw(strategy)
    struct = draw(st.sampled_from(list(structs_in(message))))
    names = [field.name for field in struct.ATTRIBUTES] + ["unknown_tagged_fields"] * struct.FLEXIBLE
    if not names:
        return message
    name = draw(st.sampled_from(names))
    value = getattr(struct, name)
    if isinstance(value, list) and draw(st.booleans()):
        at = draw(st.integers(0, len(value)))
        setattr(struct, name, [*value[:at], draw(ANYTHING), *value[at + 1 :]])
    elif isinstance(value, dict) and draw(st.booleans()):
        setattr(struct, name, {**value, draw(ANY_TAG): draw(ANYTHING)})
    else:
        setattr(struct, name, draw(ANYTHING))
    return message


def slim(message: M) -> M:
    """Return the message, or a copy with no more than one element in each array where it takes many bytes."""
    if message.encoded_size() <= 300:
        return message
    result = copy.deepcopy(message)
    for struct in structs_in(result):
        for field in struct.ATTRIBUTES:
            if field.array and (value := getattr(struct, field.name)) is not None:
                setattr(struct, field.name, value[:1])
    return result


def structs_in(message: Struct) -> Iterator[Struct]:
    """Yield the message and all structs in it, each before its own structs."""
    yield message
    for field in message.ATTRIBUTES:
        if field.struct is not None:
            for element in _list(field, getattr(message, field.name)):
                yield from structs_in(element)


def _list(field: Field, value: Any) -> list[Any]:
    """Return the elements of an array, or the one value in a list; [] for null."""
    if value is None:
        return []
    return list(value) if field.array else [value]


def _without_what_json_lacks(message: M) -> M:
    """Return a copy without unknown tagged fields, with plain NaNs: JSON has neither those nor the bits of NaNs."""
    result = copy.deepcopy(message)
    for struct in structs_in(result):
        if struct.FLEXIBLE:
            struct.unknown_tagged_fields = {}  # type: ignore[attr-defined]
        for field in struct.ATTRIBUTES:
            if field.element == "float64" and (value := getattr(struct, field.name)) is not None:
                plain = [math.nan if math.isnan(number) else number for number in _list(field, value)]
                setattr(struct, field.name, plain if field.array else plain[0])
    return result
