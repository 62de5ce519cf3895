"""The APIs that a fake broker serves: a module for each, named by its key and its name.

A module has `answer`, a function of a node and the body of a request, or `answer_request`, if it needs the header, too.
Where refusals are not by the rule of `kipwire.connection`, it has `refuse`; and the `VERSIONS` that are served, where
they are not all that Kafka has. Its head has these versions, and how the answers differ from Kafka's. docs/testing.md
repeats the heads, and test_fake_broker_heads.py compares. `APIS` and `SERVED` are made of the modules that are here.

Unlike Kafka:

* Share groups, Streams groups, ACLs, quotas and delegation tokens are not served.
* Retention and compaction remove no records.
* `max.message.bytes` and `message.timestamp.after.max.ms` apply, with Kafka's defaults; of other topic settings only
  types are checked.
"""

from importlib import import_module
from pkgutil import iter_modules

from kafka_messages import REGISTRY
from kafka_messages.enums import ApiKey
from kipwire.testing.broker.apis.api import Api, api_of

MODULES = {
    ApiKey(int(found.name[1:3])): import_module(f"{__name__}.{found.name}")
    for found in iter_modules(__path__)
    if found.name.startswith("k")
}
"""By API key."""

APIS: dict[int, Api] = {int(key): api_of(module) for key, module in sorted(MODULES.items())}
"""The handlers, by API key."""

_VERSIONS = REGISTRY.api_versions()
SERVED = {key: api.versions or _VERSIONS[key] for key, api in APIS.items()}
"""The versions of each; all that Kafka has, if its module does not say otherwise."""
