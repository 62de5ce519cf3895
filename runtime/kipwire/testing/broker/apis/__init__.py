"""The APIs that a fake broker serves: a module for each, named by its key and its name.

A module has `answer`, a function of a node and the body of a request, or `answer_request`, if it needs the header, too.
`rows.by_row` makes it of a function for each row of the response. Where refusals are not by the rule of
`kipwire.connection`, there is `refuse`; and `VERSIONS`, where not all that Kafka has are served. The head has these
versions, and how the answers differ from Kafka's. docs/testing.md repeats it, and test_fake_broker_heads.py compares.

Unlike Kafka:

* Share groups and Streams groups are not served.
* ACLs, quotas and delegation tokens are not served.
* Records are never removed by retention or compaction.
* `max.message.bytes` and `message.timestamp.after.max.ms` limit what producers send, with Kafka's defaults; other
  settings of topics have no effect. Their values are checked by their types alone.
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
APIS: dict[int, Api] = {int(key): api_of(module) for key, module in sorted(MODULES.items())}
_VERSIONS = REGISTRY.api_versions()
SERVED = {key: api.versions or _VERSIONS[key] for key, api in APIS.items()}
"""All by API key: the modules, their handlers, and the versions that are served."""
