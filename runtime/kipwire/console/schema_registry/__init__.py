"""Keys and values of a schema registry: the id of their schema split off, and with the registry their content decoded.

    --value registry                                  the id, and the rest as bytes
    --value registry-protobuf                         the same for protobuf, whose message indexes follow the id
    --value registry --registry http://127.0.0.1:8081 Avro, JSON and protobuf decoded by their schemas

`heads` splits, `client` asks the registry, `decoding` reads by schemas.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kipwire.console.schema_registry.heads import Context, Head, head_of, without_indexes
from kipwire.tools.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    Decode = Callable[[bytes, Context], object]

NAMES = ("registry", "registry-protobuf")
"""The words that `--value` and `--record-key` take in place of a function."""
VARIABLE = "KIPWIRE_REGISTRY"
"""The variable with the registry, if the option does not name one."""


def registry_decoder(name: str, registry: str | None) -> Decode:
    """Make the function for `--value registry`.

    Args:
        name: one of `NAMES`.
        registry: the URL of a registry or a settings file; None to look into the environment, and then to split only.

    Raises:
        ValueError: the registry cannot be used: its URL or file is wrong, or a library is missing.
    """
    where = registry or os.environ.get(VARIABLE)
    if not where:
        return _with_indexes if name == "registry-protobuf" else _split
    from kipwire.console.schema_registry.client import settings_of  # more imports than the rest, for few calls
    from kipwire.console.schema_registry.decoding import Schemas

    return Schemas(settings_of(where)).decode


def hint_of(name: str) -> str:
    """Say which of `NAMES` a text without a colon may mean."""
    return did_you_mean(name, NAMES) if ":" not in name else ""


def _split(data: bytes, context: Context) -> object:
    head, rest = head_of(data, context)
    return _shown(head, rest)


def _with_indexes(data: bytes, context: Context) -> object:
    head, rest = head_of(data, context)
    return _shown(*without_indexes(head, rest))


def _shown(head: Head, rest: bytes) -> dict[str, object]:
    return {**head.shown(), "data": rest}
