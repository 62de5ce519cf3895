"""API versions that releases of Kafka serve, and libraries that KIP-896 names."""

from __future__ import annotations

import pytest

import kafka_messages
from kipwire.traffic.upgrades import Client, client_of, find_unserved, line_of, releases, versions_served_by
from tests.support.versions_page import rows

NOBODY = Client(None, None, False)


def test_the_newest_release_serves_what_the_registry_says() -> None:
    served = {key: versions for key, versions in versions_served_by(releases()[-1]).items() if versions}
    assert served == kafka_messages.REGISTRY.api_versions()


def test_what_the_page_says_of_dropped_versions_is_what_is_not_served() -> None:
    table = [row for row in rows() if row.key]
    assert len(table) > 20
    for name, key, served, older, last in table:
        lowest, _, highest = older.partition("-")
        for version in range(int(lowest), int(highest or lowest) + 1):
            assert find_unserved(last, int(key), version, NOBODY) is None
            missing = find_unserved("4.4", int(key), version, NOBODY)
            if name in ("AlterIsr", "ListClientMetricsResources"):  # the same key has another name by now
                continue
            assert missing is not None
            assert missing.served == served


@pytest.mark.parametrize(
    ("line", "key", "version", "is_served"),
    [
        ("3.9", 0, 0, True),
        ("4.0", 0, 2, False),
        ("4.0", 0, 3, True),
        ("4.0", 1, 3, False),
        ("4.0", 2, 0, False),
        ("4.4", 3, 0, True),  # Metadata: KIP-896 keeps all versions
        ("4.4", 9, 1, True),
        ("3.0", 0, 13, False),  # newer than the release
        ("3.9", 4, 7, True),
        ("4.0", 4, 7, False),  # LeaderAndIsr went with ZooKeeper
        ("4.4", 18, 99, True),  # ApiVersions is answered in version 0 (KIP-511)
        ("4.4", 12345, 0, True),  # an unknown API
        ("2.2", 2, 5, True),  # ListOffset, as it was called then
        ("2.2", 43, 0, True),
    ],
)
def test_a_request_is_served_or_not(line: str, key: int, version: int, is_served: bool) -> None:
    assert (find_unserved(line, key, version, NOBODY) is None) == is_served


def test_a_release_is_known_by_its_line() -> None:
    assert line_of("4.0.1") == line_of("4.0") == "4.0"
    for text in ("4", "4.9", "2.1", "four", "4.0.x", "4.0.1.1", ""):
        with pytest.raises(ValueError, match=r"is not a known release of Kafka; use one from 2\.2 to 4\.4"):
            line_of(text)


@pytest.mark.parametrize(
    ("software", "client_id", "fix"),
    [
        (None, "kafka-python-1.3.5", "kafka-python 2.0.2?"),
        (None, "kafka-python-producer-1", "kafka-python 2.0.2?"),
        (None, "sarama", "Sarama 1.30.1?"),
        (None, "rdkafka", "librdkafka 1.8.2?"),
        (None, "kafkajs", "KafkaJS 1.15.0?"),
        (None, "consumer-1", "Java clients 2.1?"),
        (None, "my-app", ""),
        (None, None, ""),
        (("librdkafka", "1.6.1"), "my-app", "librdkafka 1.8.2"),
        (("confluent-kafka-python", "1.4.0-rdkafka-1.4.0"), "my-app", "librdkafka 1.8.2"),
        (("confluent-kafka-python", "2.16.1-rdkafka-2.16.0"), "my-app", "librdkafka 2.16.0 has newer versions"),
        (("kafka-python", "3.0.12"), "my-app", "kafka-python 3.0.12 has newer versions"),
        (("apache-kafka-java", "unknown"), "my-app", "Java clients 2.1"),
        (("mine", "1.0"), "sarama", ""),
        (None, "kafka-python-2.0.2", "kafka-python 2.0.2 has newer versions"),
    ],
)
def test_the_library_is_what_a_client_says_or_its_default_client_id(
    software: tuple[str, str] | None, client_id: str | None, fix: str
) -> None:
    missing = find_unserved("4.0", 0, 2, client_of(software, client_id))
    assert missing is not None
    assert missing.fix == fix


def test_nothing_is_said_of_fixes_that_the_kip_does_not_know() -> None:
    sarama = client_of(None, "sarama")
    for line, key, version in (("3.0", 0, 13), ("4.0", 4, 0)):
        missing = find_unserved(line, key, version, sarama)
        assert missing is not None
        assert missing.fix == ""
