"""The board of `kipwire offsets --grafana`: its queries ask for series that the exporter gives."""

from __future__ import annotations

import json
import re
from typing import Any

from kipwire.cluster import lag
from kipwire.cluster.metrics import health, metrics_of
from kipwire.cluster.model import First, Group, Kind, Look, Member
from kipwire.console.offsets.grafana import board
from kipwire.logs.names import Partition
from kipwire.testing import FakeBroker
from tests.console.offsets.conftest import Offsets
from tests.support.subjects.exposition import Sample, by_labels, samples

A, B, C = Partition("orders", 0), Partition("orders", 1), Partition("orders", 2)
_WORDS = {"sum", "max", "min", "count", "topk", "rate", "time", "vector", "by", "or", "label_values"}


def everything() -> dict[Sample, float]:
    """Return the samples of a cluster in which each metric has one."""
    reader = Member("m", "c", "/", frozenset((A, B, C)))
    group = Group("billing", Kind.CLASSIC, "Stable", (reader,), {A: 3, B: 9})
    share = Group("jobs", Kind.SHARE, "Stable", (), {A: 4}, {A: 6})
    starts, ends = {A: 5, B: 0, C: 0}, {A: 10, B: 9, C: 7}
    look = Look(90.0, (), (group, share), starts, ends, frozenset(), {A: {3: First(True, 20_000, 5)}}, ())
    rows = lag.rows_of(look)
    before = {("billing", A): lag.Stand(3, 10.0, 8)}
    stalled = lag.find_stalled(rows, before, look.time, 60)
    return samples(metrics_of(look, rows, stalled) + health(is_up=True, seconds=0.5))


def queries(of: dict[str, Any]) -> list[str]:
    found = [target["expr"] for panel in of["panels"] for target in panel["targets"]]
    return [*found, *(one["definition"] for one in of["templating"]["list"] if "definition" in one)]


def test_each_query_of_the_board_asks_for_series_and_labels_that_the_exporter_gives() -> None:
    labels: dict[str, set[str]] = {}
    for name, pairs in everything():
        labels.setdefault(name, set()).update(label for label, _ in pairs)
    asked = queries(board())
    assert len(asked) > 15
    for query in asked:
        names = [word for word in re.findall(r"\b[a-z_]+\b(?!\")", query) if word not in _WORDS]
        metrics = [name for name in names if name.startswith(("kafka_", "kipwire_"))]
        assert len(metrics) == 1 and metrics[0] in labels, query
        used = {name for name in names if name not in metrics and f"${name}" not in query.replace(f'"${name}"', "")}
        assert used - {"s", "__rate_interval"} <= labels[metrics[0]], query
    legends = {
        (target["expr"], label)
        for panel in board()["panels"]
        for target in panel["targets"]
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
    }
    for query, label in legends:  # a legend can only have labels that the sum keeps
        assert label in (re.findall(r"by \(([^)]*)\)", query) or [""])[0].split(", "), query


def test_panels_have_places_of_their_own() -> None:
    found = board()
    places = [panel["gridPos"] for panel in found["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert {x for x, _ in cells} == set(range(24))
    assert len({panel["id"] for panel in found["panels"]}) == len(places)


def test_sums_are_of_partitions_with_offsets_and_missing_if_one_is_not_known() -> None:
    found = everything()
    labels = ("consumergroup", "topic")
    assert by_labels(found, "kafka_consumergroup_lag_sum", labels) == {("billing", "orders"): 7}
    assert by_labels(found, "kafka_consumergroup_current_offset_sum", labels) == {("billing", "orders"): 12}
    assert by_labels(found, "kipwire_consumergroup_unread_sum", labels) == {("billing", "orders"): 5}
    group = Group("g", Kind.CLASSIC, "Empty", (), {A: 3, B: 1})
    look = Look(9.0, (), (group,), {}, {A: 10}, frozenset(), {}, ())
    text = metrics_of(look, lag.rows_of(look), ())
    assert "lag_sum{" not in text
    assert 'current_offset_sum{consumergroup="g",topic="orders"} 4' in text


def test_the_command_prints_the_board_and_needs_no_broker(offsets: Offsets) -> None:
    done = offsets("--grafana")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == board()
    done = offsets("--grafana", "--brokers", "localhost:1")
    assert (done.returncode, done.stderr[:50]) == (2, "kipwire: --grafana cannot be used with --brokers; ")


def test_topics_without_groups_have_ends_if_asked_for(offsets: Offsets) -> None:
    with FakeBroker(topics={"orders": 2, "idle": 1}) as broker:
        at = broker.bootstrap_servers
        assert "topic=" not in offsets("--brokers", at, "-f", "prometheus").stdout
        text = offsets("--brokers", at, "-f", "prometheus", "--all-topics", "--topic", "i*").stdout
        assert 'kafka_topic_partition_current_offset{topic="idle",partition="0"} 0' in text
        assert 'kafka_topic_partition_oldest_offset{topic="idle",partition="0"} 0' in text
        assert "orders" not in text
        assert text.count("orders") < offsets("--brokers", at, "-f", "prometheus", "--all-topics").stdout.count(
            "orders"
        )
        done = offsets("--brokers", at, "--all-topics")
        assert (done.returncode, done.stderr[:50]) == (2, "kipwire: --all-topics needs --serve or -f promethe")
