"""Checks of the compiled kernel's batches against plain Python's; tests and the fuzzer run them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from kipwire import KipwireError
from kipwire.codec.checksums import crc32c
from kipwire.records import Record, RecordBatch
from kipwire.records.compression import COMPRESSIONS
from tests.support.native_checks import ODD, PYTHON, bind_all, content, content_of, without_kernel

_FACTS = [name for name in RecordBatch.__slots__ if name not in ("_decode", "_section", "_records", "_base_offset")]
_ATTRIBUTES = 21
_BASES = (0, 1, -1, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63), 2**63)
NUMBERS = ("base_offset", "last_offset_delta", "base_timestamp", "max_timestamp", "delete_horizon")
_OF_PRODUCER = ("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence")


def check_read(kernel: ModuleType, data: bytes, **options: Any) -> int:
    """Check that kernel and Python read the same batches, up to the same error. Return the number with records."""
    bind_all(kernel)
    with without_kernel():
        expected = list(_read(PYTHON["read_batches"], PYTHON["records_of_batch"], data, options))
    found = list(_read(kernel.read_batches, kernel.records_of_batch, data, options))
    assert found == expected, f"{data.hex()}\nkernel {found!r}\nPython {expected!r}"
    return sum(type(one[-1]) is list for one in expected)


def _read(
    read: Callable[..., Iterator[RecordBatch]],
    records: Callable[[RecordBatch], list[Record]],
    data: bytes,
    options: dict[str, Any],
) -> Iterator[list[Any]]:
    batches = _outcome(read, data, **options)
    while type(batch := _outcome(next, batches, None)) is RecordBatch:
        facts = [content(getattr(batch, name)) for name in _FACTS] if batch.magic == 2 else [batch.crc]
        found = _outcome(records, batch)
        yield [*facts, content_of(found) if type(found) is list else found]
    yield [batch]


def check_write(kernel: ModuleType, records: list[Record], arguments: dict[str, Any]) -> bytes | None:
    """Check that kernel and Python write the same batch, or raise the same error. Return the batch."""
    bind_all(kernel)
    before = content_of(records)
    with without_kernel():
        expected = _outcome(PYTHON["write_batch"], records, **arguments)
    found = _outcome(kernel.write_batch, records, **arguments)
    assert found == expected, f"{records!r}, {arguments!r}\nkernel {found!r}\nPython {expected!r}"
    assert content_of(records) == before
    return found if type(found) is bytes else None


def _outcome(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return the function's result, or its error: type and text of an error of kipwire, the type alone of any other."""
    try:
        return function(*arguments, **options)
    except KipwireError as error:
        return type(error), str(error)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        return type(error)


def random_arguments(records: list[Record], chance: random.Random) -> dict[str, Any]:
    """Return some arguments of `write_batch`, mostly ones that it accepts."""
    arguments: dict[str, Any] = {}
    if chance.random() < 0.3:
        arguments["compression"] = chance.choice(COMPRESSIONS)
    if chance.random() < 0.3:
        arguments["timestamp_type"] = chance.choice(("CreateTime", "LogAppendTime", "".join(["Create", "Time"])))
    if chance.random() < 0.3:
        arguments["base_offset"] = records[0].offset - chance.randrange(3) if records else 5
    if chance.random() < 0.3:
        arguments |= {"producer_id": 7, "producer_epoch": 3, "base_sequence": 9, "is_transactional": True}
    for name in ("is_control", "is_transactional"):
        if chance.random() < 0.1:
            arguments[name] = chance.choice((True, False, 1, None))
    for name in (*NUMBERS, *_OF_PRODUCER):
        if chance.random() < 0.1:
            arguments[name] = chance.choice((*_BASES, *ODD, chance.getrandbits(70), None))
    return arguments


def damaged_batch(batch: bytes, chance: random.Random) -> bytes:
    """Return a batch with some bytes changed; mostly its checksum is right."""
    data = bytearray(batch)
    for _ in range(chance.choice((0, 1, 1, 2))):
        data[chance.randrange(len(data))] = chance.choice((0, 1, 2, 127, 128, 255, chance.randrange(256)))
    if chance.random() < 0.1:
        data[0:8] = chance.choice((b"\x7f" + b"\xff" * 7, b"\x80" + bytes(7)))
    if chance.random() < 0.8:
        data[17:_ATTRIBUTES] = crc32c(bytes(data[_ATTRIBUTES:])).to_bytes(4, "big")
    return bytes(data) if chance.random() < 0.9 else bytes(data[: chance.randrange(len(data))])


def random_options(chance: random.Random) -> dict[str, Any]:
    """Return some arguments of `read_batches`."""
    options: dict[str, Any] = {}
    if chance.random() < 0.3:
        options["check_crcs"] = chance.choice((True, False))
    if chance.random() < 0.2:
        options["max_items"] = chance.choice((1, 2, 3, 10**9))
    if chance.random() < 0.2:
        options["max_decompressed_size"] = chance.choice((10, 10**9))
    return options
