"""Output of Kafka's own tools about the broker of the tests."""

from __future__ import annotations

import subprocess

from tests.support.places import ROOT


def tool(*command: str) -> str:
    """Run one of Kafka's own tools; return its output."""
    script = ["bash", str(ROOT / "scripts" / "broker" / "broker.sh"), "tool"]
    return subprocess.run([*script, *command], check=True, capture_output=True, text=True, timeout=120).stdout


def lag_by_kafka(address: str) -> dict[tuple[str, ...], tuple[int, int, int]]:
    """CURRENT-OFFSET, LOG-END-OFFSET and LAG of `kafka-consumer-groups --describe`, by group, topic and partition.

    Rows without a committed offset are left out. A negative lag, of a group ahead of the end, is 0.
    """
    name = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    found: dict[tuple[str, ...], tuple[int, int, int]] = {}
    for line in tool(name, "--bootstrap-server", address, "--describe", "--all-groups").splitlines():
        group, topic, partition, offset, end, lag = [*line.split(), *[""] * 6][:6]
        if partition.isdigit() and offset.isdigit():
            found[group, topic, partition] = (int(offset), int(end), max(int(lag), 0))
    return found


def members_by_kafka(address: str, group: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """CURRENT-OFFSET, LAG, HOST and CLIENT-ID of `kafka-consumer-groups --describe`, by topic and partition."""
    name = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for line in tool(name, "--bootstrap-server", address, "--describe", "--group", group).splitlines():
        words = line.split()
        if len(words) == 9 and words[2].isdigit():
            _, topic, partition, offset, _, lag, _, host, client_id = words
            found[topic, partition] = (offset, lag, host, client_id)
    return found


def share_offsets_by_kafka(address: str, group: str) -> dict[tuple[str, str], tuple[int, int]]:
    """START-OFFSET and LAG of `kafka-share-groups --describe`, by topic and partition."""
    name = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
    lines = tool(name, "--bootstrap-server", address, "--describe", "--group", group, "--offsets").splitlines()
    rows = [line.split() for line in lines]
    return {(row[1], row[2]): (int(row[3]), int(row[4])) for row in rows if len(row) > 4 and row[2].isdigit()}


def offsets_by_kafka(address: str) -> dict[tuple[str, ...], int]:
    """Return the ends of `kafka-get-offsets`, by topic and partition."""
    lines = tool("org.apache.kafka.tools.GetOffsetShell", "--bootstrap-server", address).split()
    parts = [line.rsplit(":", 2) for line in lines]
    return {(topic, partition): int(end) for topic, partition, end in parts}
