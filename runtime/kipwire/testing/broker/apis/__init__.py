"""The APIs that a fake broker serves, and how it answers each."""

from kafka_messages import REGISTRY
from kipwire.testing.broker.apis import (
    cluster,
    group_admin,
    group_members,
    group_offsets,
    records,
    topics,
    transactions,
)

_MODULES = (records, cluster, topics, group_members, group_offsets, group_admin, transactions)
APIS = {int(key): api for module in _MODULES for key, api in module.APIS.items()}
"""By API key."""

_VERSIONS = REGISTRY.api_versions()
SERVED = {key: api.versions or _VERSIONS[key] for key, api in sorted(APIS.items())}
"""The versions of each; all that Kafka has, if the API does not say otherwise."""
