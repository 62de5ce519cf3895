"""Kafka still answers as it is recorded, and the fake broker as Kafka does. For `make test-broker`."""

from __future__ import annotations

import pytest

from tests.support.broker_cases import recorded

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]


def test_the_fake_broker_and_kafka_answer_the_same_requests_in_the_same_way() -> None:
    kafka, fake = recorded.kafka_answers(), recorded.fake_answers()
    assert recorded.differing(kafka, recorded.read()) == [], "python -m tests.support.broker_cases.recorded writes them"
    accepted = [case for cases in recorded.ACCEPTED.values() for case in cases]
    assert sorted(recorded.differing(fake, kafka)) == sorted(accepted)
