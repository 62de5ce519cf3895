"""Our specs beside Kafka's own jars: no drift from the release they describe, and all of the drift from another one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kipgen.commands.drift.compare import compare, nodes
from kipgen.commands.drift.jars import read_release
from kipgen.commands.drift.write import message_text, write_missing
from kipgen.reading import check
from kipgen.reading.draft import Draft
from tests.support.kafka_jars import fetch_jars
from tests.support.places import ROOT

pytestmark = pytest.mark.maven

SPECS = ROOT / "schemas" / "kafka_messages"
ARTIFACTS = (
    "kafka-clients",
    "kafka-group-coordinator",
    "kafka-transaction-coordinator",
    "kafka-share-coordinator",
    "kafka-metadata",
    "kafka-raft",
    "kafka-server-common",
    "kafka-storage",
    "kafka-streams",
)
ONLY_IN_4_4 = {
    "AbortedTxn",
    "StreamsGroupTopologyDescriptionUpdateRequest",
    "StreamsGroupTopologyDescriptionUpdateResponse",
    "UnregisterControllerRecord",
    "UnregisterControllerRequest",
    "UnregisterControllerResponse",
}
VERSIONS_RAISED_IN_4_4 = {
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "DeleteGroupsRequest",
    "DeleteGroupsResponse",
    "StreamsGroupDescribeRequest",
    "StreamsGroupDescribeResponse",
    "StreamsGroupHeartbeatRequest",
    "StreamsGroupHeartbeatResponse",
    "TxnOffsetCommitRequest",
    "TxnOffsetCommitResponse",
}


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """The jars of two releases."""
    folder = tmp_path_factory.mktemp("jars")
    return {version: list(fetch_jars(folder, version, ARTIFACTS).values()) for version in ("4.4.0", "4.3.1")}


def drafts(folder: Path) -> dict[Path, Draft]:
    checked, problems = check.read_folder(folder)
    assert not [problem for problem in problems if problem.severity == "error"]
    return {Path(one.file): one.draft for one in checked if one.draft is not None}


def test_there_is_no_drift_from_4_4_0(jars: dict[str, list[Path]]) -> None:
    drift = compare(drafts(SPECS), read_release(jars["4.4.0"]))
    assert drift.differences == ()
    assert drift.messages == 287


def test_the_drift_from_4_3_1_is_what_4_4_0_brought(jars: dict[str, list[Path]]) -> None:
    drift = compare(drafts(SPECS), read_release(jars["4.3.1"]))
    assert len(drift.differences) == 45
    reported = {(one.message, one.path, one.fact) for one in drift.differences}
    assert {message for message, _, fact in reported if fact == "message"} == ONLY_IN_4_4
    assert {message for message, _, fact in reported if fact == "validVersions"} == VERSIONS_RAISED_IN_4_4
    others = {message for message, _, _ in reported} - ONLY_IN_4_4 - VERSIONS_RAISED_IN_4_4
    assert others == {"DescribeProducersRequest", "StreamsGroupMetadataValue"}
    assert [(one.message, one.path) for one in drift.differences if one.ours is None] == [
        ("TxnOffsetCommitRequest", "GenerationId"),
    ]
    assert ("DescribeProducersRequest", "Topics.Name", "mapKey") in reported
    assert ("StreamsGroupHeartbeatResponse", "", "order") in reported


def test_specs_of_4_3_1_become_those_of_4_4_0_by_writing(jars: dict[str, list[Path]], tmp_path: Path) -> None:
    for name, published in read_release(jars["4.3.1"]).messages.items():
        file = tmp_path / published.jar / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(message_text(nodes(published.draft)))
    release = read_release(jars["4.4.0"])
    assert not [outcome for outcome in write_missing(tmp_path, drafts(tmp_path), release.messages) if outcome.problems]
    left = compare(drafts(tmp_path), release).differences
    assert [(one.message, one.path, one.fact) for one in left] == [
        ("StreamsGroupHeartbeatResponse", "", "order"),
        ("TxnOffsetCommitRequest", "GenerationId", "field"),
    ]


def test_facts_taken_out_of_our_specs_come_back_in_our_layout(jars: dict[str, list[Path]], tmp_path: Path) -> None:
    folder = tmp_path / "kafka_messages"
    shutil.copytree(SPECS, folder)
    fetch = folder / "clients" / "FetchRequest.json"
    whole = fetch.read_text()
    for fact in (', "ignorable": true', ', "entityType": "topicName"', ', "default": "-1"'):
        assert fact in whole
        fetch.write_text(fetch.read_text().replace(fact, ""))
    (folder / "raft" / "QuorumStateData.json").unlink()
    release = read_release(jars["4.4.0"])
    assert len(compare(drafts(folder), release).differences) > 5
    outcomes = list(write_missing(folder, drafts(folder), release.messages))
    assert [outcome.file.name for outcome in outcomes] == ["FetchRequest.json", "QuorumStateData.json"]
    assert compare(drafts(folder), release).differences == ()
    assert fetch.read_text().count('"about"') == whole.count('"about"')
