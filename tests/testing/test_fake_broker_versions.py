"""The fake broker answers every version that it says it serves, and every fault in each."""

from __future__ import annotations

import json
import os
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.connection import versions_answer
from kipwire.testing.broker.apis import SERVED
from kipwire.testing.broker.apis.api import NoAnswer
from kipwire.testing.broker.interceptors import fail
from tests.support.kafka_jars import fetch_class_path
from tests.support.places import DATA, ROOT, SUPPORT
from tests.support.spec_package import generated
from tests.support.subjects.fake_broker_requests import (
    ALONE,
    GROUP,
    REGISTRY,
    TOPIC,
    TRANSACTIONAL_ID,
    ask,
    ask_newest,
    error_codes,
    examples,
    node,
    request,
)

FILE = DATA / "kafka_offered.json"
PAIRS = [(ApiKey(key), version) for key, versions in SERVED.items() for version in versions]
COMES_TOO_LATE = {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
"""On a connection without SASL."""
NEEDS_A_MEMBER = {ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP}
NEEDS_A_TRANSACTION = {
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
    ApiKey.DESCRIBE_TRANSACTIONS,
}


def ready_for(api: ApiKey) -> tuple[Any, dict[str, Any]]:
    """Return a node in which a request of an API succeeds, and its values."""
    made = node()
    values = dict(examples(made)[api])
    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    if api in NEEDS_A_MEMBER:
        joined = ask(made, request(ApiKey.JOIN_GROUP, 3, examples(made)[ApiKey.JOIN_GROUP]))
        values["member_id"] = joined.member_id
        values["members"] = [{**ALONE, "member_id": joined.member_id}]
        if api != ApiKey.SYNC_GROUP:
            sync = {
                **values,
                **protocol,
                "generation_id": 1,
                "assignments": [{"member_id": joined.member_id, "assignment": b"a"}],
            }
            ask_newest(made, ApiKey.SYNC_GROUP, sync)
        else:
            values |= protocol
            values["assignments"] = [{"member_id": joined.member_id, "assignment": b"a"}]
    if api in NEEDS_A_TRANSACTION:
        begun = ask_newest(made, ApiKey.INIT_PRODUCER_ID, examples(made)[ApiKey.INIT_PRODUCER_ID])
        producer = {"transactional_id": TRANSACTIONAL_ID, "producer_id": begun.producer_id, "producer_epoch": 0}
        if api in (ApiKey.END_TXN, ApiKey.TXN_OFFSET_COMMIT):
            ask_newest(made, ApiKey.ADD_OFFSETS_TO_TXN, {**producer, "group_id": GROUP})
    if api in (
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.DELETE_GROUPS,
        ApiKey.OFFSET_FETCH,
        ApiKey.LIST_GROUPS,
        ApiKey.OFFSET_DELETE,
    ):
        ask_newest(made, ApiKey.OFFSET_COMMIT, examples(made)[ApiKey.OFFSET_COMMIT])
    if api == ApiKey.CONSUMER_GROUP_DESCRIBE:
        ask_newest(made, ApiKey.CONSUMER_GROUP_HEARTBEAT, examples(made)[ApiKey.CONSUMER_GROUP_HEARTBEAT])
    return made, values


@pytest.mark.parametrize("api", sorted({api for api, _ in PAIRS}), ids=lambda api: api.name)
def test_every_served_version_is_answered(api: ApiKey) -> None:
    for version in SERVED[api]:
        made, values = ready_for(api)
        found = ask(made, request(api, version, values))
        takes_id_first = api == ApiKey.JOIN_GROUP and version >= 4
        usual = ErrorCode.ILLEGAL_SASL_STATE if api in COMES_TOO_LATE else ErrorCode.NONE
        assert set(error_codes(found)) <= {ErrorCode.MEMBER_ID_REQUIRED if takes_id_first else usual}, version


@pytest.mark.parametrize("api", sorted({api for api, _ in PAIRS}), ids=lambda api: api.name)
def test_every_served_version_can_fail(api: ApiKey) -> None:
    for version in SERVED[api]:
        made, values = ready_for(api)
        before = repr([(one.partition(0).end_offset, one.configs) for one in made.topics.by_name.values()])
        found = ask(made, request(api, version, values), partial(fail, ErrorCode.UNKNOWN_SERVER_ERROR))
        if (api, version) == (ApiKey.OFFSET_FETCH, 1):
            assert [one.error_code for one in found.topics[0].partitions] == [-1, -1]
        assert ErrorCode.UNKNOWN_SERVER_ERROR in error_codes(found), version
        assert set(error_codes(found)) <= {0, ErrorCode.UNKNOWN_SERVER_ERROR}
        assert before == repr([(one.partition(0).end_offset, one.configs) for one in made.topics.by_name.values()])


def test_the_newest_version_of_each_api_is_kafkas_except_where_it_needs_more_than_is_served() -> None:
    kafka = REGISTRY.api_versions()
    fewer = {ApiKey(key).name: versions for key, versions in SERVED.items() if versions != kafka[key]}
    assert fewer == {"INIT_PRODUCER_ID": range(6), "SASL_HANDSHAKE": range(1, 2)}


OFFERED: dict[int, list[int]] = {int(key): ends for key, ends in json.loads(FILE.read_text())["offered"].items()}
"""The lowest and highest version of each API in Kafka's answer to ApiVersions, by key; Kafka's jars are compared."""
OFFERED_OTHERWISE = {
    ApiKey.SASL_HANDSHAKE: [1, 1],  # after version 0 tokens come without headers, which are not served
}
"""The versions that the fake broker lists unlike Kafka."""
OF_THE_PACKAGE = {
    ApiKey.INIT_PRODUCER_ID: [0, 6],  # a broker lists 6, which is not stable, only if it is told so
}
"""The versions that `versions_answer` lists unlike Kafka, if all of the package are served."""


def offered(answer: Any) -> dict[int, list[int]]:
    return {row.api_key: [row.min_version, row.max_version] for row in answer.api_keys}


@pytest.mark.parametrize("version", [0, 1, 2, 3, 5])
def test_the_versions_that_are_listed_are_those_that_kafka_lists(version: int) -> None:
    found = offered(ask(node(), request(ApiKey.API_VERSIONS, version, {})))
    assert found == {key: ends for key, ends in OFFERED.items() if key in SERVED} | OFFERED_OTHERWISE


def test_the_versions_of_the_whole_package_are_those_that_kafka_lists() -> None:
    """A package also has the APIs between brokers and controllers, which a broker's clients do not see."""
    found = offered(versions_answer(REGISTRY, 5))
    assert {key: ends for key, ends in found.items() if key in OFFERED} == OFFERED | OF_THE_PACKAGE


def test_every_version_that_is_listed_is_served_but_those_that_kafka_does_not_serve_either() -> None:
    listed = offered(ask(node(), request(ApiKey.API_VERSIONS, 5, {})))
    refused = {key: set(range(low, high + 1)) - set(SERVED[key]) for key, (low, high) in listed.items()}
    assert {key: versions for key, versions in refused.items() if versions} == {ApiKey.PRODUCE: {0, 1, 2}}
    raised = node()
    raised.served[ApiKey.PRODUCE] = range(5, 9)  # a test that serves no low ones wants a client to see that
    assert offered(ask(raised, request(ApiKey.API_VERSIONS, 5, {})))[ApiKey.PRODUCE] == [5, 8]


def test_an_api_of_another_package_with_the_key_of_produce_is_listed_as_it_is_served(tmp_path: Path) -> None:
    file = (DATA / "cases" / "vendor-api" / "ListLanesRequest.json").read_text()
    specs = tmp_path / "specs"
    specs.mkdir()
    for kind in ("Request", "Response"):
        text = file.replace('"request"', f'"{kind.lower()}"').replace("Request", kind)
        text = text.replace("15001", "0").replace('"validVersions": "0"', '"validVersions": "1-2"')
        (specs / f"ListLanes{kind}.json").write_text(text)
    for name in ("ApiVersionsRequest.json", "ApiVersionsResponse.json"):
        text = (ROOT / "schemas" / "kafka_messages" / "clients" / name).read_text()
        (specs / name).write_text(re.sub(r'"enum": "\w+", |, "enum": "\w+"', "", text))
    with generated(specs, "lanes_of_versions", tmp_path) as package:
        assert offered(versions_answer(package.REGISTRY, 4))[0] == [1, 2]


@pytest.mark.maven
def test_kafkas_jars_list_the_same_versions(tmp_path: Path) -> None:
    release = json.loads(FILE.read_text())["release"]
    path = os.pathsep.join(map(str, fetch_class_path(tmp_path, release, ["kafka-clients"])))
    command = ["java", "-cp", path, str(SUPPORT / "java" / "OfferedVersions.java")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert {key: ends for key, *ends in rows} == OFFERED


@pytest.mark.parametrize("acks", [0, 1])
def test_what_is_not_served_closes_the_connection_as_in_kafka(acks: int) -> None:
    made = node()
    made.served[ApiKey.PRODUCE] = range(3, 8)
    values = {**examples(made)[ApiKey.PRODUCE], "acks": acks}
    asked = [request(ApiKey.PRODUCE, version, values) for version in (2, 9)]
    for one in (*asked, request(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, {"group_id": GROUP})):
        with pytest.raises(NoAnswer, match=f"does not serve {one.api_key} .* in version {one.api_version};"):
            ask(made, one)
    assert made.topics.named(TOPIC).partition(1).end_offset == 0
