"""A property test of a whole generated package, with random messages of each of its classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kipwire.message.conversion import Loss, convert
from kipwire.message.registry import Registry
from kipwire.model.errors import ConversionError, DecodeError
from kipwire.testing.strategies import damaged, messages, same_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from hypothesis.strategies import DrawFn, SearchStrategy

    from kipwire.message.messages import Message

__all__ = ["check_package"]

_CUTS = 50
"""Limit for the places where one message is cut short."""
# Explaining a failure takes minutes with messages of many fields, and examples that one class failed with say nothing
# of another, whose tests would be the same function to a database.
_PHASES = (Phase.generate, Phase.shrink)


def check_package(package: ModuleType, *, max_examples: int = 25) -> None:
    """Check every message of a generated package, in all versions, with random values.

    * What is encoded is decoded as an equal message, and has the size that was foretold.
    * A message of the newest version becomes one of each older version, and an older one the newest, or `convert` says
      what would be lost. What loses nothing comes back as it was.
    * Damaged bytes are refused with a DecodeError, or are another message. Bytes that are cut short, or followed by
      others, are refused; a record format may take all bytes that are left.

    Args:
        package: the module of the package, such as `kafka_messages`.
        max_examples: examples for each property of each class.

    Raises:
        AssertionError: a message, which is as small as it can be, does not hold; the notes name its class.
        TypeError: it is no generated package.

    Example:
        def test_wire():
            check_package(shop.wire)
    """
    registry = getattr(package, "REGISTRY", None)
    if not isinstance(registry, Registry):
        raise TypeError(f"{package!r} is no generated package, which would have a REGISTRY; give its module")
    profile = settings(max_examples=max_examples, deadline=None, database=None, phases=_PHASES)
    for name in registry.names():
        classes = [registry.message(name, version) for version in registry.versions(name)]
        for cls in classes:
            _check(cls, "round trip", profile, messages(cls), _check_round_trip)
            _check(cls, "damage", profile, _damaged_messages(cls), partial(_check_damaged, cls))
        for old in classes[:-1]:
            for one, other in ((old, classes[-1]), (classes[-1], old)):
                what = f"as version {other.VERSION}"
                _check(one, what, profile, messages(one), partial(_check_converted, other))


def _check(
    cls: type[Message], what: str, profile: settings, examples: SearchStrategy[Any], check: Callable[[Any], None]
) -> None:
    """Run a check on examples; name the class and the property if one fails."""

    @profile
    @given(examples)
    def holds(example: Any) -> None:
        check(example)

    try:
        holds()
    except BaseException as error:
        error.add_note(f"{cls.__module__}.{cls.__qualname__}, version {cls.VERSION}: {what}")
        raise


def _check_round_trip(message: Message) -> None:
    data = message.encode()
    assert len(data) == message.encoded_size(), "encoded_size() is not the number of bytes"
    decoded = type(message).decode(data)
    assert same_message(decoded, message), f"{data!r} is decoded as {decoded!r}"
    assert decoded.encode() == data, f"{data!r} is encoded as other bytes"
    if message.TYPE != "layout":  # a record format may take all bytes that are left
        _check_refused(type(message), data + b"\0")


def _check_converted(other: type[Message], message: Message) -> None:
    lost: list[Loss] = []
    try:
        converted = convert(message, other, lost=lost)
    except ConversionError:
        return  # it says what would be lost
    _check_round_trip(converted)
    if not any(loss.is_dropped for loss in lost):
        back = convert(converted, type(message))
        assert same_message(back, message), f"comes back from version {other.VERSION} as {back!r}"


@st.composite
def _damaged_messages(draw: DrawFn, cls: type[Message]) -> bytes:
    """Draw the bytes of a short message, as there is something to do for many of them, with faults."""
    return draw(damaged(draw(messages(cls, long=False)).encode()))


def _check_damaged(cls: type[Message], data: bytes) -> None:
    try:
        message = cls.decode(data)
    except DecodeError:
        return
    _check_round_trip(message)
    if cls.TYPE != "layout":  # a record format may take all bytes that are left
        whole = message.encode()
        for at in range(0, len(whole), len(whole) // _CUTS + 1):
            _check_refused(cls, whole[:at])


def _check_refused(cls: type[Message], data: bytes) -> None:
    try:
        message = cls.decode(data)
    except DecodeError:
        return
    raise AssertionError(f"{data!r} is accepted, as {message!r}")
