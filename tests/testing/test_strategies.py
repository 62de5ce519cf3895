"""The strategies of `kipwire.testing` pass Hypothesis's health checks, and meet the ends of every range."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import kafka_messages
from kafka_messages.init_producer_id_request.v4 import InitProducerIdRequest
from kipwire.testing import messages
from tests.support.golden_data import every_message_and_version

CLASSES = every_message_and_version()

DEFAULT = settings(settings.get_profile("default"), max_examples=12, database=None, phases=[Phase.generate])
"""Hypothesis's own settings, with all health checks; other tests of this project leave some out.

Health is judged by the first ten examples.
"""


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.night) for part in range(1, 96))], ids="part-{}".format
)
def test_messages_of_every_class_pass_the_default_health_checks(part: int) -> None:
    for name, version in CLASSES[part::96]:

        @DEFAULT
        @given(messages(kafka_messages.message(name, version)))
        def test(_: object) -> None:
            pass

        try:
            test()
        except BaseException as error:
            error.add_note(f"{name} {version}")
            raise


FIRST_TEST = """
from hypothesis import given, settings
from kafka_messages.init_producer_id_request.v4 import InitProducerIdRequest
from kipwire.testing import messages

@settings(database=None)
@given(messages(InitProducerIdRequest))
def test(message):
    pass

test()
"""


def test_the_first_test_of_a_machine_does_not_ask_what_is_utf_8(tmp_path: Path) -> None:
    """Hypothesis tries all of Unicode for that, which takes a second, as long as its health check allows."""
    environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path)}
    subprocess.run([sys.executable, "-c", FIRST_TEST], check=True, timeout=120, env=environment)
    assert not [*tmp_path.rglob("codec*")]


def test_messages_meet_the_ends_of_ranges_and_long_values() -> None:
    numbers = set[int]()
    sizes = set[int]()
    character_sizes = set[int]()

    # Several in each example, as Hypothesis makes many examples by changing an earlier one. Of 50 examples none has a
    # long value in some runs: Hypothesis takes some values from the constants of the modules that are loaded.
    @settings(max_examples=150, derandomize=True, database=None)
    @given(st.lists(messages(InitProducerIdRequest), min_size=16, max_size=16))
    def collect(drawn: list[InitProducerIdRequest]) -> None:
        for message in drawn:
            text = message.transactional_id or ""
            numbers.add(message.producer_epoch)
            sizes.add(len(text.encode()))
            character_sizes.update(len(one.encode()) for one in text[:10])

    collect()
    assert {0, 2**15 - 1, -(2**15)} <= numbers
    assert len({1 << bit for bit in range(15)} & numbers) > 8
    assert {126, 127, 128, 129, 255, 256} & sizes
    assert max(sizes) >= 16383
    assert character_sizes == {1, 2, 3, 4}
