"""The APIs that a fake broker serves: a module for each, named by its key and its name.

A module has `answer`, a function of a node and the body of a request, or `answer_request`, if it needs the header, too.
Where refusals are not by the rule of `kipwire.connection`, there is `refuse`; and `VERSIONS`, where not all that Kafka
has are served. Its head is part of docs/testing.md, which test_fake_broker_heads.py compares.

To add an API, write a module such as `k47_offset_delete.py`; `APIS` and `SERVED` then have it. Its head has its
versions, and what it does unlike Kafka. `answer` gives the values of the response; with `@by_row` the values of one
row, for a topic, a partition or a group. `expect` refuses what does not hold. The places of error codes follow from the
fields of the response, by `connection/refusals.py`. What it changes is in `state/`, as plain data that raises
`Refused`. Then these get their lines:

* `tests/support/subjects/fake_broker_requests.py`: a request of it, with which every version is tried
* docs/testing.md: its name, and the differences in its head
* `tests/support/broker_cases`: what Kafka does with wrong arguments; tests/README.md says how to record its answers. If
  `ACCEPTED` in `broker_cases/recorded.py` has it as an API that is not served, another one takes its place.

Unlike Kafka:

* Share groups, Streams groups, ACLs, quotas and delegation tokens are not served.
* Retention and compaction remove no records.
* `max.message.bytes` and `message.timestamp.after.max.ms` apply, with Kafka's defaults; of other topic settings only
  types are checked.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from kafka_messages import REGISTRY
from kafka_messages.enums import ApiKey
from kipwire.testing.broker.apis.api import Api, api_key_of, api_of

MODULES = {
    ApiKey(int(found.name[1:].partition("_")[0])): import_module(f"{__name__}.{found.name}")
    for found in iter_modules(__path__)
    if found.name.startswith("k")
}
APIS: dict[int, Api] = {int(key): api_of(module) for key, module in sorted(MODULES.items())}
_VERSIONS = REGISTRY.api_versions()
SERVED = {key: api.versions or _VERSIONS[key] for key, api in APIS.items()}
"""All by API key: the modules, their handlers, and the versions that are served."""


def served(fewer: Mapping[ApiKey, range] | Mapping[int, range]) -> dict[int, range]:
    """Return the versions of each API; of some APIs fewer, or none.

    Raises:
        ValueError: there are no such versions.
    """
    chosen = {api_key_of(api): versions for api, versions in fewer.items()}
    for key, some in chosen.items():
        known = SERVED.get(key, range(0))
        if not all(one in known for one in some):
            has = f"{known[0]} to {known[-1]}" if known else "none"
            raise ValueError(f"the fake broker cannot serve {ApiKey.text(key)} in {some}; the versions it has: {has}")
    return {key: versions for key, versions in (SERVED | chosen).items() if versions}
