"""Rules between the properties of a message."""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.language.names import WINDOWS_DEVICES, module_name
from kipgen.language.versions import MAX_VERSION, Versions
from kipgen.reading.draft import Draft
from kipgen.reading.rules.examples import spec
from kipgen.reading.rules.rule import Finding, message_rule


@message_rule(
    needs=("validVersions",),
    summary=f"validVersions has a highest version, at most {MAX_VERSION - 1}: as in Kafka's specs, {MAX_VERSION} means "
    "that a range has no end.",
    good=spec(valid="0-3"),
    bad=spec(valid="0+"),
)
def valid_versions_closed(draft: Draft) -> Iterator[Finding]:
    valid = draft.message.valid_versions
    if MAX_VERSION not in valid:
        return
    written = draft.part.written("validVersions")
    if written.endswith("+") and valid.lowest < MAX_VERSION:
        example = Versions(valid.lowest, min(valid.lowest + 5, MAX_VERSION - 1))
        text = f"validVersions is {written}, which has no end; write the highest version, as in {example}"
    else:
        text = f"validVersions is {written}, but {MAX_VERSION} is not a version: it means that a range has no end"
        text += f"; write at most {MAX_VERSION - 1}"
    yield Finding(draft.part, text, "validVersions")


@message_rule(
    needs=("validVersions", "servedVersions"),
    summary="servedVersions lie within validVersions: only what has a class can be served.",
    good=spec(more='"servedVersions": "2+"'),
    bad=spec(more='"servedVersions": "2-4"'),
)
def served_versions_valid(draft: Draft) -> Iterator[Finding]:
    served, valid = draft.message.served_versions, draft.message.valid_versions
    if MAX_VERSION not in valid and not valid.contains(served):
        text = f"servedVersions {served} goes beyond validVersions {valid}; write a part of those, or none"
        yield Finding(draft.part, text, "servedVersions")


@message_rule(
    needs=("flexibleVersions",),
    summary="flexibleVersions is none or has no end, as in Kafka's specs: a message does not become inflexible again.",
    good=spec(flexible="2+"),
    bad=spec(flexible="2-3"),
)
def flexible_versions_open(draft: Draft) -> Iterator[Finding]:
    flexible = draft.message.flexible_versions
    # The registry of a package finds the header of a version from the first flexible one, so versions after an end
    # would have the wrong header. A layout has none at all, and a rule of its own says so.
    if not (flexible.is_empty or flexible.is_open or draft.message.is_layout):
        text = f"flexibleVersions is {flexible}, but has no end in Kafka's specs; write {flexible.lowest}+, or none"
        yield Finding(draft.part, text, "flexibleVersions")


@message_rule(
    needs=("type", "listeners"),
    summary="Only a request names listeners.",
    good=spec(name="ProbeRequest", type_="request", more='"listeners": ["broker"]'),
    bad=spec(name="ProbeResponse", type_="response", more='"listeners": ["broker"]'),
)
def listeners_on_request(draft: Draft) -> Iterator[Finding]:
    if draft.message.listeners and draft.message.type != "request":
        text = f"a message of type {draft.message.type} has listeners; leave them out, only requests have them"
        yield Finding(draft.part, text, "listeners")


@message_rule(
    needs=("type", "latestVersionUnstable"),
    summary="Only a request marks its latest version as unstable.",
    good=spec(name="ProbeRequest", type_="request", more='"latestVersionUnstable": true'),
    bad=spec(name="ProbeResponse", type_="response", more='"latestVersionUnstable": true'),
)
def unstable_on_request(draft: Draft) -> Iterator[Finding]:
    if draft.message.latest_version_unstable and draft.message.type != "request":
        text = f"a message of type {draft.message.type} has latestVersionUnstable; set it in the request only"
        yield Finding(draft.part, text, "latestVersionUnstable")


@message_rule(
    needs=("validVersions", "flexibleVersions", "noNewVersions"),
    summary="A message that is marked noNewVersions has a flexible version, or it could not get tagged fields either.",
    good=spec(flexible="3+", more='"noNewVersions": true'),
    bad=spec(flexible="none", more='"noNewVersions": true'),
)
def no_new_versions_flexible(draft: Draft) -> Iterator[Finding]:
    message = draft.message
    if message.no_new_versions and message.valid_versions.intersect(message.flexible_versions).is_empty:
        text = (
            f"no version of {message.valid_versions} is flexible, so the message can never change; leave the mark out, "
        )
        text += "or add a flexible version first"
        yield Finding(draft.part, text, "noNewVersions")


@message_rule(
    needs=("type", "apiKey"),
    summary="Coordinator keys and values have an apiKey: the number before the key in the log.",
    good=spec(name="ProbeValue", type_="coordinator-value", more='"apiKey": 7'),
    bad=spec(name="ProbeValue", type_="coordinator-value"),
)
def coordinator_api_key(draft: Draft) -> Iterator[Finding]:
    if draft.message.type.startswith("coordinator-") and draft.message.api_key is None:
        yield Finding(draft.part, f"a message of type {draft.message.type} has no apiKey; add one")


@message_rule(
    needs=("type", "validVersions"),
    summary="A coordinator key has version 0 only: the log does not store a version for keys.",
    good=spec(name="ProbeKey", type_="coordinator-key", valid="0", flexible="none", more='"apiKey": 7'),
    bad=spec(name="ProbeKey", type_="coordinator-key", valid="0-1", flexible="none", more='"apiKey": 7'),
)
def coordinator_key_version(draft: Draft) -> Iterator[Finding]:
    # In the log, the bytes of a key begin with the API key alone; only the bytes of a value begin with a version.
    if draft.message.type == "coordinator-key" and draft.message.valid_versions != Versions(0, 0):
        text = f"validVersions of a coordinator key is {draft.message.valid_versions}; write 0"
        yield Finding(draft.part, text, "validVersions")


@message_rule(
    needs=("type", "flexibleVersions"),
    summary="A coordinator key has no flexible versions: its bytes are compared by the log's compaction.",
    good=spec(name="ProbeKey", type_="coordinator-key", valid="0", flexible="none", more='"apiKey": 7'),
    bad=spec(name="ProbeKey", type_="coordinator-key", valid="0", flexible="0+", more='"apiKey": 7'),
)
def coordinator_key_inflexible(draft: Draft) -> Iterator[Finding]:
    if draft.message.type == "coordinator-key" and not draft.message.flexible_versions.is_empty:
        text = f"flexibleVersions of a coordinator key is {draft.message.flexible_versions}; write none"
        yield Finding(draft.part, text, "flexibleVersions")


@message_rule(
    needs=("name",),
    summary="A message does not have the name of a device of Windows, which makes no folder of that name.",
    good=spec(name="Console"),
    bad=spec(name="Con"),
    severity="warning",
    kafka="warning",
)
def windows_device(draft: Draft) -> Iterator[Finding]:
    name = module_name(draft.message.name)
    if name in WINDOWS_DEVICES:
        yield Finding(
            draft.part, f"its folder {name} cannot be made on Windows, where it is a device; choose another name"
        )
