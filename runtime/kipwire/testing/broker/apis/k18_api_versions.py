"""ApiVersions, versions 0 to 5: what is served."""

from __future__ import annotations

from typing import Any

import kafka_messages
from kafka_messages.enums import ApiKey
from kipwire.connection import Request, versions_answer
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node

_FIRST_WITH_FEATURES = 3
_FEATURES = {"transaction.version": (ApiKey.END_TXN, 5, 2)}
"""By name: the API and the version that it needs, and its level."""


def answer(node: Node, request: Request) -> Values:
    """What is served. Requests in other versions do not get here: they are answered in version 0 (KIP-511)."""
    answer: Any = versions_answer(kafka_messages.REGISTRY, request.api_version, node.served)
    if request.api_version < _FIRST_WITH_FEATURES:
        return {"api_keys": answer.api_keys}
    levels = {name: level for name, (key, version, level) in _FEATURES.items() if version in node.served.get(key, ())}
    return {
        "api_keys": answer.api_keys,
        "supported_features": [
            {"name": name, "min_version": 0, "max_version": level} for name, level in levels.items()
        ],
        "finalized_features_epoch": 0,
        "finalized_features": [
            {"name": name, "min_version_level": level, "max_version_level": level} for name, level in levels.items()
        ],
    }
