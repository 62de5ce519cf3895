"""Run a kernel that was built with sanitizers on damaged bytes and odd values, beside the Python methods.

    python -m tests.fuzz.fuzz_native FOLDER --target messages|layouts|records [--seconds 60] [--seed 0]

See fuzzing.py.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from types import ModuleType

from kipwire import EncodeError, Message
from kipwire.description.fields import in_version
from kipwire.records import Record
from kipwire.records.model import header_key
from tests.fuzz import fuzzing
from tests.fuzz.fuzzing import load as load
from tests.fuzz.fuzzing import seeds as seeds
from tests.support import batch_checks, native_checks, projection_checks
from tests.support.defaults import of_defaults
from tests.support.size_damage import tampered


def messages(kernel: ModuleType, chance: random.Random) -> Iterator[None]:
    """Damage the bytes of messages of every class, and then their values."""
    pool = seeds()
    with native_checks.alone(kernel):
        while True:
            at = chance.randrange(len(pool))
            cls, data = pool[at]
            damaged = native_checks.damage(data, chance)
            message = native_checks.check_decode(kernel, cls, damaged)
            if cls.ATTRIBUTES and chance.random() < 0.3:
                _check_chosen(kernel, cls, data if message is None else damaged, damaged, chance)
            if message is None:
                message = cls.decode(data)
            native_checks.check_encode(kernel, message, usual=True)
            _check_converted(kernel, message, chance)
            if chance.random() < 0.1 and len(data) < 5000:
                pool[at] = cls, message.encode()  # go on from an accepted message
            _check_spoilt(kernel, message, chance)
            yield


def _check_converted(kernel: ModuleType, message: Message, chance: random.Random) -> None:
    version = chance.randint(message.MIN_VERSION, message.MAX_VERSION)
    native_checks.check_convert(kernel, message, in_version(type(message), version), usual=False)


def _check_chosen(kernel: ModuleType, cls: type[Message], data: bytes, damaged: bytes, chance: random.Random) -> None:
    """Read some fields of a message from whole and from damaged bytes, and replace them by other values."""
    paths = projection_checks.some_paths(cls, chance)
    projection_checks.check_read(kernel, cls, damaged, paths)
    values = projection_checks.check_read(kernel, cls, data, paths)
    assert values is not None
    projection_checks.check_replace(kernel, cls, data, paths, values, usual=False)
    projection_checks.check_replace(
        kernel, cls, damaged, paths, projection_checks.spoilt_values(values, chance), usual=False
    )


def layouts(kernel: ModuleType, chance: random.Random) -> Iterator[None]:
    """Layouts of every kind, from defaults and from values at and beyond the width of every size."""
    classes = fuzzing.layouts()
    defaults = {cls: of_defaults(cls) for cls in classes}
    with native_checks.alone(kernel):
        while True:
            cls = chance.choice(classes)
            message = defaults[cls] if chance.random() < 0.1 else fuzzing.filled(cls, chance)
            native_checks.check_encode(kernel, message, usual=True)
            try:
                data = native_checks.PYTHON["encode"](message)
            except EncodeError:  # a size exceeds the range of its form
                message, data = defaults[cls], defaults[cls].encode()
            assert native_checks.check_decode(kernel, cls, data) is not None
            for _ in range(3):
                damaged = tampered(cls, data, chance) if chance.random() < 0.7 else native_checks.damage(data, chance)
                found = native_checks.check_decode(kernel, cls, damaged)
                if found is not None:
                    native_checks.check_encode(kernel, found, usual=True)
            _check_spoilt(kernel, message, chance)
            yield


def _check_batch(kernel: ModuleType, some: list[Record], chance: random.Random) -> None:
    some.sort(key=lambda record: record.offset)
    batch = batch_checks.check_write(kernel, some, batch_checks.random_arguments(some, chance))
    if batch is not None:
        batches = [batch_checks.damaged_batch(batch, chance) for _ in range(chance.randrange(1, 4))]
        batch_checks.check_read(kernel, b"".join(batches), **batch_checks.random_options(chance))


def _check_spoilt(kernel: ModuleType, message: Message, chance: random.Random) -> None:
    for _ in range(3):
        spoilt = copy.deepcopy(message)
        native_checks.spoil(spoilt, chance)
        native_checks.check_encode(kernel, spoilt, usual=False)
        _check_converted(kernel, spoilt, chance)


def _any_headers(chance: random.Random) -> list[tuple[str, bytes | None]]:
    """Return some headers with keys of any bytes, which mostly are not UTF-8."""
    parts = (b"a", b"\x80", b"\xc3", b"\xa9", b"\xe2\x82", b"\xed\xa0", b"\xf0\x9f\x98", b"\xf4", chance.randbytes(3))
    keys = [b"".join(chance.choices(parts, k=chance.randrange(chance.choice((5, 100))))) for _ in range(2)]
    return [(header_key(key), b"value") for key in keys]


def records(kernel: ModuleType, chance: random.Random) -> Iterator[None]:
    """Read records from damaged bytes, and write records with odd values."""
    while True:
        some = [
            Record(
                offset=chance.randrange(1000),
                timestamp=chance.randrange(2 ** chance.randrange(1, 63)),
                key=chance.randbytes(chance.choice(fuzzing.EDGES) if chance.random() < 0.02 else chance.randrange(200)),
                value=chance.choice((None, b"value")),
                headers=[("key", None), ("\u00e9", b"value"), *_any_headers(chance)][: chance.randrange(5)],
            )
            for _ in range(chance.randrange(1, 4))
        ]
        data = native_checks.check_write_records(kernel, some, 0, 0)
        assert data is not None
        for _ in range(3):
            native_checks.check_read_records(kernel, native_checks.damage(data, chance), 0, 0)
            spoilt = copy.deepcopy(some)
            native_checks.spoil_records(spoilt, chance)
            native_checks.check_write_records(kernel, spoilt, 0, 0)
            batch_checks.check_write(kernel, spoilt, {})
        _check_batch(kernel, some, chance)
        yield


if __name__ == "__main__":
    fuzzing.run(__doc__, {"messages": messages, "layouts": layouts, "records": records})
