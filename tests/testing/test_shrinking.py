"""Failing examples of `kipwire.testing` become as small as they can, and are shown as constructors to paste."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import Phase, find, given, seed, settings

from kafka_messages.delete_topics_request.v4 import DeleteTopicsRequest
from kafka_messages.fetch_snapshot_request.v0 import FetchSnapshotRequest
from kafka_messages.init_producer_id_request.v4 import InitProducerIdRequest
from kafka_messages.metadata_request.v12 import MetadataRequest, MetadataRequestTopic
from kafka_messages.sasl_authenticate_request.v2 import SaslAuthenticateRequest
from kipwire.message.messages import Message
from kipwire.testing import messages

SMALLEST: dict[str, tuple[type[Message], Callable[..., object], Callable[..., int], int]] = {
    "structs": (MetadataRequest, lambda one: one.topics, len, 2),
    "strings": (DeleteTopicsRequest, lambda one: one.topic_names, len, 2),
    "text": (FetchSnapshotRequest, lambda one: one.cluster_id, len, 2),
    "long arrays": (DeleteTopicsRequest, lambda one: one.topic_names, len, 126),
}


@pytest.mark.parametrize("name", SMALLEST)
@pytest.mark.parametrize("number", range(3))
def test_examples_are_as_small_as_the_failure_needs(name: str, number: int) -> None:
    cls, value, size, needed = SMALLEST[name]
    small = settings(database=None, max_examples=2000, deadline=None, phases=(Phase.generate, Phase.shrink))
    found = find(messages(cls), lambda one: size(value(one) or ()) >= needed, settings=small, random=Random(number))
    assert size(value(found)) == needed


def _id(message: InitProducerIdRequest) -> int:
    return message.producer_id


def _text(message: InitProducerIdRequest) -> str:
    return message.transactional_id or ""


def _data(message: SaslAuthenticateRequest) -> bytes:
    return message.auth_bytes


BOUNDARIES: dict[str, tuple[type[Message], Callable[[Any], Any], Callable[[Any], bool], object]] = {
    "at least 1000": (InitProducerIdRequest, _id, lambda one: one >= 1000, 1000),
    "below -5": (InitProducerIdRequest, _id, lambda one: one < -5, -6),
    "three characters": (InitProducerIdRequest, _text, lambda one: len(one) >= 3, "000"),
    "a hundred characters": (InitProducerIdRequest, _text, lambda one: len(one) >= 100, "0" * 100),
    "no ASCII": (InitProducerIdRequest, _text, lambda one: not one.isascii(), "é"),
    "a thousand bytes": (SaslAuthenticateRequest, _data, lambda one: len(one) >= 1000, bytes(1000)),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_values_shrink_to_the_boundary_of_a_failure(name: str) -> None:
    cls, value, fails, smallest = BOUNDARIES[name]
    small = settings(database=None, max_examples=2000, deadline=None, phases=(Phase.generate, Phase.shrink))
    for number in range(2):
        found = find(messages(cls), lambda one: fails(value(one)), settings=small, random=Random(number))
        assert value(found) == smallest


def test_a_failing_example_is_a_constructor_to_paste() -> None:
    @seed(1)  # and without the blob, which hypothesis adds where it runs in CI
    @settings(database=None, deadline=None, phases=(Phase.generate, Phase.shrink), print_blob=False)
    @given(messages(MetadataRequest))
    def test(message: MetadataRequest) -> None:
        assert len(message.topics or ()) < 2

    with pytest.raises(AssertionError) as caught:
        test()
    text = "\n".join(caught.value.__notes__)
    start = text.index("message=") + len("message=")
    names = {"MetadataRequest": MetadataRequest, "MetadataRequestTopic": MetadataRequestTopic, "UUID": UUID}
    pasted = eval(text[start : text.rindex(")")].rstrip().rstrip(","), names)
    assert isinstance(pasted, MetadataRequest)
    assert pasted.topics is not None and len(pasted.topics) == 2
    assert "make(" not in text and "_repeated(" not in text
