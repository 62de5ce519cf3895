"""Chosen fields of golden and of damaged messages: strict decoding's verdict, its values and its bytes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

import kafka_messages
from kipwire import DecodeError, Message
from kipwire.projection import Projection, python_engine
from kipwire.projection.paths import steps_to
from tests.runtime.golden.test_golden_negative import INVALID, VALID, label, message_of
from tests.support import golden_data
from tests.support.cases import of_each
from tests.support.native_checks import content
from tests.support.projection_checks import some_paths


def paths_of(cls: type[Message], line: dict[str, Any]) -> Sequence[str]:
    return some_paths(cls, random.Random(line["hex"])) if cls.ATTRIBUTES else ()


@of_each("line", INVALID, together=message_of, label=label)
def test_projections_refuse_what_decode_refuses_with_the_same_error(line: dict[str, Any]) -> None:
    cls, data = kafka_messages.message(line["message"], line["version"]), bytes.fromhex(line["hex"])
    with pytest.raises(DecodeError) as expected:
        cls.decode(data)
    projection = Projection(cls, *paths_of(cls, line))
    values = (None,) * len(projection.paths)
    for call in (lambda: projection.decode(data), lambda: projection.replace(data, values)):
        with pytest.raises(DecodeError) as caught:
            call()
        assert caught.value.args == expected.value.args


@of_each("line", VALID, together=message_of, label=label)
def test_projections_accept_what_decode_accepts_with_the_same_values(line: dict[str, Any]) -> None:
    cls = kafka_messages.message(line["message"], line["version"])
    check_accepted(cls, bytes.fromhex(line["hex"]), paths_of(cls, line))


@pytest.mark.parametrize("origin", golden_data.ORIGINS)
def test_projections_of_golden_messages_have_their_values(origin: str) -> None:
    for line in golden_data.lines(origin):
        cls = kafka_messages.message(line["message"], line["version"])
        check_accepted(cls, bytes.fromhex(line["hex"]), paths_of(cls, line))


def check_accepted(cls: type[Message], data: bytes, paths: Sequence[str]) -> None:
    projection, message = Projection(cls, *paths), cls.decode(data)
    values = projection.decode(data)
    assert content(values) == content(python_engine.values_of(message, [steps_to(cls, path) for path in paths]))
    assert projection.replace(data, values) == message.encode()
