"""Run a kernel that was built with sanitizers on objects that do harm.

    python -m tests.fuzz.fuzz_objects FOLDER --target hostile-objects [--seconds 60] [--seed 0]

See fuzzing.py.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from kipwire import KipwireError, Message, Struct
from kipwire.records import Record
from kipwire.testing import same_message
from tests.fuzz import fuzzing
from tests.support import native_checks
from tests.support.defaults import of_defaults

# Objects with side effects. Each is given the message, and spoils it when its method is called.


def _act(message: Message, chance: random.Random) -> None:
    """Change the message while it is being written."""
    native_checks.spoil(message, chance)


def _subclass(base: type, method: str, message: Message, value: Any, seed: int) -> Any:
    """Return a value of a subclass one of whose methods changes the message, and then does what it always does."""
    is_busy = False

    def do(self: Any, *arguments: Any) -> Any:
        nonlocal is_busy
        if not is_busy:  # the change may use this very object
            is_busy = True
            with suppress(Exception):
                _act(message, random.Random(seed))
            is_busy = False
        return getattr(base, method)(self, *arguments)

    return type("Hostile", (base,), {method: do})(value)


_METHODS: tuple[tuple[type, tuple[str, ...], Any], ...] = (
    (int, ("__index__", "__int__", "__bool__", "__eq__", "__hash__", "__lshift__"), 5),
    (str, ("encode", "__len__", "__eq__", "__hash__"), "text"),
    (bytes, ("__len__", "__bytes__", "__eq__", "__iter__"), b"bytes"),
    (bytearray, ("__len__", "__iter__", "__eq__"), b"bytes"),
    (list, ("__len__", "__iter__", "__getitem__", "__eq__", "__bool__"), [1, 2]),
    (dict, ("items", "__iter__", "__len__", "__getitem__", "keys", "__bool__"), {9: b"x"}),
    (float, ("__float__", "__eq__"), 1.5),
    (tuple, ("__len__", "__iter__", "__getitem__"), (1, 2)),
)


def harm(message: Message, chance: random.Random) -> None:
    """Put something hostile into a message, at any depth."""
    item = chance.choice(list(native_checks.structs_in(message)))
    names = [field.name for field in item.ATTRIBUTES] + ["_unknown_tagged_fields"] * item.FLEXIBLE
    if not names:
        return
    name, kind = chance.choice(names), chance.randrange(6)
    if kind == 0:
        base, methods, value = chance.choice(_METHODS)
        setattr(item, name, _subclass_or_value(base, chance.choice(methods), message, value, chance))
    elif kind == 1:
        base, methods, value = chance.choice(_METHODS)
        hostile = _subclass_or_value(base, chance.choice(methods), message, value, chance)
        with suppress(TypeError):  # it has no hash
            setattr(item, name, [hostile] if chance.random() < 0.7 else {hostile: b""})
    elif kind == 2:
        setattr(item, name, chance.choice([item, [item], [[item]], message, [message]]))  # itself
    elif kind == 3:
        setattr(item, name, object.__new__(type(item)))
    elif kind == 4:
        setattr(item, name, [object.__new__(chance.choice([type(one) for one in native_checks.structs_in(message)]))])
    else:
        with suppress(AttributeError):
            delattr(item, name)


def _subclass_or_value(base: type, method: str, message: Message, value: Any, chance: random.Random) -> Any:
    if not hasattr(base, method):
        return value
    try:
        return _subclass(base, method, message, value, chance.randrange(2**32))
    except TypeError:
        return value


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the content of a function's result, or the type and text of its error."""
    try:
        return native_checks.content(function(*arguments))
    except (KipwireError, AttributeError, TypeError, ValueError, OverflowError, RecursionError, RuntimeError) as error:
        return type(error), str(error)[:500]
    except IndexError as error:  # from a list that is cut short during iteration
        return type(error), str(error)


