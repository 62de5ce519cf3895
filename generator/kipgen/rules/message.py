"""What a message's own properties demand of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kipgen.rules.examples import spec
from kipgen.rules.rule import Finding, message_rule
from kipgen.versions import MAX_VERSION, Versions

if TYPE_CHECKING:
    from kipgen.draft import Draft


@message_rule(
    "validVersions",
    id="valid-versions-closed",
    summary="validVersions has a highest version.",
    good=spec(valid="0-3"),
    bad=spec(valid="0+"),
)
def valid_versions_closed(draft: Draft) -> Finding | None:
    valid = draft.message.valid_versions
    if MAX_VERSION not in valid:
        return None
    text = f"validVersions is {valid}, without an end; write its highest version, as in {valid.lowest}-5"
    return Finding(draft.part, text, "validVersions")


@message_rule(
    "validVersions",
    "servedVersions",
    id="served-versions-valid",
    summary="servedVersions lie within validVersions: what is spoken can be read.",
    good=spec(more='"servedVersions": "2+"'),
    bad=spec(more='"servedVersions": "2-4"'),
)
def served_versions_valid(draft: Draft) -> Finding | None:
    served, valid = draft.message.served_versions, draft.message.valid_versions
    if MAX_VERSION in valid or valid.contains(served):
        return None
    text = f"servedVersions {served} reaches beyond validVersions {valid}; write a part of those, or none"
    return Finding(draft.part, text, "servedVersions")


@message_rule(
    "flexibleVersions",
    id="flexible-versions-open",
    summary="flexibleVersions is none or has no end: a message does not go back to inflexible versions (KIP-482).",
    good=spec(flexible="2+"),
    bad=spec(flexible="2-3"),
)
def flexible_versions_open(draft: Draft) -> Finding | None:
    flexible = draft.message.flexible_versions
    if flexible.is_empty or flexible.is_open or draft.message.is_layout:
        return None  # a layout has none at all, and a rule of its own says so
    text = f"flexibleVersions is {flexible}; write {flexible.lowest}+, or none"
    return Finding(draft.part, text, "flexibleVersions")


@message_rule(
    "type",
    "listeners",
    id="listeners-on-request",
    summary="Only a request names listeners.",
    good=spec(name="ProbeRequest", type_="request", more='"listeners": ["broker"]'),
    bad=spec(name="ProbeResponse", type_="response", more='"listeners": ["broker"]'),
)
def listeners_on_request(draft: Draft) -> Finding | None:
    if not draft.message.listeners or draft.message.type == "request":
        return None
    text = f"a message of type {draft.message.type} has listeners; leave them out, only requests have them"
    return Finding(draft.part, text, "listeners")


@message_rule(
    "type",
    "latestVersionUnstable",
    id="unstable-on-request",
    summary="Only a request says that its latest version is unstable.",
    good=spec(name="ProbeRequest", type_="request", more='"latestVersionUnstable": true'),
    bad=spec(name="ProbeResponse", type_="response", more='"latestVersionUnstable": true'),
)
def unstable_on_request(draft: Draft) -> Finding | None:
    if not draft.message.latest_version_unstable or draft.message.type == "request":
        return None
    text = f"a message of type {draft.message.type} has latestVersionUnstable; say it in the request only"
    return Finding(draft.part, text, "latestVersionUnstable")


@message_rule(
    "type",
    "apiKey",
    id="coordinator-api-key",
    summary="Coordinator keys and values have an apiKey: the number that stands before the key in the log.",
    good=spec(name="ProbeValue", type_="coordinator-value", more='"apiKey": 7'),
    bad=spec(name="ProbeValue", type_="coordinator-value"),
)
def coordinator_api_key(draft: Draft) -> Finding | None:
    if not draft.message.type.startswith("coordinator-") or draft.message.api_key is not None:
        return None
    return Finding(draft.part, f"a message of type {draft.message.type} has no apiKey; give it one")


@message_rule(
    "type",
    "validVersions",
    id="coordinator-key-version",
    summary="A coordinator key has version 0 only: the log has no room for a key's version.",
    good=spec(name="ProbeKey", type_="coordinator-key", valid="0", flexible="none", more='"apiKey": 7'),
    bad=spec(name="ProbeKey", type_="coordinator-key", valid="0-1", flexible="none", more='"apiKey": 7'),
)
def coordinator_key_version(draft: Draft) -> Finding | None:
    if draft.message.type != "coordinator-key" or draft.message.valid_versions == Versions(0, 0):
        return None
    text = f"validVersions of a coordinator key is {draft.message.valid_versions}; write 0"
    return Finding(draft.part, text, "validVersions")


@message_rule(
    "type",
    "flexibleVersions",
    id="coordinator-key-inflexible",
    summary="A coordinator key has no flexible versions: its bytes are compared by the log's compaction.",
    good=spec(name="ProbeKey", type_="coordinator-key", valid="0", flexible="none", more='"apiKey": 7'),
    bad=spec(name="ProbeKey", type_="coordinator-key", valid="0", flexible="0+", more='"apiKey": 7'),
)
def coordinator_key_inflexible(draft: Draft) -> Finding | None:
    if draft.message.type != "coordinator-key" or draft.message.flexible_versions.is_empty:
        return None
    text = f"flexibleVersions of a coordinator key is {draft.message.flexible_versions}; write none"
    return Finding(draft.part, text, "flexibleVersions")


RULES = (
    valid_versions_closed,
    served_versions_valid,
    flexible_versions_open,
    listeners_on_request,
    unstable_on_request,
    coordinator_api_key,
    coordinator_key_version,
    coordinator_key_inflexible,
)
