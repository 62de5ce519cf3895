"""Counts of kipwire tap: clients, APIs, latencies and errors; and the clients that an upgrade would break."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kipwire.tools.text import count_of
from kipwire.traffic import upgrades
from tests.console.tap.conftest import Tap
from tests.support.places import DATA, ROOT

Objects = Callable[..., list[dict[str, Any]]]
CAPTURE = ROOT / "examples" / "capture"
CLIENTS = DATA / "clients"


def test_a_summary_counts_every_exchange_once(objects: Objects) -> None:
    (summary,) = objects(CAPTURE, "--summary")
    every = objects(CAPTURE)
    for table in ("clients", "apis", "uses"):
        rows = summary[table]
        assert sum(row["requests"] for row in rows) == len(every)
        assert sum(row["request_bytes"] for row in rows) == sum(one["request_size"] for one in every)
        assert sum(row["response_bytes"] for row in rows) == sum(one["response_size"] or 0 for one in every)
        assert sum(row["with_errors"] for row in rows) == sum(bool(one["error_codes"]) for one in every)
    assert len(summary["uses"]) == len(
        {(row["client_id"], row["software_name"], row["api"], row["api_version"]) for row in summary["uses"]}
    )
    codes = Counter[tuple[str, str, str]]()
    for one in every:
        for code in one["error_codes"]:
            codes[one["api"], code["path"], code["error"]] += code["count"]
    assert {(row["api"], row["path"], row["error"]): row["fields"] for row in summary["error_codes"]} == codes


def test_quantiles_are_those_of_the_latencies(objects: Objects) -> None:
    (summary,) = objects(CAPTURE, "--summary")
    every = objects(CAPTURE)
    for row in summary["apis"]:
        latencies = sorted(
            one["latency_ns"]
            for one in every
            if (one["api"], one["api_version"]) == (row["api"], row["api_version"]) and one["latency_ns"] is not None
        )
        assert row["latency_highest_ns"] == latencies[-1]
        for share, name in ((0.5, "latency_p50_ns"), (0.99, "latency_p99_ns")):
            exact = latencies[min(-(-len(latencies) * int(share * 100) // 100), len(latencies)) - 1]
            assert row[name] == pytest.approx(exact, rel=0.026)


def test_libraries_are_those_that_connections_name(objects: Objects) -> None:
    (summary,) = objects(CAPTURE, "--summary")
    known = {row["client_id"]: row["software_name"] for row in summary["clients"]}
    assert known["adminclient-1"] == "apache-kafka-java"
    assert known["kp-txn"] == "kafka-python"
    assert known["broker-1-fetcher-0"] is None  # it sends no ApiVersions request


def test_tables_for_people_have_the_same(tap: Tap) -> None:
    done = tap(CAPTURE, "--summary")
    assert done.returncode == 0
    between = "from 2026-11-21T08:00:43.610159Z to 2026-11-21T08:01:43.948206Z"
    assert done.stdout.startswith(f"1,094 requests and 1,092 responses {between}\n\nclients\n")
    assert "'kp-txn'                         kafka-python 3.0.12 " in done.stdout
    assert "client   " in done.stdout and "addresses" not in done.stdout  # which kipwire's own captures do not have
    assert "more rows, which --format json has" in done.stdout


OLD = {
    "kafka-python-1.3.5": {("Fetch", 3, "4-18"), ("Produce", 2, "3-13")},
    "kafka-python-1.4.7": set(),
    "kafka-python-3.0.12": set(),
    "confluent-kafka-2.16.1": set(),
    "sarama-1.11.0": {("Fetch", 0, "4-18"), ("Produce", 0, "3-13"), ("ListOffsets", 0, "1-11")},
    "sarama-1.46.0": set(),
}
FIXES = {"kafka-python-1.3.5": "kafka-python 2.0.2?", "sarama-1.11.0": "Sarama 1.30.1?"}


@pytest.mark.parametrize("name", OLD)
def test_clients_that_an_upgrade_breaks_are_listed_with_what_they_send(objects: Objects, tap: Tap, name: str) -> None:
    file = CLIENTS / f"{name}.pcap.gz"
    (found,) = objects(file, "--upgrade-to", "4.4")
    assert {(one["api"], one["api_version"], one["served"]) for one in found["unserved"]} == OLD[name]
    assert {one["fix"] for one in found["unserved"]} == ({FIXES[name]} if OLD[name] else set())
    done = tap(file, "--upgrade-to", "4.4.0")
    assert done.returncode == bool(OLD[name])
    counts = Counter((one["api"], one["api_version"]) for one in objects(file))
    assert {(one["api"], one["api_version"]): one["requests"] for one in found["unserved"]} == {
        pair: counts[pair] for pair in counts if any(pair == one[:2] for one in OLD[name])
    }
    clients = count_of(len({one["client_id"] for one in objects(file)}), "client")
    said = f"Kafka 3.9 serves all {counts.total()} requests that were read, of {clients}\n"
    assert tap(file, "--upgrade-to", "3.9").stdout == said


def test_a_library_of_one_capture_is_not_that_of_another(objects: Objects) -> None:
    names = ("kafka-python-3.0.12", "confluent-kafka-2.16.1", "kafka-python-1.3.5", "sarama-1.11.0")
    (summary,) = objects(*(CLIENTS / f"{name}.pcap.gz" for name in names), "--summary")
    known = {one["client_id"]: (one["software_name"], one["software_version"]) for one in summary["clients"]}
    assert known["kafka-python-3.0.12"] == ("kafka-python", "3.0.12")
    assert known["rdkafka"] == ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0")
    assert known["kafka-python-1.3.5"] == known["sarama"] == (None, None)


def test_the_table_says_what_is_guessed(tap: Tap) -> None:
    assert tap(CLIENTS / "sarama-1.11.0.pcap.gz", "--upgrade-to", "4.0").stdout.splitlines() == [
        "Kafka 4.0 does not serve what 1 client sends",
        "client    library  addresses  sends           requests  4.0 serves  KIP-896 says",
        "'sarama'           127.0.0.1  Fetch v0              13        4-17  Sarama 1.30.1?",
        "'sarama'           127.0.0.1  Produce v0             5        3-12  Sarama 1.30.1?",
        "'sarama'           127.0.0.1  ListOffsets v0         2        1-10  Sarama 1.30.1?",
        "? the library is guessed by the client id",
        "34 requests of 1 client were read",
    ]


def test_without_a_library_the_table_names_those_of_the_kip(tap: Tap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrades, "LIBRARIES", ())
    said = tap(CLIENTS / "sarama-1.11.0.pcap.gz", "--upgrade-to", "4.0").stdout.splitlines()
    assert said[-2].startswith("KIP-896 names Java clients 2.1, librdkafka 1.8.2, KafkaJS 1.15.0, Sarama 1.30.1, ")
