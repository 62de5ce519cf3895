"""aiokafka on the classes of kipwire, against a real broker. For `make test-broker`."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.support.example_programs import example
from tests.support.live.real_broker import ADDRESS
from tests.support.subjects import aiokafka_features
from tests.support.subjects.aiokafka_features import FEATURES, OF_KAFKA_ALONE, forbidden_schemas, run

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    adapter = example("aiokafka_on_kipwire")
    adapter.install()
    yield
    adapter.uninstall()


@pytest.mark.parametrize("name", [*FEATURES, *OF_KAFKA_ALONE])
def test_a_feature_runs_without_a_schema_of_aiokafka(name: str) -> None:
    with forbidden_schemas() as used:
        run({**FEATURES, **OF_KAFKA_ALONE}[name], ADDRESS, f"{name}-{uuid4()}")
    assert used == []


def test_the_sticky_assignor_has_user_data_of_its_own() -> None:
    run(aiokafka_features.sticky_assignor, ADDRESS, f"sticky-{uuid4()}")
