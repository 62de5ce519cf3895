"""Every message in every version, with values, bytes and faults that nobody thought of."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

import kafka_messages
from kipwire import Message
from kipwire.testing import damaged, messages
from tests.support import golden_data, property_checks

PAIRS = golden_data.every_message_and_version()


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def cls(request: pytest.FixtureRequest) -> type[Message]:
    """One class after the other."""
    return kafka_messages.message(*request.param)


def test_messages_survive_bytes_json_and_copies(cls: type[Message]) -> None:
    def survives(message: Message) -> None:
        property_checks.check_round_trip(message)
        property_checks.check_unknown_tagged_fields(message)
        property_checks.check_json(message)
        property_checks.check_copies(message)

    property_checks.for_all(survives, messages(cls))


def test_every_truncation_is_refused_with_its_place(cls: type[Message]) -> None:
    property_checks.for_all(property_checks.check_truncations, messages(cls, long=False).map(property_checks.slim))


def test_damaged_and_random_bytes_are_refused_or_have_a_meaning(cls: type[Message]) -> None:
    def is_refused_or_has_a_meaning(faulty: list[bytes]) -> None:
        for data in faulty:
            property_checks.check_any_bytes(cls, data)

    encoded = messages(cls).map(lambda message: message.encode())
    faulty = encoded.flatmap(lambda data: st.lists(damaged(data), min_size=8, max_size=8))
    noise = st.lists(st.binary(max_size=64), min_size=8, max_size=8)
    property_checks.for_all(is_refused_or_has_a_meaning, st.builds(list.__add__, faulty, noise))
