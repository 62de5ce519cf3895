"""Pages of messages: their examples, the forms of all versions, and where their links lead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

import kafka_messages
from docs.site.example import example_of, examples
from docs.site.messages import kafka_examples
from docs.site.real_messages import RealMessage, captured
from docs.site.templating import render
from kafka_messages import enums
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.offset_delete_request.v0 import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kipgen.commands.docs.byte_layout import boxes
from kipgen.commands.docs.example import Example
from kipgen.commands.docs.pages import MessagePage
from kipgen.commands.docs.plain_message import plain_message
from kipgen.commands.docs.python_class import call, constructors
from kipgen.commands.docs.related import kip_address, pairs, with_kip_links
from kipgen.commands.docs.templating import breakable, highlighted
from kipgen.commands.docs.version_groups import VersionGroup, version_groups
from kipgen.commands.docs.versions_table import growth, version_changes, version_rows
from kipgen.language.names import module_name
from kipgen.resolve.headers import HeaderVersions
from kipgen.resolve.wire import resolve
from kipwire import Struct, convert
from kipwire.message.registry import Registry
from kipwire.model.enums import ErrorNumber, MessageNumber, NamedNumber
from tests.support.places import ROOT
from tests.support.subjects.site_specs import PROBE, kafka_specs, spec

pytestmark = [
    pytest.mark.xdist_group("docs_site"),  # the site is written and built once
]


@pytest.fixture(scope="module")
def shown() -> Mapping[str, Example]:
    return kafka_examples(ROOT)


def test_every_message_has_an_example_and_its_python_makes_the_bytes(shown: Mapping[str, Example]) -> None:
    assert set(shown) == {name for name in kafka_messages.names() if kafka_messages.versions(name)}
    for name in ("MetadataResponse", "HeartbeatRequest", "TopicRecord", "OffsetCommitValue", "VoteRequest"):
        example = shown[name]
        assert name == type(example.message).NAME
        names: dict[str, object] = {}
        cls = type(example.message)
        exec(call(example.message, cls.__module__), names)
        assert names["data"] == example.data
        assert example.lines[0].offset == 0
        assert sum(len(line.data.split()) for line in example.lines if "..." not in line.data) <= len(example.data)
        assert constructors(modules_of(name), cls.VERSION).startswith(f"class {name}:\n    def __init__(")


def test_examples_are_real_where_there_is_a_real_one(shown: Mapping[str, Example]) -> None:
    sources = {name: example.source for name, example in shown.items()}
    of_capture: dict[str, set[bytes]] = {}
    for one in captured(ROOT / "examples" / "capture"):
        of_capture.setdefault(one.name, set()).add(one.data)
    assert of_capture.keys() == {name for name, source in sources.items() if source == "examples/capture"}
    assert all(shown[name].data in data for name, data in of_capture.items())
    for name in ("OffsetCommitKey", "OffsetCommitValue", "TransactionLogValue", "TopicRecord", "LeaderChangeMessage"):
        assert sources[name].startswith("tests/data/s"), name
    assert sources["VoteRequest"] == ""


def test_examples_without_a_real_message_have_readable_values(shown: Mapping[str, Example]) -> None:
    for name, example in shown.items():
        if not example.source:
            assert "\\x" not in repr(example.message), name
            assert repr(example.message).isascii(), name
    assert plain_message(OffsetDeleteRequest) == OffsetDeleteRequest(
        group_id="billing",
        topics=[
            OffsetDeleteRequestTopic(name="orders", partitions=[OffsetDeleteRequestPartition(partition_index=0)]),
        ],
    )


def test_the_newest_and_then_the_most_telling_short_example_is_chosen() -> None:
    def heartbeat(version: int, group: str) -> RealMessage:
        data = convert(HeartbeatRequest(group_id=group, member_id="m"), version).encode()
        return RealMessage("HeartbeatRequest", version, data, f"{version} {group[:2]}")

    found = [heartbeat(4, "a"), heartbeat(4, "abc"), heartbeat(4, "ab" * 200), heartbeat(3, "abcdef")]
    registry = Registry("kafka_messages", (kafka_messages.REGISTRY._by_name["HeartbeatRequest"],))
    assert examples(found, registry)["HeartbeatRequest"].data == found[1].data
    assert examples(found[2:], registry)["HeartbeatRequest"].source == "4 ab"


def test_forms_have_every_version_with_its_bytes() -> None:
    of_name = {one.name: one for _, one in kafka_specs()}
    for name in ("MetadataResponse", "FetchRequest", "ProduceRequest", "ApiVersionsResponse", "TopicRecord"):
        probe = of_name[name]
        groups = version_groups(probe, HeaderVersions(), modules_of(name))
        versions = [version for group in groups for version in range(group.highest, group.lowest - 1, -1)]
        assert versions == list(reversed(kafka_messages.versions(name)))
        for group in groups:
            for version in range(group.lowest, group.highest + 1):
                assert group.boxes == boxes(resolve(probe, version)), version
        assert all(a.boxes != b.boxes or a.header != b.header for a, b in pairwise(groups))
    heartbeat = version_groups(of_name["HeartbeatRequest"], HeaderVersions(), modules_of("HeartbeatRequest"))
    assert [(group.versions, group.header) for group in heartbeat] == [
        ("4", "RequestHeader v2"),
        ("3", "RequestHeader v1"),
        ("0-2", "RequestHeader v1"),
    ]


def test_pages_lead_to_the_message_that_belongs_to_theirs(pages: dict[str, str]) -> None:
    specs = kafka_specs()
    found = pairs(specs)
    assert all(found[other] == name for name, other in found.items())
    for name, other in {
        "FetchRequest": "FetchResponse",
        "FetchResponse": "FetchRequest",
        "OffsetCommitKey": "OffsetCommitValue",
        "TransactionLogValue": "TransactionLogKey",
        "ShareSnapshotKey": "ShareSnapshotValue",
    }.items():
        assert found[name] == other
        assert f'<a href="{other}.html">{other}</a>' in pages[f"messages/{name}.md"]
    assert "TopicRecord" not in found
    requests = [spec for _, spec in specs if spec.type == "request" and not spec.valid_versions.is_empty]
    assert all(spec.name in found for spec in requests)


def test_every_enum_has_its_table_with_all_that_is_known_of_its_numbers(pages: dict[str, str]) -> None:
    page = pages["messages/enums.md"]
    assert len(enums.__all__) > 40
    tables = dict(zip(enums.__all__, page.split("\n## ")[1:], strict=True))
    for name, table in tables.items():
        enum: type[NamedNumber] = getattr(enums, name)
        assert table.startswith(f"{name}\n")
        rows = re.findall(r"<tr><td>(-?\d+)</td><td><code>(.*?)</code></td>(.*)</tr>", table)
        assert [(int(number), text.replace("<wbr>", "")) for number, text, _ in rows] == [
            (int(one), one.name) for one in enum
        ]
        for one, (_, _, rest) in zip(enum, rows, strict=True):
            assert with_kip_links(one.about) in rest
            assert one.kip is None or f">KIP-{one.kip}</a></td>" in rest
            if isinstance(one, ErrorNumber):
                assert ("<td>retriable</td>" in rest) == one.retriable
            if isinstance(one, MessageNumber) and one.versions:
                assert f'<a href="{one.message}.html">' in rest


def test_every_field_with_names_for_its_numbers_leads_to_their_table(pages: dict[str, str]) -> None:
    keys = {**enums.FIELDS, **enums.BITS}
    seen = set()
    for name in kafka_messages.names():
        for cls in structs_of(name):
            for field in cls.ATTRIBUTES:
                key = f"{cls.__module__.split('.')[1]}.{cls.__name__}.{field.name}"
                if key in keys:
                    seen.add(key)
                    enum, bits = keys[key].__name__, "bits of " * (key in enums.BITS)
                    link = f'<br>{bits}<a href="enums.html#{enum.lower()}">{enum}</a></small>'
                    rows = re.findall(rf"<td><code>{field.name}</code>.*", pages[f"messages/{name}.md"])
                    assert any(link in row for row in rows), key
    assert seen == set(keys)


def modules_of(name: str) -> dict[int, str]:
    folder = ROOT / "generated/kafka_messages" / module_name(name)
    return {version: (folder / f"v{version}.py").read_text() for version in kafka_messages.versions(name)}


def structs_of(name: str) -> set[type[Struct]]:
    """Return all structs of a message, in all versions."""

    def within(cls: type[Struct]) -> set[type[Struct]]:
        return {cls}.union(*(within(one.struct) for one in cls.FIELDS if one.struct and one.struct is not cls))

    return set().union(*(within(kafka_messages.message(name, one)) for one in kafka_messages.versions(name)))


def test_kips_in_texts_are_links(pages: dict[str, str]) -> None:
    assert with_kip_links("a <b> (KIP-1, KIP-22)") == (
        f'a &lt;b&gt; (<a href="{kip_address("KIP-1")}">KIP-1</a>, <a href="{kip_address("KIP-22")}">KIP-22</a>)'
    )
    assert with_kip_links("SKIP-1 KIP-X") == "SKIP-1 KIP-X"
    assert "KIP-22" in kip_address("KIP-22")
    assert f'<a href="{kip_address("KIP-516")}">KIP-516</a>' in pages["messages/MetadataRequest.md"]


def test_words_of_specs_and_bytes_cannot_break_a_page(tmp_path: Path) -> None:
    probe = spec(PROBE.replace('"name": "Plain",', '"name": "Plain", "about": "</td> & <script>",'), tmp_path)
    example = example_of(HeartbeatRequest(group_id="</table><script>").encode(), HeartbeatRequest)
    group = VersionGroup(0, 2, "", boxes(resolve(probe, 2)), highlighted('text = "</div><script>"'))
    rows = version_rows(probe)
    page = MessagePage(
        probe, "Probe.json", "", rows, growth(probe, rows), version_changes(probe, rows), (group,), example, ""
    )
    text = render("message.md.j2", page=page, link="")
    assert "<tr><td>2</td><td>may be null: <code>Items.<wbr>Text</code></td></tr>" in text
    assert "<tr><td>1</td><td>flexible: " in text
    assert "new: <code>Items</code>; new, tagged: <code>Late</code></td></tr>" in text
    assert "<script" not in text
    assert "&lt;/td&gt; &amp; &lt;script&gt;" in text
    assert "&lt;/table&gt;&lt;script&gt;" in text
    assert "<td>group_<wbr>id</td>" in text
    assert "&lt;wbr" not in text
    assert breakable("<a>.b_c") == "&lt;a&gt;.<wbr>b_<wbr>c"
    for element in ("table", "div", "tr", "td", "th", "p"):
        assert len(re.findall(f"<{element}[ >]", text)) == text.count(f"</{element}>")
