"""Messages and ways for tests of columns."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import kafka_messages
from tests.support.places import ROOT

METADATA: Any = import_module("kafka_messages.metadata_response.v12")
MetadataResponse = METADATA.MetadataResponse
HeartbeatRequest = kafka_messages.message("HeartbeatRequest", 4)
EXAMPLES = ROOT / "examples"

WAYS = ["kernel", "python"]


def metadata() -> Any:
    """Return a message with structs in structs, nulls and unknown tagged fields."""
    partitions = [METADATA.MetadataResponsePartition(leader_id=i, replica_nodes=[1, 2][:i]) for i in range(3)]
    message = MetadataResponse(
        brokers=[METADATA.MetadataResponseBroker(node_id=1, host="localhost", port=9092, rack=None)],
        cluster_id="é",
        topics=[METADATA.MetadataResponseTopic(name=None), METADATA.MetadataResponseTopic(partitions=partitions)],
    )
    message.topics[1].unknown_tagged_fields = {7: b"seven", 300: b""}
    return message
