"""APIs of a generated package by what people call them: a name in any case, with `Request` or without, or a number."""

from __future__ import annotations

import sys
from typing import NamedTuple

import click

from kipwire.message.combined import combine
from kipwire.message.registry import Registry, registry_of
from kipwire.model.errors import KipwireError
from kipwire.tools.text import did_you_mean


class Api(NamedTuple):
    """An API that a package has."""

    key: int
    name: str
    """Without `Request` and `Response`, as in `Metadata`."""
    versions: range
    """The versions of the request that have classes."""

    @property
    def request(self) -> str:
        """The name of its request."""
        return f"{self.name}{_REQUEST}"


_REQUEST, _RESPONSE = "Request", "Response"
_MOST_DIGITS = 5
_LONGEST = 100
"""Characters of a wrong name that an error shows."""


def registry_named(*packages: str) -> Registry:
    """Find the registry of generated packages, which may lie in the current directory.

    Raises:
        PackageError: there is no such package, or two have a key in common.
    """
    if "" not in sys.path:
        sys.path.append("")
    return combine(*map(registry_of, packages))


def apis(registry: Registry) -> list[Api]:
    """List the APIs of a package that have a version, by their keys; of two names of one API, both."""
    found = []
    for name in registry.names():
        entry = registry.entry(name)
        if entry.type == "request" and entry.api_key is not None and entry.versions:
            found.append(Api(entry.api_key, name.removesuffix(_REQUEST), entry.versions))
    return sorted(found)


def find_api(registry: Registry, text: str) -> Api:
    """Find the API that a name or a key means.

    Raises:
        KipwireError: there is none.
    """
    known = apis(registry)
    if text.isascii() and text.isdigit():
        found = [one for one in known if len(text) <= _MOST_DIGITS and one.key == int(text)]
        if not found:
            raise KipwireError(f"{registry.package} has no API with the key {text[:_LONGEST]}")
        # Of two names of one key, the one that is served.
        return next((one for one in found if registry.served(one.request)), found[0])
    by_name = {one.name.lower(): one for one in known}
    bare = text.lower().removesuffix(_REQUEST.lower()).removesuffix(_RESPONSE.lower())
    if (exact := by_name.get(text.lower()) or by_name.get(bare)) is not None:
        return exact
    hint = did_you_mean(bare[:_LONGEST], [one.name for one in known])
    raise KipwireError(f"{registry.package} has no API named {text[:_LONGEST]!r}{hint}")


def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """List the names of APIs that begin as a word does, for the completion of shells."""
    try:
        known = apis(registry_named(*(ctx.params.get("packages") or ("kafka_messages",))))
    except KipwireError:
        return []
    return [one.name for one in known if one.name.lower().startswith(incomplete.lower())]
