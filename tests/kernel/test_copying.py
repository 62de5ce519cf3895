"""The floor that benchmarks compare decoding with: a copy that shares nothing with the message that can be changed."""

from __future__ import annotations

from typing import Any

import pytest

import kafka_messages
from benchmarks import bodies
from kafka_records.record_batch.v2 import RecordBatch
from kipwire import Message, Struct, native
from tests.support import native_checks

pytestmark = pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")
KERNEL: Any = native.kernel


def changeable(value: object) -> set[int]:
    """All structs, lists and dicts in a value, by identity."""
    if isinstance(value, Struct):
        slots = [slot for base in type(value).__mro__ for slot in getattr(base, "__slots__", ())]
        return {id(value)}.union(*(changeable(getattr(value, slot, None)) for slot in slots))
    if isinstance(value, list):
        return {id(value)}.union(*map(changeable, value))
    return {id(value)} if isinstance(value, dict) else set()


@pytest.mark.parametrize("sample", bodies.SAMPLES, ids=lambda sample: sample.file)
def test_a_copy_is_equal_and_made_of_its_own_objects(sample: bodies.Sample) -> None:
    message = kafka_messages.message(sample.name, sample.version).decode(sample.golden)
    copied = KERNEL.copy_of(message)
    assert native_checks.content(copied) == native_checks.content(message)
    assert copied.encode() == sample.golden
    assert len(changeable(copied)) == len(changeable(message))
    assert not changeable(copied) & changeable(message)


def hearts(**values: Any) -> Message:
    return kafka_messages.message("HeartbeatRequest", 4)(**values)


def test_what_decoding_does_not_make_is_not_copied() -> None:
    endless: list[Any] = []
    endless.append(endless)
    deleted = hearts()
    del deleted.member_id  # type: ignore[attr-defined]
    unknown = hearts()
    unknown.unknown_tagged_fields = {9: b"x"}  # type: ignore[attr-defined]
    wrong = [hearts(group_id=endless), hearts(group_id=object()), hearts(group_id="\udc80"), deleted, unknown]
    for one in (*wrong, RecordBatch()):
        with pytest.raises(KERNEL.NotServed):
            KERNEL.copy_of(one)
