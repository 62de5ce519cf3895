"""The APIs that a fake broker serves: a module for each, named by its key and its name.

What a module has, and what it leaves to the rule, is said by `Handler` in `api`. `APIS` and `SERVED` are made of the
modules that are here, so that a new file is all that a new API needs.
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
"""How each is answered, by API key."""

_VERSIONS = REGISTRY.api_versions()
SERVED = {key: api.versions or _VERSIONS[key] for key, api in APIS.items()}
"""The versions of each; all that Kafka has, if its module does not say otherwise."""
