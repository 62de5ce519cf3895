"""kipwire offsets --brokers: what it prints of groups at fake brokers, and its exit status."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import Consumer

from kafka_messages.enums import ApiKey, ErrorCode
from kafka_messages.list_groups_request.v5 import ListGroupsRequest
from kafka_messages.list_groups_response.v5 import ListedGroup
from kafka_messages.metadata_request.v13 import MetadataRequest
from kipwire.cli import text_tables
from kipwire.records.compression import Compression
from kipwire.testing import FakeBroker
from tests.console.offsets.conftest import TIME, Offsets, committed, lines_of
from tests.support.subjects.exposition import samples
from tests.support.subjects.scripted_broker import unused_address

CODECS: tuple[Compression, ...] = ("none", "gzip", "snappy", "lz4", "zstd")


def of(broker: FakeBroker, *arguments: object) -> list[object]:
    return ["--brokers", broker.bootstrap_servers, *arguments]


def partitions(offsets: Offsets, broker: FakeBroker, *arguments: object) -> dict[tuple[str, str, int], dict[str, Any]]:
    done = offsets(*of(broker, "--format", "json", *arguments))
    assert (done.returncode, done.stderr) == (0, "")
    return {(one["group"], one["topic"], one["partition"]): one for one in lines_of(done, "partition")}


def test_totals_come_first_and_the_groups_that_are_behind(broker: FakeBroker, offsets: Offsets) -> None:
    done = offsets(*of(broker))
    assert (done.returncode, done.stderr) == (0, "")
    heading, totals, without, groups, rows = done.stdout.split("\n\n")
    assert heading.startswith(f"Consumer groups at {broker.bootstrap_servers}, 20")
    assert totals.splitlines()[1].startswith("behind                  1  1 partition, 3 records, up to ")
    assert without.splitlines()[2].startswith("billing  orders           1    3  ")
    assert groups.splitlines()[2].startswith("billing  classic  Empty        0           2    3  ")
    assert [line.split()[:5] for line in rows.splitlines()[2:]] == [
        ["billing", "orders/0", "1", "4", "3"],
        ["billing", "orders/1", "4", "4", "0"],
    ]


def test_json_has_all_that_is_known(broker: FakeBroker, offsets: Offsets) -> None:
    found = partitions(offsets, broker)
    one = found["billing", "orders", 0]
    assert (one["offset"], one["start_offset"], one["end_offset"], one["lag"]) == (1, 0, 4, 3)
    done = offsets(*of(broker, "-f", "json"))
    (totals,) = lines_of(done, "totals")
    (row,) = [one for one in lines_of(done, "partition") if one["partition"] == 0]
    assert row["lag_seconds"] == pytest.approx(totals["as_of"] - (TIME + 1000) / 1000, abs=0.001)
    assert totals["behind"] == {"groups": 1, "partitions": 1}
    (group,) = lines_of(done, "group")
    assert group == {"type": "group", "group": "billing", "kind": "classic", "state": "Empty", "lag": 3, "members": []}


def test_lag_in_seconds_finds_the_record_wherever_it_is(broker: FakeBroker, offsets: Offsets) -> None:
    for number, codec in enumerate(CODECS):
        broker.append("paid", b"%d" % number, timestamp=TIME + number, compression=codec)
    for number in range(6):
        committed(broker, f"g{number}", {("paid", 0): number})
    done = offsets(*of(broker, "-f", "json", "--topic", "paid"))
    (totals,) = lines_of(done, "totals")
    times = {one["group"]: round((totals["as_of"] - one["lag_seconds"]) * 1000) for one in lines_of(done, "partition")}
    assert {name: time for name, time in times.items() if name != "g5"} == {f"g{n}": TIME + n for n in range(5)}
    assert lines_of(done, "partition")[-1]["lag_seconds"] == 0
    without = partitions(offsets, broker, "--no-seconds")
    assert without["g0", "paid", 0]["lag_seconds"] is None
    assert without["g5", "paid", 0]["lag_seconds"] == 0


def test_prometheus_format_has_the_names_of_known_exporters(broker: FakeBroker, offsets: Offsets) -> None:
    done = offsets(*of(broker, "-f", "prometheus"))
    found = samples(done.stdout)
    labels = frozenset({("consumergroup", "billing"), ("topic", "orders"), ("partition", "0")})
    assert found["kafka_consumergroup_lag", labels] == 3
    assert found["kafka_consumergroup_current_offset", labels] == 1
    assert found["kafka_topic_partition_current_offset", frozenset({("topic", "orders"), ("partition", "0")})] == 4
    assert found["kipwire_offsets_problems", frozenset()] == 0


def test_groups_and_topics_are_chosen_by_patterns(broker: FakeBroker, offsets: Offsets) -> None:
    committed(broker, "audit", {("paid", 0): 0, ("orders", 0): 0})
    assert {name for name, *_ in partitions(offsets, broker, "--group", "bil*")} == {"billing"}
    assert set(partitions(offsets, broker, "--topic", "pa?d")) == {("audit", "paid", 0)}
    both = ("--group", "billing", "--group", "audit", "--topic", "orders")
    assert {one[:2] for one in partitions(offsets, broker, *both)} == {("billing", "orders"), ("audit", "orders")}


def test_what_does_not_exist_is_an_error_with_what_there_is(broker: FakeBroker, offsets: Offsets) -> None:
    where = broker.bootstrap_servers
    for arguments, reason in (
        (("--group", "biling"), "no group biling; did you mean billing?"),
        (("--group", "x*"), "no group x*; there are billing"),
        (("--topic", "x"), "no group has offsets of x"),
        (("--topic", "order"), "no group has offsets of order; did you mean orders?"),
        (("--topic", "paid"), "no group has offsets of paid"),
        (("--group", "billing", "--topic", "x"), "no group named billing has offsets of x"),
    ):
        done = offsets(*of(broker, *arguments))
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"kipwire: {where}: {reason}\n")


def test_a_cluster_without_groups_is_no_error(offsets: Offsets) -> None:
    with FakeBroker(topics={"orders": 1}) as broker:
        done = offsets(*of(broker))
    assert (done.returncode, done.stderr) == (0, "")
    assert "groups                  0" in done.stdout


def test_members_are_those_who_read(broker: FakeBroker, offsets: Offsets) -> None:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "client.id": "reader", "auto.offset.reset": "earliest"}
    for protocol in ("classic", "consumer"):
        consumer = Consumer({**settings, "group.id": protocol, "group.protocol": protocol, "enable.auto.commit": False})
        consumer.subscribe(["orders"])
        assert consumer.poll(30) is not None
        found = partitions(offsets, broker, "--group", protocol)
        consumer.close()
        assert set(found) == {(protocol, "orders", 0), (protocol, "orders", 1)}
        for one in found.values():
            assert (one["kind"], one["offset"], one["lag"]) == (protocol, None, None)
            (reader,) = one["readers"]
            assert (reader["client_id"], reader["host"]) == ("reader", "127.0.0.1")


def test_old_brokers_are_asked_about_one_group_at_a_time(offsets: Offsets) -> None:
    versions = {ApiKey.OFFSET_FETCH: range(1, 8), ApiKey.LIST_GROUPS: range(3), ApiKey.DESCRIBE_GROUPS: range(1)}
    with FakeBroker(topics={"orders": 1}, versions=versions) as broker:
        broker.append("orders", b"x", timestamp=TIME)
        committed(broker, "one", {("orders", 0): 0})
        committed(broker, "two", {("orders", 0): 1})
        found = partitions(offsets, broker)
        assert len(broker.requests(ApiKey.OFFSET_FETCH)) == 2
    assert {name: one["lag"] for (name, *_), one in found.items()} == {"one": 1, "two": 0}


def test_each_broker_has_groups_and_partitions_of_its_own(offsets: Offsets) -> None:
    with FakeBroker(topics={"orders": 6}, nodes=3) as broker:
        for partition in range(6):
            broker.append("orders", b"x", partition=partition)
            committed(broker, f"g{partition}", {("orders", partition): 0})
        assert len({broker.coordinator(group=f"g{number}") for number in range(6)}) > 1
        found = partitions(offsets, broker)
    assert {(name, partition): one["lag"] for (name, _, partition), one in found.items()} == {
        (f"g{number}", number): 1 for number in range(6)
    }


@pytest.mark.parametrize("versions", [None, {ApiKey.OFFSET_FETCH: range(1, 8), ApiKey.FIND_COORDINATOR: range(3)}])
def test_a_group_is_asked_about_at_its_coordinator_wherever_it_is_listed(
    offsets: Offsets, versions: dict[int, range] | None
) -> None:
    names = [f"g{number}" for number in range(6)]

    async def all_of_them(request: Any, handle: Any) -> Any:
        response = await handle()
        response.groups = [ListedGroup(group_id=name, protocol_type="consumer") for name in names]
        return response

    async def none_of_them(request: Any, handle: Any) -> Any:
        response = await handle()
        response.groups = []
        return response

    with FakeBroker(topics={"orders": 1}, nodes=3, versions=versions) as broker:
        broker.append("orders", b"x")
        for name in names:
            committed(broker, name, {("orders", 0): 0})
        assert len({broker.coordinator(group=name) for name in names}) == 3
        for others in (all_of_them, none_of_them):
            broker.clear_faults()
            broker.intercept(ListGroupsRequest, all_of_them, node=1)
            for node in (2, 3):
                broker.intercept(ListGroupsRequest, others, node=node)
            found = partitions(offsets, broker)
            assert {name: one["lag"] for (name, *_), one in found.items()} == dict.fromkeys(names, 1)
        broker.fail(ApiKey.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, times=None)
        done = offsets(*of(broker, "-f", "json"))
        elsewhere = [name for name in names if broker.coordinator(group=name) != 1]
    assert done.returncode == 1
    problems = lines_of(done, "problem")
    assert [one["where"] for one in problems] == [f"group {name}" for name in elsewhere]  # each is one problem
    assert all("15 COORDINATOR_NOT_AVAILABLE; try again" in one["reason"] for one in problems)
    assert {one["group"] for one in lines_of(done, "partition")} == set(names) - set(elsewhere)


def test_addresses_that_cannot_be_are_problems_of_their_brokers(offsets: Offsets) -> None:
    for host, port in (("127.0.0.1", 70_000), ("127.0.0.1", 2**31 - 1), ("a\0b", 9092), ("", 9092), ("a" * 64, 9092)):

        async def lie(request: Any, handle: Any, host: str = host, port: int = port) -> Any:
            response = await handle()
            response.brokers[1].host, response.brokers[1].port = host, port
            return response

        with FakeBroker(topics={"orders": 1}, nodes=2) as broker:
            broker.intercept(MetadataRequest, lie)
            done = offsets("--brokers", broker.bootstrap_servers.split(",")[0], "-f", "json")
        assert done.returncode == 1 and done.stderr == ""
        (problem,) = lines_of(done, "problem")
        assert problem["where"].startswith("node 2 at ") and problem["reason"].startswith(("invalid ", "the address "))


def test_any_broker_that_answers_will_do(broker: FakeBroker, offsets: Offsets) -> None:
    where = f"{unused_address()},{broker.bootstrap_servers}"
    assert offsets("--brokers", where).returncode == 0
    done = offsets("--brokers", f"{unused_address()},{unused_address()}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "connection refused" in done.stderr
    assert offsets("--brokers", "a b").stderr.endswith("localhost:9092 or [::1]:9092\n")


def test_what_passes_by_itself_is_asked_again(broker: FakeBroker, offsets: Offsets) -> None:
    broker.fail(ApiKey.LIST_OFFSETS, ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2)
    broker.fail(ApiKey.OFFSET_FETCH, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=1)
    assert partitions(offsets, broker)["billing", "orders", 0]["lag"] == 3


def test_what_stays_unknown_is_said_and_is_exit_status_1(broker: FakeBroker, offsets: Offsets) -> None:
    broker.fail(ApiKey.OFFSET_FETCH, ErrorCode.GROUP_AUTHORIZATION_FAILED, times=None)
    done = offsets(*of(broker))
    assert (done.returncode, done.stderr) == (1, "")
    line = "group billing: the coordinator returned 30 GROUP_AUTHORIZATION_FAILED"
    assert f"What could not be read\n{line}\n" in done.stdout
    done = offsets(*of(broker, "-f", "prometheus"))
    assert (done.returncode, done.stderr) == (1, f"kipwire: {line}\n")
    assert samples(done.stdout)["kipwire_offsets_problems", frozenset()] == 1
    broker.clear_faults()
    broker.fail(ApiKey.FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None)
    done = offsets(*of(broker, "-f", "json"))
    assert done.returncode == 1
    (problem,) = lines_of(done, "problem")
    assert problem["where"] == "records of orders"
    assert {one["lag"] for one in lines_of(done, "partition")} == {0, 3}


def test_a_broker_that_is_gone_is_one_line_and_the_others_are_shown(offsets: Offsets) -> None:
    with FakeBroker(topics={"orders": 2}, nodes=2) as broker:
        first, second = broker.bootstrap_servers.split(",")
        for partition in range(2):
            broker.append("orders", b"x", partition=partition)
        committed(broker, "billing", {("orders", 0): 0, ("orders", 1): 0})
        coordinator = broker.coordinator(group="billing")
        other = 3 - coordinator
        broker.disconnect(ApiKey.LIST_OFFSETS, node=other, times=None)
        done = offsets("--brokers", (first, second)[coordinator - 1], "-f", "json")
    assert done.returncode == 1
    (problem,) = lines_of(done, "problem")
    assert problem["where"] == f"node {other} at {(first, second)[other - 1]}"
    assert sorted(str(one["lag"]) for one in lines_of(done, "partition")) == ["1", "None"]


def test_a_second_look_says_who_stands_still(broker: FakeBroker, offsets: Offsets) -> None:
    done = offsets(*of(broker, "--stalled-after", "0.1"))
    assert done.returncode == 0
    assert "stalled                 1  1 partition\n" in done.stdout
    assert "\nStalled: records are unread, and the offset does not move\n" in done.stdout
    done = offsets(*of(broker, "--stalled-after", "0.1", "-f", "json"))
    assert {one["partition"]: one["stalled_seconds"] is not None for one in lines_of(done, "partition")} == {
        0: True,
        1: False,
    }


def test_a_deleted_topic_has_no_end_and_is_no_problem(broker: FakeBroker, offsets: Offsets) -> None:
    committed(broker, "billing", {("paid", 0): 0})
    broker.append("paid", b"x")
    broker.delete_topic("orders")
    found = partitions(offsets, broker)
    assert found["billing", "paid", 0]["lag"] == 1
    assert all(one["end_offset"] is None for (_, topic, _), one in found.items() if topic == "orders")


def test_a_terminal_of_80_columns_is_enough(offsets: Offsets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "is_terminal", lambda _: True)
    topic = "eu-west-1.payments.authorization.requested.v2"
    with FakeBroker(topics={topic: 2}) as broker:
        for partition in range(2):
            broker.append(topic, b"x", partition=partition)
        committed(broker, "payments-service-fraud-detection-blue-deployment", {(topic, 0): 0, (topic, 1): 0})
        monkeypatch.setattr("kipwire.console.offsets.report.get_terminal_size", lambda: type("", (), {"columns": 80}))
        shown = offsets(*of(broker)).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "payments-" in shown
    assert "d.v2/1  " in shown  # both ends of a name are left
    assert topic not in shown


def test_arguments_are_judged_before_anything_is_asked(offsets: Offsets) -> None:
    for arguments in (("--serve", "9308"), ("--serve", ":x"), ("--serve", ":70000"), ("--stalled-after", "0")):
        done = offsets("--brokers", "localhost:1", *arguments)
        assert done.returncode == 2
        assert "Error: Invalid value for" in done.stderr


def test_json_lines_are_objects_of_known_types(broker: FakeBroker, offsets: Offsets) -> None:
    lines = [json.loads(line) for line in offsets(*of(broker, "-f", "json")).stdout.splitlines()]
    assert [one["type"] for one in lines] == ["totals", "group", "partition", "partition"]


def test_without_brokers_it_is_the_job_on_log_folders(offsets: Offsets) -> None:
    shown = offsets("--help").stdout
    assert "--brokers" in shown and "kipwire offsets PATH --help has the options of that." in " ".join(shown.split())
    assert shown.splitlines()[:2] == [
        "Usage: kipwire offsets --brokers HOST:PORT[,...] [OPTIONS]",
        "       kipwire offsets [PATH]... [OPTIONS]",
    ]
    assert "[required]" not in shown
    job = offsets("folder", "--help").stdout
    assert "--brokers" not in job and "--html" in job
    assert "/folder: there is no such file or folder" in offsets("folder").stderr
    for option in ("--group=billing", "--no-seconds", "--tls"):
        done = offsets("folder", option)
        name = option.partition("=")[0]
        assert done.returncode == 2 and f"Error: {name} is for groups at brokers; add --brokers" in done.stderr
    assert "Error: No such option '--grop'." in offsets("--grop", "x").stderr
