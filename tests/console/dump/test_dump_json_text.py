"""The JSON text of messages equals their JSON form as text, for every kind of field."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafka_messages
from kipwire.console.dump.contents import LONGEST_KEPT, remember
from kipwire.console.json_text import JsonText
from kipwire.logs.internal_topics import internal_record
from kipwire.records import read_segment
from kipwire.testing import messages
from tests.support.places import DATA

NAMES = (
    "GroupMetadataValue",
    "OffsetCommitValue",
    "PartitionRecord",
    "RegisterBrokerRecord",
    "ShareSnapshotValue",
    "TransactionLogValue",
    "ClientQuotaRecord",
    "UserScramCredentialRecord",
    "StreamsGroupTopologyValue",
)


@pytest.mark.parametrize("ascii", [True, False])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_the_text_of_a_message_is_that_of_its_json_form(ascii: bool, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    version = data.draw(st.sampled_from(kafka_messages.versions(name)))
    cls = kafka_messages.message(name, version)
    message = cls.decode(data.draw(messages(cls)).encode())
    text = JsonText(ascii=ascii).of(message)
    assert json.loads(text) == message.to_json()
    assert text == json.dumps(message.to_json(), ensure_ascii=ascii, separators=(",", ":"))


def test_the_text_of_what_kafka_stores_is_that_of_its_json_form() -> None:
    text = JsonText(ascii=False)
    seen = set()
    for file in sorted(DATA.glob("s*s/__*/*.log")):
        topic = file.parent.name.rpartition("-")[0]
        for batch in read_segment(file):
            for record in () if batch.is_control else batch.records:
                found = internal_record(topic, record)
                for message in (found.key, found.value):
                    if message is not None:
                        assert json.loads(text.of(message)) == message.to_json()
                        seen.add(message.NAME)
    assert len(seen) > 20


def test_only_texts_of_short_bytes_are_kept() -> None:
    """A log may have any number of long keys; a dump needs the same memory for all of them."""
    made: list[int] = []
    text = remember(lambda data: made.append(len(data)))
    for size in (LONGEST_KEPT, LONGEST_KEPT + 1):
        text(b"k" * size)
        text(b"k" * size)
    assert made == [LONGEST_KEPT, LONGEST_KEPT + 1, LONGEST_KEPT + 1]