def hostile_objects(kernel: ModuleType, chance: random.Random) -> Iterator[None]:
    """Hostile objects in messages; subclasses with slots of others; callbacks of the collector during reading."""
    native_checks.bind_all(kernel)
    pool = fuzzing.seeds()
    layouts = fuzzing.layouts()
    gc.freeze()  # so that the collector visits new objects alone
    while True:
        cls, data = chance.choice(pool)
        if chance.random() < 0.3:
            cls = chance.choice(layouts)
            try:
                data = native_checks.PYTHON["encode"](fuzzing.filled(cls, chance))
            except KipwireError:  # a size exceeds the range of its form
                data = of_defaults(cls).encode()
        _check_written(kernel, cls, data, chance)
        if len(data) < 3000:
            if chance.random() < 0.3:
                _check_foreign_slots(kernel, cls, data, chance)
            _check_collected(kernel, cls, data, chance)
        yield


def _check_written(kernel: ModuleType, cls: type[Message], data: bytes, chance: random.Random) -> None:
    """Write or measure a message with hostile objects: both ways must have the same result, or refuse it alike."""
    seed, method = chance.randrange(2**32), chance.choice(("encode", "encoded_size"))
    found = []
    for function in (getattr(kernel, method), native_checks.PYTHON[method]):
        own = random.Random(seed)
        message = native_checks.PYTHON["decode"](cls, data)
        for _ in range(own.randint(1, 2)):
            with suppress(AttributeError, RecursionError):  # if the first harm prevents the second
                harm(message, own)
        found.append(outcome(function, message))
    assert found[0] == found[1], f"{cls.__module__} {data.hex()} seed {seed}\nkernel {found[0]}\nPython {found[1]}"


class _Large:
    __slots__ = tuple(f"slot_{number}" for number in range(40))


def _check_foreign_slots(kernel: ModuleType, cls: Any, data: bytes, chance: random.Random) -> None:
    """Decode into a subclass that has another class's slot under the name of one of its own."""
    if not cls.ATTRIBUTES:
        return
    name = chance.choice(cls.ATTRIBUTES).name
    others: list[Any] = [vars(_Large)[f"slot_{chance.randrange(40)}"], vars(Record)["headers"]]
    others += [one for one in vars(cls).values() if type(one) is type(others[0])]
    derived = type("Derived", (cls,), {"__slots__": (), name: chance.choice(others)})
    found = [outcome(function, derived, data) for function in (kernel.decode, native_checks.PYTHON["decode"])]
    assert str(found[0]) == str(found[1]), f"{cls.__module__} {name}: {found}"


def _check_collected(kernel: ModuleType, cls: Any, data: bytes, chance: random.Random) -> None:
    """Read a message while a callback of the collector looks at all objects: all must be whole, and may be changed."""
    seed = chance.randrange(2**32)
    changes = chance.random() < 0.5
    kernel.serves(cls)  # so that plans are not made meanwhile: Python itself shows tuples that are half made

    def look(phase: str, info: dict[str, int]) -> None:
        own = random.Random(seed)
        for one in gc.get_objects(generation=0):
            if type(one) is list or type(one) is tuple:
                with suppress(Exception):  # caused by earlier changes of this callback
                    repr(one[-1:])
            elif isinstance(one, Struct) and changes and type(one) is not Message:
                with suppress(Exception):
                    native_checks.spoil(one, own)  # type: ignore[arg-type]
        gc.collect(0) if phase == "stop" and changes else None

    with native_checks.alone(kernel), _collecting(look):
        try:
            found = kernel.decode(cls, data)
        except native_checks.GaveUpError:
            found = None
    if not changes:  # the look itself changes nothing but defaults of tagged structs
        assert found is not None and same_message(found, native_checks.PYTHON["decode"](cls, data))


@contextmanager
def _collecting(look: Callable[[str, dict[str, int]], None]) -> Iterator[None]:
    """Make the collector run as often as it can, and call `look` each time."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.callbacks.append(look)
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(look)


if __name__ == "__main__":
    fuzzing.run(__doc__, {"hostile-objects": hostile_objects})
