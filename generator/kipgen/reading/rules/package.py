"""Rules between the messages of one folder: the registry of a generated package.

The registry finds a request and its response by one API key, and Kafka's ApiMessageType does the same. Kafka checks
that the keys are unique and the pairs complete, but not that a response has the name and the versions of its request.
These are rules here, since such a slip would show at run time alone.

Requests and responses have one space of keys. Records have one for each folder: each of Kafka's coordinators counts its
own from 0. A key may be shared in one case: an API that was renamed keeps its number, so a message that is no longer
served (`_Key.is_former`) shares it with its heir, which has all its versions and is what frames are read as. A retired
message, without versions, still occupies its key, as in Kafka: it shares with none.

A file with errors counts as far as it is known. What is missing is only reported if everything is known
(`Folder.is_complete`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import PurePath
from typing import NamedTuple

from kipgen.language.names import module_name
from kipgen.reading.draft import Draft, SpecPart
from kipgen.reading.rules.examples import ALPHA, spec
from kipgen.reading.rules.rule import Finding, Folder, folder_rule, repeats

_COUNTERPARTS = {
    "request": "response",
    "response": "request",
    "coordinator-key": "coordinator-value",
    "coordinator-value": "coordinator-key",
}
_REGISTERED = frozenset({"request", "response", "metadata"})
_UNREGISTERED = frozenset({"header", "data", "layout"})
_VERSIONS = frozenset({"validVersions", "servedVersions"})


class _Key(NamedTuple):
    """Key under which a message is found."""

    registry: str
    type: str
    api_key: int
    is_former: bool
    """True if the message has versions, but none that is served; it may share its API key with one that is."""


def _request(name: str = "ProbeRequest", key: int = 900, valid: str = "0-3", more: str = "") -> str:
    return spec(name=name, type_="request", valid=valid, more=f'"apiKey": {key}{more}')


def _response(name: str = "ProbeResponse", key: int = 900, valid: str = "0-3", more: str = "") -> str:
    return spec(name=name, type_="response", valid=valid, more=f'"apiKey": {key}{more}')


_PAIR = (_request(), _response())
_UNSERVED = ', "servedVersions": "none"'


@folder_rule(
    summary="In a package, requests, responses and metadata records have an apiKey.",
    good=spec(name="ProbeRecord", type_="metadata", more='"apiKey": 5'),
    bad=spec(name="ProbeRecord", type_="metadata"),
)
def api_key_missing(folder: Folder) -> Iterator[Finding]:
    for draft in folder.messages:
        message, part = draft.message, draft.part
        if _lacks_key(draft) and part.broken.isdisjoint(("type", "apiKey")):
            yield Finding(part, f"a message of type {message.type} needs an apiKey for the registry; add one")


@folder_rule(
    summary="An API key belongs to one message of its type, and to one that is no longer served: "
    "in the package for requests and responses, in its own folder for metadata and coordinator records.",
    good=(*_PAIR, _request("OtherRequest", 901), _response("OtherResponse", 901)),
    bad=(*_PAIR, _request("OtherRequest", 900)),
)
def api_key_taken(folder: Folder) -> Iterator[Finding]:
    for (draft, key), (first, _) in repeats(_registry_entries(folder), lambda it: it[1]):
        already = f"{first.message.name} ({first.part.location('apiKey')})"
        text = f"apiKey {key.api_key} is already used by {already}; choose another"
        yield Finding(draft.part, text, "apiKey")


@folder_rule(
    summary="A message that is no longer served shares its apiKey only with one that has all its versions: "
    "the same message under a new name.",
    good=(
        *_PAIR,
        _request("OldRequest", valid="0", more=_UNSERVED),
        _response("OldResponse", valid="0", more=_UNSERVED),
    ),
    bad=(
        *(_request(valid="1-3"), _response(valid="1-3")),
        *(_request("OldRequest", valid="0", more=_UNSERVED), _response("OldResponse", valid="0", more=_UNSERVED)),
    ),
)
def api_key_heir(folder: Folder) -> Iterator[Finding]:
    registered = list(_registry_entries(folder))
    others = {key: draft for draft, key in registered if not key.is_former}
    for draft, key in registered:
        heir = others.get(key._replace(is_former=False)) if key.is_former else None
        if heir is None or heir.message.valid_versions.contains(draft.message.valid_versions):
            continue
        if (draft.part.broken | heir.part.broken).isdisjoint(_VERSIONS):
            text = f"{heir.message.name} also has apiKey {key.api_key}, but only versions {heir.message.valid_versions}"
            yield Finding(draft.part, f"{text}; give it versions {draft.message.valid_versions}", "apiKey")


@folder_rule(
    summary="Requests and responses come in pairs with one apiKey, and so do coordinator keys and values.",
    good=_PAIR,
    bad=_request(),
)
def pair_missing(folder: Folder) -> Iterator[Finding]:
    if not folder.is_complete or any(_lacks_key(draft) for draft in folder.messages):
        return  # the counterpart may be one of those that are not known well enough
    registered = {key: draft for draft, key in _registry_entries(folder)}
    for key, draft in registered.items():
        if key.type in _COUNTERPARTS and _counterpart(key, registered) is None:
            text = f"the {_COUNTERPARTS[key.type]} with apiKey {key.api_key} is missing; add it, or correct the apiKey"
            yield Finding(draft.part, text, "apiKey")


@folder_rule(
    summary="In a package, a request's name ends in Request; the rest names the API.",
    good=_PAIR,
    bad=(_request("ProbeQuestion"), _response()),
)
def request_name(folder: Folder) -> Iterator[Finding]:
    for draft, key in _registry_entries(folder):
        message, part = draft.message, draft.part
        if key.type == "request" and not message.name.endswith("Request") and "name" not in part.broken:
            yield Finding(part, f"the request's name does not end in Request; write {message.name}Request")


@folder_rule(
    summary="In a package, a response has the name of its request, but ends in Response.",
    good=_PAIR,
    bad=(_request(), _response("ProbeAnswer")),
)
def response_name(folder: Folder) -> Iterator[Finding]:
    for request, response in _pairs(folder):
        parts = (request.part, response.part)
        asked, answered = request.message.name, response.message.name
        if any("name" in part.broken for part in parts) or not asked.endswith("Request"):
            continue
        due = f"{asked.removesuffix('Request')}Response"
        if answered != due:
            yield Finding(response.part, f"this is the response of {asked}; name it {due}")


@folder_rule(
    summary="A request and its response have the same validVersions, servedVersions and flexibleVersions.",
    good=_PAIR,
    bad=(_request(), _response(valid="0-2")),
)
def pair_versions(folder: Folder) -> Iterator[Finding]:
    for request, response in _pairs(folder):
        asked, answered = request.message, response.message
        broken = request.part.broken | response.part.broken
        if "validVersions" not in broken and asked.valid_versions != answered.valid_versions:
            text = f"validVersions is {answered.valid_versions}, but {asked.valid_versions} in {asked.name}"
            yield _unequal(response.part, text, "validVersions")
        elif broken.isdisjoint(_VERSIONS) and asked.served_versions != answered.served_versions:
            text = f"servedVersions is {answered.served_versions}, but {asked.served_versions} in {asked.name}"
            yield _unequal(response.part, text, "servedVersions")
        # A retired message has no flexible versions, whatever it says; `validVersions` differ already if only one is.
        retired = request.is_retired or response.is_retired
        if not retired and "flexibleVersions" not in broken and asked.flexible_versions != answered.flexible_versions:
            text = f"flexibleVersions is {answered.flexible_versions}, but {asked.flexible_versions} in {asked.name}"
            yield _unequal(response.part, text, "flexibleVersions")


def _unequal(part: SpecPart, text: str, property_: str) -> Finding:
    return Finding(part, f"{text}; write the same in both", property_)


@folder_rule(
    summary="In a package, a coordinator key's name ends in Key, a value's in Value; the rest names the record.",
    good=(
        spec(name="ProbeKey", type_="coordinator-key", valid="0", flexible="none", more='"apiKey": 3'),
        spec(name="ProbeValue", type_="coordinator-value", valid="0", flexible="0+", more='"apiKey": 3'),
    ),
    bad=(
        spec(name="ProbeKey", type_="coordinator-key", valid="0", flexible="none", more='"apiKey": 3'),
        spec(name="ProbeContent", type_="coordinator-value", valid="0", flexible="0+", more='"apiKey": 3'),
    ),
)
def coordinator_name(folder: Folder) -> Iterator[Finding]:
    suffixes = {"coordinator-key": "Key", "coordinator-value": "Value"}
    for draft in folder.messages:
        message, part = draft.message, draft.part
        suffix = suffixes.get(message.type, "")
        if not message.name.endswith(suffix) and part.broken.isdisjoint(("name", "type")):
            yield Finding(part, f"the name of a {message.type} ends in {suffix}; write {message.name}{suffix}")


@folder_rule(
    summary="The messages of a package have different names.",
    good=(spec(name="Probe"), spec(name="Other")),
    bad=(spec(name="Probe"), spec(ALPHA.replace("Alpha", "Beta"), name="Probe")),
)
def message_name_taken(folder: Folder) -> Iterator[Finding]:
    for draft, first in repeats(_named_drafts(folder), lambda it: it.message.name):
        text = f"another message already has this name ({first.part.location()}); rename one of the two"
        yield Finding(draft.part, text)


@folder_rule(
    summary="The messages of a package have different module names, too.",
    good=(spec(name="FooBar"), spec(name="FooBaz")),
    bad=(spec(name="FooBar"), spec(name="FooBAR")),
)
def module_name_clash(folder: Folder) -> Iterator[Finding]:
    for draft, other in repeats(_named_drafts(folder), lambda it: module_name(it.message.name)):
        name, first = draft.message.name, other.message
        if first.name != name:
            clash = f"as {first.name} ({first.location}), the message becomes the module {module_name(name)!r}"
            yield Finding(draft.part, f"{clash}; rename one of the two")


def _lacks_key(draft: Draft) -> bool:
    return draft.message.type in _REGISTERED and draft.message.api_key is None


def _named_drafts(folder: Folder) -> Iterator[Draft]:
    return (draft for draft in folder.messages if "name" not in draft.part.broken)


def _registry_entries(folder: Folder) -> Iterator[tuple[Draft, _Key]]:
    """Yield the messages that are found by an API key, each with that key; one folder is one registry of records."""
    for draft in folder.messages:
        message = draft.message
        if message.api_key is None or "type" in draft.part.broken or message.type in _UNREGISTERED:
            continue
        registry = "" if message.type in ("request", "response") else str(PurePath(draft.part.document.file).parent)
        is_former = message.served_versions.is_empty and not draft.is_retired
        yield draft, _Key(registry, message.type, message.api_key, is_former)


def _pairs(folder: Folder) -> Iterator[tuple[Draft, Draft]]:
    """Yield each request with its response, where it is clear which belong together."""
    by_key: dict[_Key, list[Draft]] = {}
    for draft, key in _registry_entries(folder):
        by_key.setdefault(key, []).append(draft)
    for key, requests in by_key.items():
        counterpart = _counterpart(key, by_key) if key.type == "request" else None
        # Where a key is taken twice, which `api-key-taken` reports, it is not clear which of them belong together.
        if counterpart is not None and len(requests) == len(by_key[counterpart]) == 1:
            yield requests[0], by_key[counterpart][0]


def _counterpart(key: _Key, known: Collection[_Key]) -> _Key | None:
    """Find the key of the counterpart: with the same `is_former`, or else of a message that has no other counterpart.

    The latter is a pair of which only one half is served. It must be found, for `pair-versions` to report it.
    """
    counterpart = key._replace(type=_COUNTERPARTS[key.type]) if key.type in _COUNTERPARTS else None
    if counterpart is None or counterpart in known:
        return counterpart
    other = counterpart._replace(is_former=not key.is_former)
    return other if other in known and key._replace(is_former=not key.is_former) not in known else None
