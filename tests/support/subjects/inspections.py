"""Inspections as tests look at them."""

from __future__ import annotations

from typing import Any

from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker
from kipwire.console.inspect.text import text_lines
from kipwire.console.inspect.tree import Inspection, inspect_message


def broker_message(host: str = "a.example") -> Any:
    return MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host=host, port=9092)], cluster_id=None)


def inspected(data: bytes) -> Inspection:
    return inspect_message(MetadataResponse, data)


def as_text(inspection: Inspection) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in text_lines(inspection)]


HEARTBEAT = bytes.fromhex("000c 0000 00000007 ffff 0001 67 00000001 0001 6d")
