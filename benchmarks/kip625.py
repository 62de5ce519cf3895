"""The contents of the size table of KIP-625: a MetadataResponse of one topic with 100 partitions on two brokers.

The KIP gives three sizes, but not the contents, and no contents give all three: see RESULTS-encodings.md. Here are
plain contents, and ones that were found by arithmetic to give two of the three sizes.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PARTITIONS = 100
HIGH = 2**28
"""The lowest number that takes five bytes as an unsigned varint; it takes five as a signed one, too."""

FIXED, PARTITIONS_UNSIGNED, ALL_UNSIGNED, PARTITIONS_SIGNED, ALL_SIGNED = 9, 10, 11, 12, 13
"""The versions of the spec EncodedMetadata."""


def plain(version: int) -> Any:
    """Make contents of small numbers: brokers 1 and 2 on `localhost`, topic `topic`, two replicas, both in sync."""
    module = _module(version)
    partitions = [
        module.EncodedMetadataPartition(
            partition_index=index, leader_id=1 + index % 2, leader_epoch=0, replica_nodes=[1, 2], isr_nodes=[1, 2]
        )
        for index in range(PARTITIONS)
    ]
    return _message(module, partitions, topic="topic", host="localhost")


def worst(version: int, *, everywhere: bool) -> Any:
    """Make contents of numbers that take as many bytes as possible: in the partitions, or everywhere."""
    module = _module(version)
    brokers = [HIGH, HIGH + 1]
    partitions = [
        module.EncodedMetadataPartition(
            error_code=32767,
            partition_index=HIGH + index,
            leader_id=brokers[index % 2],
            leader_epoch=HIGH,
            replica_nodes=brokers,
            isr_nodes=brokers,
        )
        for index in range(PARTITIONS)
    ]
    message = _message(module, partitions, topic="topic", host="localhost")
    if everywhere:
        message.throttle_time_ms = message.controller_id = message.cluster_authorized_operations = HIGH
        message.topics[0].error_code = 32767
        message.topics[0].topic_authorized_operations = HIGH
        for broker in message.brokers:
            broker.node_id = broker.port = HIGH
    return message


def arithmetic(version: int) -> Any:
    """Make contents with the KIP's 3216 and 1170 bytes, by coincidence: in 59 partitions one replica is in sync."""
    module = _module(version)
    partitions = [
        module.EncodedMetadataPartition(
            partition_index=index,
            leader_id=1,
            leader_epoch=0,
            replica_nodes=[1, 2],
            isr_nodes=[1, 2] if index < 41 else [1],
        )
        for index in range(PARTITIONS)
    ]
    return _message(module, partitions, topic="to", host="h")


def _module(version: int) -> Any:
    return import_module(f"kipwire.drafts.proposals.encoded_metadata.v{version}")


def _message(module: Any, partitions: list[Any], *, topic: str, host: str) -> Any:
    return module.EncodedMetadata(
        brokers=[module.EncodedMetadataBroker(node_id=node_id, host=host, port=9092) for node_id in (1, 2)],
        controller_id=1,
        topics=[module.EncodedMetadataTopic(name=topic, partitions=partitions, topic_authorized_operations=0)],
        cluster_authorized_operations=0,
    )
