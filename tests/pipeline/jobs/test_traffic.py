"""Requests and responses of captures: who sends what, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kipjobs.engines import Session, functions_of
from kipjobs.jobs import traffic
from kipjobs.jobs.traffic.command import traffic_report
from kipjobs.report.metrics import exposition
from tests.support.command_line import call
from tests.support.places import DATA
from tests.support.subjects.exposition import samples
from tests.support.subjects.spark_tables import CAPTURE, rows

pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_traffic_pairs_every_response_with_its_request(session: Session) -> None:
    frames = session.read.format("kafka_frames").load(str(CAPTURE)).persist()
    sf = functions_of(frames)
    found = traffic.inspect_all(frames).persist()
    paired = traffic.exchanges(found).persist()
    totals = paired.agg(
        sf.count("*").alias("requests"),
        sf.count("response_bytes").alias("responses"),
        (sf.sum("request_bytes") + sf.sum("response_bytes")).alias("bytes"),
        sf.min("latency_ms").alias("fastest"),
    )
    (total,) = rows(totals)
    assert (total["requests"], total["responses"]) == (1094, 1092)
    assert total["bytes"] == rows(frames.agg(sf.sum(sf.bytes_of("frame")).alias("bytes")))[0]["bytes"]
    assert total["fastest"] > 0
    assert rows(traffic.errors(found)) == []
    clients = {(row["client_id"], row["software"]) for row in rows(traffic.by_client(paired))}
    assert ("kp-cons-1", "kafka-python 3.0.12") in clients
    aborted = [
        row for row in rows(traffic.error_codes(paired)) if row["code"] == 51 and row["api"] == "AddOffsetsToTxn"
    ]
    assert [row["responses"] for row in aborted] == [6]
    assert {row["error"] for row in aborted} == {"CONCURRENT_TRANSACTIONS"}
    assert {row["code"] for row in rows(traffic.error_codes(paired)) if row["error"] is None} == set()


def test_traffic_names_the_clients_that_an_upgrade_breaks_as_tap_does(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = traffic_report(session, (str(DATA / "clients"),), release="4.0")
    (table,) = [table for table in report.tables if table.name == "unserved"]
    keys = ("client_id", "api", "api_version", "requests", "served", "fix")
    found = {tuple(row[key] for key in keys) for row in rows(table.frame)}
    arguments = ("tap", DATA / "clients", "--upgrade-to", "4.0", "-f", "json")
    done = call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert found == {tuple(one[key] for key in keys) for one in json.loads(done.stdout)["unserved"]}
    assert ("sarama", "Fetch", 0, 13, "4-17", "Sarama 1.30.1?") in found
    values = samples(exposition(report.metrics))
    assert {name for name, _ in values} == {
        f"kipwire_{one}" for one in ("unserved_requests", "read_requests", "read_clients")
    }
    unserved = {labels: value for (name, labels), value in values.items() if name == "kipwire_unserved_requests"}
    assert len(unserved) == len(found)
    assert sum(unserved.values()) == sum(row[3] for row in found)
    labels = list(map(dict, unserved))
    assert {(one["client_id"], one["fix"], one["release"]) for one in labels} == {
        (row[0], row[5], "4.0") for row in found
    }
