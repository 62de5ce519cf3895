"""Every version of every message that a release of Kafka had is there, or docs/kafka-versions.md says why not."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kafka_messages
from kipgen.commands.compat.wire_items import WireItems, wire_items
from kipgen.language.spec import MessageSpec
from kipgen.language.versions import Versions
from kipgen.reading import check
from kipgen.reading.parse import build_message
from kipgen.reading.source import load_text
from kipgen.resolve.wire import resolve
from tests.support import golden_data
from tests.support.kafka_jars import fetch_jars
from tests.support.places import ROOT
from tests.support.versions_page import Row, rows

HISTORY: dict[str, Any] = json.loads((ROOT / "runtime" / "kipwire" / "traffic" / "kafka_versions.json").read_text())
"""The last release of each line that has specs in its jar, and by message the validVersions from a line on."""
PAGE = (ROOT / "docs" / "kafka-versions.md").read_text()

EARLIER_NAMES = {
    "ElectPreferredLeadersRequest": "ElectLeadersRequest",
    "ElectPreferredLeadersResponse": "ElectLeadersResponse",
    "ListOffsetRequest": "ListOffsetsRequest",
    "ListOffsetResponse": "ListOffsetsResponse",
}
"""Messages without a class of their own: the class of the later name has the same bytes."""
NEVER_SERVED = {
    (f"{api}{part}", 0)
    for api in ("ShareAcknowledge", "ShareFetch", "ShareGroupDescribe", "ShareGroupHeartbeat")
    for part in ("Request", "Response")
}
"""Early access that Kafka took back: pairs that are left out."""
OTHER_FORMS = {
    ("ConsumerGroupDescribeResponse", 0): {"3.7"},
    ("ConsumerGroupHeartbeatRequest", 0): {"3.5", "3.6"},
    ("ConsumerGroupHeartbeatResponse", 0): {"3.5", "3.6"},
    ("EndQuorumEpochRequest", 0): {"2.7"},
    ("LeaderChangeMessage", 0): {"2.7", "2.8"},
    ("ReadShareGroupStateSummaryResponse", 0): {"3.9", "4.0"},
    ("RequestHeader", 0): {"2.2", "2.3"},
}
"""Lines of releases whose bytes differed from ours: early access, and a spec that wrote no frame."""
LATER_TAGS = {("ApiVersionsResponse", 3), ("FetchResponse", 12), ("UpdateMetadataRequest", 8)}
"""Messages that got a tagged field after their release."""


def line_of(release: str) -> str:
    return release.rpartition(".")[0]


LINES = [line_of(release) for release in HISTORY["releases"]]


def pairs_of(line: str) -> Iterator[tuple[str, int]]:
    """Yield the messages and versions of a line of releases."""
    until = LINES[: LINES.index(line) + 1]
    for name, changes in HISTORY["versions"].items():
        known = [changes[one] for one in until if one in changes]
        for version in Versions.parse(known[-1]).each() if known else ():
            yield name, version


def of_today(name: str, version: int) -> tuple[str, int]:
    return EARLIER_NAMES.get(name, name), version


def test_every_pair_of_every_release_is_there_or_left_out_for_a_reason() -> None:
    there = set(golden_data.every_message_and_version())
    had = {of_today(*pair) for line in LINES for pair in pairs_of(line)}
    assert had - there == NEVER_SERVED
    clients = {pair for pair in there if pair[0] in HISTORY["versions"]}
    assert clients == had & there


def test_what_is_served_is_what_the_last_release_has() -> None:
    newest = set(pairs_of(LINES[-1]))
    for name in HISTORY["versions"]:
        if name in kafka_messages.names():
            assert {(name, version) for version in kafka_messages.served(name)} == {
                pair for pair in newest if pair[0] == name
            }
    served = sum(len(kafka_messages.served(name)) for name in kafka_messages.names())
    assert served == 755
    assert f"Kafka 4.4 still speaks {served} of these" in PAGE
    everything = golden_data.every_message_and_version()
    assert f"{len(kafka_messages.names())} messages, {len(everything)} pairs" in PAGE
    assert f"({len(kafka_messages.names())} messages, {len(everything)} versions)" in (ROOT / "README.md").read_text()


def _range(versions: range) -> str:
    if not versions:
        return "none"
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"


def _rows() -> Iterator[Row]:
    for name in kafka_messages.names():
        entry = kafka_messages.REGISTRY.entry(name)
        old = [version for version in entry.versions if version not in entry.served]
        if not old or entry.type == "response":
            continue
        last = [line for line in LINES if (name, old[0]) in pairs_of(line)][-1]
        key = "" if entry.api_key is None else str(entry.api_key)
        older = _range(range(old[0], old[-1] + 1))
        yield Row(name.removesuffix("Request"), key, _range(entry.served), older, last)


def test_the_page_names_all_that_is_no_longer_served_and_all_that_is_left_out() -> None:
    assert sorted(rows()) == sorted(_rows())
    left_out = PAGE.partition("## What is left out")[2]
    for name, version in NEVER_SERVED | OTHER_FORMS.keys():
        api = re.sub("Request$|Response$", "", name)
        assert f"{name} {version}" in left_out or f"{api} {version}" in left_out
    for name, version in LATER_TAGS:
        assert f"{name} {version}" in left_out
    for name in EARLIER_NAMES:
        assert re.sub("Request$|Response$", "", name) in PAGE


@pytest.mark.parametrize("name", ["AlterIsrRequest", "AlterIsrResponse", "ListClientMetricsResourcesResponse"])
def test_an_earlier_name_has_the_bytes_of_the_later_one(name: str) -> None:
    later = {"AlterIsr": "AlterPartition", "ListClientMetricsResources": "ListConfigResources"}
    part = re.findall("Request|Response", name)[0]
    cls = kafka_messages.message(name, 0)
    heir = kafka_messages.message(later[name.removesuffix(part)] + part, 0)
    assert cls.API_KEY == heir.API_KEY
    assert getattr(kafka_messages, part.lower())(cls.API_KEY, 0) is heir
    for line in golden_data.messages()[name, 0]:
        data = bytes.fromhex(line["hex"])
        assert heir.decode(data).encode() == cls.decode(data).encode() == data


# Beside Kafka's own jars


@cache
def our_specs() -> dict[str, MessageSpec]:
    checked, _ = check.read_folder(ROOT / "schemas" / "kafka_messages")
    return {one.spec.name: one.spec for one in checked if one.spec is not None}


def specs_in(jar: Path) -> Iterator[MessageSpec]:
    """Yield the specs in a jar as far as they can be understood; those before 2.4 have no flexible versions."""
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if not re.fullmatch(r"common/message/\w+\.json", name):
                continue
            text = archive.read(name).decode()
            if '"flexibleVersions"' not in text:
                text = re.sub(r'("validVersions"\s*:\s*"[^"]*")', r'\1, "flexibleVersions": "none"', text, count=1)
            # One file in 2.8 ends twice; Kafka's reader takes the first part.
            loaded = load_text(text, name)
            if loaded.document is None:
                loaded = load_text(re.sub(r"\]\s*\}\s*\Z", "", text), name)
            draft = check.understood(loaded).draft
            assert draft is not None, name
            yield build_message(draft)


def on_the_wire(spec: MessageSpec, version: int) -> WireItems:
    return wire_items(resolve(spec, version))


def untagged(items: WireItems) -> WireItems:
    """Return the items without tagged fields, at any depth."""
    plain = tuple(replace(item, inner=item.inner and untagged(item.inner)) for item in items.plain)
    return replace(items, plain=plain, tagged=())


@pytest.mark.maven
@pytest.mark.parametrize("release", HISTORY["releases"])
def test_a_release_has_the_versions_and_the_bytes_that_ours_have(release: str, tmp_path: Path) -> None:
    line = line_of(release)
    jar = fetch_jars(tmp_path, release, ["kafka-clients"])["kafka-clients"]
    found: dict[tuple[str, int], MessageSpec] = {}
    for spec in specs_in(jar):
        found.update({(spec.name, version): spec for version in spec.valid_versions.each()})
    assert found.keys() == set(pairs_of(line))
    others = set()
    for pair, spec in found.items():
        name, version = of_today(*pair)
        if (name, version) in NEVER_SERVED:
            continue
        if on_the_wire(spec, version).fingerprint != on_the_wire(our_specs()[name], version).fingerprint:
            others.add(pair)
    tags = others & LATER_TAGS
    assert {pair for pair, lines in OTHER_FORMS.items() if line in lines} == others - tags
    for name, version in tags:
        earlier, later = on_the_wire(found[name, version], version), on_the_wire(our_specs()[name], version)
        assert untagged(earlier).fingerprint == untagged(later).fingerprint
