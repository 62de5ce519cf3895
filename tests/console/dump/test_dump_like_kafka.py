"""kipwire dump shows what Kafka's own kafka-dump-log shows of the same files, row by row."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import DATA, ROOT

pytestmark = pytest.mark.maven

Objects = Callable[..., list[dict[str, Any]]]
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}
FILES = sorted([*DATA.glob("s*s/*/*.log"), *DATA.glob("s*s/*/*.checkpoint")])

_BATCH = re.compile(r"(\w+): (\S+)")
_RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) (?P<timestamp_type>\w+): (?P<timestamp>-?\d+) keySize: (?P<key_size>-?\d+) "
    r"valueSize: (?P<value_size>-?\d+) sequence: (?P<sequence>-?\d+) headerKeys: \[(?P<headers>.*?)\](?P<content>.*)",
    re.DOTALL,
)
_CONTROL = re.compile(
    r" ?endTxnMarker: (?P<type>\w+) coordinatorEpoch: (?P<epoch>\d+)| ?(?P<name>\w+):? (?P<value>\{.*)"
)
_NUMBERS = ("offset", "timestamp", "sequence", "key_size", "value_size")


@pytest.fixture(scope="module")
def of_kafka() -> dict[Path, list[str]]:
    """The lines of Kafka's tool, by file; one process for each decoder."""
    found: dict[Path, list[str]] = {}
    for topic in (*DECODERS, ""):
        files = [file for file in FILES if DECODERS.get(_topic(file), "") == DECODERS.get(topic, "")]
        command = ["bash", str(ROOT / "scripts/broker/broker.sh"), "tool", "org.apache.kafka.tools.DumpLogSegments"]
        command += ["--files", ",".join(map(str, files)), DECODERS.get(topic, "--print-data-log")]
        text = subprocess.run(command, capture_output=True, check=True, timeout=300).stdout.decode()
        for part in text.split("Dumping ")[1:]:
            name, *lines = part.splitlines()
            found[Path(name)] = lines
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_row_of_kafka_is_one_of_ours(file: Path, of_kafka: dict[Path, list[str]], objects: Objects) -> None:
    rows = [line for line in of_kafka[file] if line.startswith(("baseOffset: ", "| offset: "))]
    ours = objects(file, "--records")
    assert len(rows) == len(ours)
    batch: dict[str, Any] = {}
    for row, one in zip(rows, ours, strict=True):
        if one["type"] == "batch":
            batch = one
            _compare_batch(dict(_BATCH.findall(row)), one)
        else:
            match = _RECORD.fullmatch(row)
            assert match, row
            _compare_record(match.groupdict(), one, batch)


def _topic(file: Path) -> str:
    return file.parent.name.rpartition("-")[0]


def _compare_batch(theirs: dict[str, str], ours: dict[str, Any]) -> None:
    numbers = {
        "baseOffset": "base_offset",
        "lastOffset": "last_offset",
        "count": "records_count",
        "baseSequence": "base_sequence",
        "lastSequence": "last_sequence",
        "producerId": "producer_id",
        "producerEpoch": "producer_epoch",
        "partitionLeaderEpoch": "leader_epoch",
        "position": "position",
        "size": "size",
        "magic": "magic",
        "crc": "crc",
    }
    assert {name: int(theirs[name]) for name in numbers} == {name: ours[key] for name, key in numbers.items()}
    assert int(theirs[ours["timestamp_type"]]) == ours["max_timestamp"]
    assert theirs["compresscodec"] == ours["compression"]
    assert (theirs["isTransactional"], theirs["isControl"]) == tuple(
        str(ours[name]).lower() for name in ("is_transactional", "is_control")
    )
    horizon = ours["delete_horizon"]
    assert theirs["deleteHorizonMs"] == ("OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]")
    assert theirs["isvalid"] == "true"


def _compare_record(theirs: dict[str, str], ours: dict[str, Any], batch: dict[str, Any]) -> None:
    assert [int(theirs[name]) for name in _NUMBERS] == [ours[name] for name in _NUMBERS]
    assert theirs["timestamp_type"] == batch["timestamp_type"]
    assert theirs["headers"] == ",".join(key for key, _ in ours["headers"])
    content = theirs["content"].strip()
    if batch["is_control"]:
        _compare_control(content, ours)
    elif "record_type" in ours:
        _compare_decoded(content, ours)
    else:
        named = {"key": ours["key"], "payload": ours["value"]}
        shown = "".join(f" {name}: {value}" for name, value in named.items() if value is not None)
        assert theirs["content"] == shown


def _compare_control(content: str, ours: dict[str, Any]) -> None:
    match = _CONTROL.fullmatch(content)
    assert match, content
    if match["type"]:
        assert (match["type"], int(match["epoch"])) == (ours["record_type"], ours["value"]["coordinatorEpoch"])
    else:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=K)(?=Raft)", "_", match["name"]).upper()
        assert name.replace("K_RAFT", "KRAFT") == ours["record_type"]
        assert json.loads(match["value"]) == ours["value"]


def _compare_decoded(content: str, ours: dict[str, Any]) -> None:
    key, _, payload = content.rpartition("payload: ")
    if key:
        theirs = json.loads(key.removeprefix("key: "))
        assert (int(theirs["type"]), theirs["data"]) == (ours["record_type_id"], ours["key"])
    if payload == "<DELETE>":
        assert ours["value"] is None
        return
    value = json.loads(payload)
    assert int(value["version"]) == ours["version"]
    if not key:  # of the metadata log, as in TOPIC_RECORD
        assert value["type"].replace("_", "").lower() == ours["record_type"].lower()
    if ours["record_type"] == "GroupMetadata":  # Kafka shows only fields of version 0 of the consumers' protocol
        for member, shown in zip(value["data"]["members"], ours["value"]["members"], strict=True):
            subscription, assignment = member.pop("subscription"), member.pop("assignment")
            assert subscription["topics"] == shown.pop("subscription")["topics"]
            assert (
                assignment["assignedPartitions"]
                == (shown.pop("assignment") or {"assignedPartitions": []})["assignedPartitions"]
            )
    assert value["data"] == ours["value"]
