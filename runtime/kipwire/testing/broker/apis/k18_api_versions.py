"""ApiVersions, versions 0 to 5: what is served. Requests in other versions are answered elsewhere, in version 0."""

from kafka_messages.enums import ApiKey
from kipwire.connection import versions_answer
from kipwire.testing.broker.apis.api import Node, Sent, Values

_FIRST_WITH_FEATURES = 3
_FEATURES = {"transaction.version": (ApiKey.END_TXN, 5, 2)}
"""Features by name: the API and the version that a feature needs, and its level."""


def answer(node: Node, body: Sent) -> Values:
    served: Sent = versions_answer(node.registry, body.VERSION, node.served)
    if body.VERSION < _FIRST_WITH_FEATURES:
        return {"api_keys": served.api_keys}
    levels = {name: level for name, (key, version, level) in _FEATURES.items() if version in node.served.get(key, ())}
    supported = [{"name": name, "min_version": 0, "max_version": level} for name, level in levels.items()]
    finalized = [{"name": name, "min_version_level": one, "max_version_level": one} for name, one in levels.items()]
    return {
        "api_keys": served.api_keys,
        "supported_features": supported,
        "finalized_features_epoch": 0,
        "finalized_features": finalized,
    }
