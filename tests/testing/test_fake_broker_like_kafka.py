"""The fake broker answers requests as Kafka 4.4.0 has answered them, except where docs/testing.md says otherwise."""

from __future__ import annotations

import pytest

from tests.support.broker_cases import recorded
from tests.support.places import ROOT

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def test_every_answer_is_kafkas_or_an_accepted_difference() -> None:
    kafka, fake = recorded.read(), recorded.fake_answers()
    accepted = [case for cases in recorded.ACCEPTED.values() for case in cases]
    differing = recorded.differing(fake, kafka)
    new = {case: (fake.get(case), kafka.get(case)) for case in differing if case not in accepted}
    assert new == {}, "the fake broker answers otherwise than Kafka"
    assert set(accepted) - set(differing) == set(), "these differences are gone: take them out of ACCEPTED"
    assert len(kafka) > 350


def test_the_page_about_the_fake_broker_says_every_accepted_difference() -> None:
    page = " ".join((ROOT / "docs" / "testing.md").read_text().split())
    assert [reason for reason in recorded.ACCEPTED if reason not in page] == []
