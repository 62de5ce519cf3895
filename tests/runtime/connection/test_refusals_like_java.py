"""Refusals are the same as by Kafka's own classes: `getErrorResponse` of 4.3.1 for each API and version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kafka_messages
from kipwire import Struct
from kipwire.connection import refusal
from tests.support import java_refusals
from tests.support.cases import of_each

OTHERWISE = {
    "DescribeLogDirsRequest": (1, 2),  # Java's have no code at all
    "DescribeUserScramCredentialsRequest": (0,),  # Java's rows do not name the users
    "ListPartitionReassignmentsRequest": (0,),  # Java's topics have partitions, as if these were reassigned
}
"""Messages and versions whose refusals differ from Java's."""
LINES = [(line["message"], line["version"], line["hex"], line["response"]) for line in java_refusals.recorded()]


def with_texts_of(ours: Struct, theirs: Struct) -> None:
    """Take over Java's texts, which are missing or just the text of the code in places; sort the rows of both alike."""
    for field in ours.ATTRIBUTES:
        mine, java = getattr(ours, field.name), getattr(theirs, field.name)
        if field.name == "error_message":
            setattr(ours, field.name, java)
        elif field.struct is not None and field.array and mine and java:
            if len(mine) == len(java):
                java.sort(key=named)
                mine.sort(key=named)
            for pair in zip(mine, java, strict=False):
                with_texts_of(*pair)


def named(row: Struct) -> str:
    """Return the key to sort rows by: Java keeps the rows of some APIs in maps, without an order."""
    return str([getattr(row, one.name) for one in row.ATTRIBUTES if one.name != "error_message"])


@of_each(
    "name, version, asked, response",
    LINES,
    together=lambda name, *_: name[:1],
    label=lambda name, version, *_: f"{name}-{version}",
)
def test_a_refusal_is_the_one_of_java(name: str, version: int, asked: str, response: str) -> None:
    cls: Any = kafka_messages.REGISTRY.message(name, version)
    ours = refusal(cls.decode(bytes.fromhex(asked)), java_refusals.CODE, java_refusals.TEXT)
    theirs = type(ours).decode(bytes.fromhex(response))
    with_texts_of(ours, theirs)
    assert (ours == theirs) is (version not in OTHERWISE.get(name, ())), (ours, theirs)
    assert ours != theirs or ours.encode() == theirs.encode()


def test_each_api_and_version_of_that_release_is_compared() -> None:
    assert len(LINES) > 300
    assert {name for name, *_ in LINES} >= set(OTHERWISE)


@pytest.mark.maven
def test_the_recorded_refusals_are_those_of_java(tmp_path: Path) -> None:
    assert java_refusals.printed(tmp_path) == java_refusals.recorded()
