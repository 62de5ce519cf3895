"""`kipgen advise --tags`: its figures are the bytes that classes write, with and without the tags that it advises."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from shutil import copy
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafka_messages
from kafka_messages.fetch_response.v18 import FetchResponse
from kipgen.commands.advise.savings import AdviceError
from kipgen.commands.advise.tag_counts import TagCounts
from kipgen.commands.advise.tag_savings import MessageAdvice, TagAdvice, advise_on_tags
from kipgen.reading.check import read_bytes, read_file
from kipwire import Message
from kipwire.description.trace import Element, trace
from kipwire.testing.strategies import messages
from tests.support import golden_data
from tests.support.places import DATA, ROOT
from tests.support.spec_package import Classes, classes_of, generated
from tests.support.subjects.advice import CAPTURE, METADATA, SPECS, as_json, captured, run

SEGMENTS = DATA / "segments"
KAFKA = ROOT / "schemas" / "kafka_messages"
GROUP, SHARE = KAFKA / "group-coordinator", KAFKA / "share-coordinator"
OFFSETS = SEGMENTS / "__consumer_offsets-3"


def counted(*given_: Message) -> TagCounts:
    counts = TagCounts(given_[0].NAME)
    for message in given_:
        counts.add(message)
    return counts


# Bytes, counted from the fields of classes, are the bytes that the generated code writes.


@pytest.mark.parametrize("name", ["Message", "Nullables", "Overrides", "TaggedDefaults", "WorkedTags", "Encodings"])
def test_the_bytes_of_any_message_are_the_bytes_that_it_has(name: str, forms: Classes) -> None:
    @settings(max_examples=5)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        for version in forms.package.versions(name):
            message = data.draw(messages(forms.package.message(name, version)))
            counts = counted(message)
            assert counts.flexible.bytes + counts.others.bytes == message.encoded_size()

    check()


@pytest.mark.night
def test_the_bytes_of_every_message_are_the_bytes_that_it_has() -> None:
    for (name, version), lines in golden_data.messages().items():
        cls = kafka_messages.message(name, version)
        for line in lines:
            message = golden_data.message_of(cls, line)
            counts = counted(message)
            assert counts.flexible.bytes + counts.others.bytes == message.encoded_size(), (name, version)


def items_of(message: Message) -> Counter[str]:
    """Count bytes in the encoded message item by item, as `kipwire inspect` shows them."""
    found: Counter[str] = Counter()

    def add(item: Element) -> None:
        if item.role == "tags":
            found["empty" if item.value == 0 else "other"] += 1
        elif item.prefix == "uvarint_plus_one":
            assert item.field is not None
            fixed = 2 if item.role == "length" and item.field.element == "string" else 4
            found["lengths"] += fixed - (item.end - item.start)

    trace(type(message), message.encode(), 0, add)
    return found


def captured_messages(*names: str) -> list[Message]:
    found = []
    for name in names:
        for entry, frame in captured(name):
            answered = (entry["api_key"], entry["api_version"])
            is_request = entry["dir"] == "req"
            found.append(
                (
                    kafka_messages.decode_request(frame)
                    if is_request
                    else kafka_messages.decode_response(frame, *answered)
                )[1]
            )
    return found


@pytest.fixture(scope="module")
def capture() -> dict[str, Any]:
    """The advice on all messages of the capture; the messages by their names."""
    result = as_json(SPECS, "--tags", "--samples", CAPTURE)
    return result | {"messages": {one["message"]: one for one in result["messages"]}}


def test_lengths_and_sections_are_those_of_the_bytes(capture: dict[str, Any]) -> None:
    for name in ("MetadataResponse", "CreateTopicsResponse"):
        found: Counter[str] = Counter()
        for message in captured_messages(name):
            found += items_of(message)
        forms = capture["messages"][name]["flexible"]
        assert (found["lengths"], found["empty"]) == (forms["saved_by_lengths"], forms["empty_sections"])
        assert found["other"] == forms["other_sections"]


def test_the_capture_has_these_figures(capture: dict[str, Any]) -> None:
    whole = capture["flexible"]
    assert (whole["messages"], whole["saved_by_lengths"], whole["empty_sections"]) == (2186, 21_854, 14_153)
    assert whole["bytes"] == capture["samples"]["bytes"]
    assert capture["inflexible"]["messages"] == 0
    fields = capture["messages"]["FetchResponse"]["fields"]
    (field,) = (one for one in fields if one["path"] == "ThrottleTimeMs")
    assert (field["count"], field["at_default"], field["net"]) == (520, 520, 2080)
    assert capture["saved"] == sum(one["saved"] for one in capture["messages"].values())


@pytest.mark.night
def test_the_figures_of_the_capture_are_those_of_its_bytes() -> None:
    found: Counter[str] = Counter()
    for spec in SPECS.glob("*.json"):
        for message in captured_messages(spec.stem):
            found += items_of(message)
    assert (found["lengths"], found["empty"]) == (21_854, 14_153)


# Classes with the tags, and without flexible versions, write what was promised.


def edited(name: str, **changes: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(re.sub(r"(?m)^\s*//.*$", "", (SPECS / f"{name}.json").read_text()))
    return {**document, **changes}


def put_in(document: dict[str, Any], path: str, properties: str) -> None:
    here = document
    for name in path.split("."):
        here = next(field for field in here["fields"] if field["name"] == name)
    here.update(json.loads(f"{{{properties}}}"))


NEXT = 19


def with_all_tags(document: dict[str, Any], fields: list[dict[str, Any]]) -> int:
    """Tag every field that may be, also where it costs more; return what that is said to save."""
    saved, used = 0, Counter(field["path"].rpartition(".")[0] for field in fields if field["tagged"])
    for field in fields:
        outer, leaf = field["path"].rpartition(".")[::2]
        if field["note"] or any(other["path"].startswith(f"{field['path']}.") for other in fields):
            continue
        tag, used[outer] = used[outer], used[outer] + 1
        put_in(document, field["path"], f'"taggedVersions": "{NEXT}+", "tag": {tag}')
        saved += field["net"]
        assert leaf
    return saved


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The captured responses of the newest version as JSON lines, and the advice on them."""
    lines = tmp_path_factory.mktemp("samples") / "fetched.jsonl"
    bodies = [one for one in captured_messages("FetchResponse") if one.VERSION == NEXT - 1][::3]
    lines.write_text("".join(f"{json.dumps(one.to_json())}\n" for one in bodies))
    return lines, as_json("FetchResponse", "--tags", "--version", NEXT - 1, "--samples", lines)


def test_generated_code_saves_and_costs_just_the_bytes_that_were_promised(
    fetched: tuple[Path, dict[str, Any]], capture: dict[str, Any], tmp_path: Path
) -> None:
    lines, result = fetched
    folder = tmp_path / "specs"
    folder.mkdir()
    advised, all_tags = (edited("FetchResponse", validVersions=f"4-{NEXT}") for _ in range(2))
    for field in result["fields"]:
        if field["text"]:
            put_in(advised, field["path"], field["text"])
    all_tags |= {"name": "AllResponse", "apiKey": 900}
    saved_by_all = with_all_tags(all_tags, result["fields"])
    assert 0 < saved_by_all < result["saved"]
    # Before KIP-482: no flexible version, so no tags either, in a message that has none.
    inflexible = edited("MetadataResponse", flexibleVersions="none", validVersions="13")
    inflexible["apiKey"], inflexible["name"] = 901, "InflexibleResponse"
    for document in (advised, all_tags, inflexible):
        spec = folder / f"{document['name']}.json"
        spec.write_text(json.dumps(document))
        assert [str(one) for one in read_file(spec).problems if one.severity == "error"] == []
    for request, key, like in (
        ("FetchRequest", 1, "Fetch"),
        ("AllRequest", 900, "All"),
        ("InflexibleRequest", 901, ""),
    ):
        versions = ("4", NEXT) if like else ("13", 13)
        (folder / f"{request}.json").write_text(
            json.dumps(
                {
                    "apiKey": key,
                    "type": "request",
                    "name": request,
                    "validVersions": f"{versions[0]}-{versions[1]}",
                    "flexibleVersions": "12+" if like else "none",
                    "fields": [],
                }
            )
        )
    copy(SPECS.parent / "enums" / "AclOperation.enum.json", folder)
    with generated(folder, "advised_tags", tmp_path) as package:
        _compare_bytes(package, lines, result["saved"], saved_by_all)
        metadata = captured_messages("MetadataResponse")
        forms = capture["messages"]["MetadataResponse"]["flexible"]
        old = package.message("InflexibleResponse", 13)
        longer = sum(old.from_json(one.to_json()).encoded_size() - one.encoded_size() for one in metadata)
        assert longer == forms["saved_by_lengths"] - forms["empty_sections"] > 0
        before = counted(*(old.from_json(one.to_json()) for one in metadata)).others
        assert (before.lengths, before.empty_sections) == (forms["saved_by_lengths"], forms["empty_sections"])
        assert before.bytes == forms["bytes"] + longer


def _compare_bytes(package: ModuleType, lines: Path, saved: int, saved_by_all: int) -> None:
    sizes: Counter[str] = Counter()
    for line in lines.read_text().splitlines():
        value = json.loads(line)
        sizes["now"] += FetchResponse.from_json(value).encoded_size()
        for name in ("FetchResponse", "AllResponse"):
            cls = package.message(name, NEXT)
            message = cls.from_json(value)
            assert cls.decode(message.encode()) == message
            sizes[name] += message.encoded_size()
    assert sizes["now"] - sizes["FetchResponse"] == saved
    assert sizes["now"] - sizes["AllResponse"] == saved_by_all


# Which fields are advised.


SPEC = """{{"name": "Sample", "type": "{type_}", "validVersions": "0-1", "flexibleVersions": "{flexible}"{more},
 "commonStructs": [{{"name": "Shared", "versions": "0+", "fields": [
   {{"name": "Epoch", "type": "int32", "versions": "0+"}}]}}],
 "fields": [{fields}]}}"""
ALPHA = '{"name": "Alpha", "type": "int32", "versions": "0+"}'
_classes: dict[str, dict[int, Any]] = {}


def advice_on(
    tmp_path: Path,
    *values: dict[str, Any],
    fields: str = ALPHA,
    type_: str = "data",
    flexible: str = "1+",
    more: str = "",
    used: dict[str, frozenset[int]] | None = None,
) -> MessageAdvice:
    """Advice for a spec with messages of version 1."""
    text = SPEC.format(type_=type_, flexible=flexible, more=more, fields=fields)
    if text not in _classes:
        _classes[text] = classes_of(text, f"sample_of_tags_{len(_classes)}", tmp_path)
    spec = read_bytes(text.encode(), "Sample.json").spec
    assert spec is not None
    cls = _classes[text][1]
    return advise_on_tags(spec, counted(*(cls.from_json(value) for value in values)), used or {})


def field_of(advice: MessageAdvice, path: str = "Alpha") -> TagAdvice:
    return next(field for field in advice.fields if field.path == path)


def test_a_field_is_tagged_where_that_is_shorter_over_all_messages(tmp_path: Path) -> None:
    # At its default an int32 saves 4 bytes; a tag and a size cost 2.
    rare = advice_on(tmp_path, {"alpha": 0}, {"alpha": 1})
    assert (field_of(rare).saves, field_of(rare).costs, rare.saved) == (4, 2, 2)
    assert field_of(rare).text == '"taggedVersions": "2+", "tag": 0'
    often = advice_on(tmp_path, {"alpha": 0}, {"alpha": 1}, {"alpha": 2})
    assert (field_of(often).net, field_of(often).text, often.saved) == (0, "", 0)


@pytest.mark.parametrize(
    ("field", "options", "note"),
    [
        ('"mapKey": true', {}, "a key, which is never left out"),
        ('"versions": "0-1"', {}, "not in version 2, the next one"),
        ('"versions": "0-7"', {}, "its versions have an end"),
        ('"versions": "1+", "tag": 0, "taggedVersions": "1+"', {}, "tagged already"),
        ('"type": "records"', {}, "records, which Kafka's generator cannot tag"),
        ('"type": "string", "flexibleVersions": "none"', {}, "has flexibleVersions of its own"),
    ],
)
def test_fields_that_cannot_be_tagged_are_named_with_the_reason(
    field: str, options: dict[str, str], note: str, tmp_path: Path
) -> None:
    parts = {"type": '"int32"', "versions": '"0+"', **dict(re.findall(r'"(\w+)": ("[^"]*"|true|\d+)', field))}
    given_ = ", ".join(f'"{name}": {value}' for name, value in parts.items())
    fields = f'{{"name": "Outer", "type": "[]Outer", "versions": "0+", "fields": [{{"name": "Alpha", {given_}}}]}}'
    value = {"int32": 0, "string": "", "records": ""}[parts["type"].strip('"')]
    advice = advice_on(tmp_path, {"outer": [{"alpha": value}]}, fields=fields, **options)  # type: ignore[arg-type]
    found = field_of(advice, "Outer.Alpha")
    assert note in found.note
    assert (found.text, advice.saved) == ("", 0)


def test_a_plain_field_in_the_data_of_a_tagged_one_keeps_its_form(tmp_path: Path) -> None:
    fields = '{"name": "Outer", "type": "Shared", "versions": "1+", "taggedVersions": "1+", "tag": 3}'
    advice = advice_on(tmp_path, {"outer": {"epoch": 7}}, {"outer": {"epoch": 0}}, fields=fields)
    assert "part of the tagged field Outer, which keeps its form" in field_of(advice, "Outer.Epoch").note
    outer = field_of(advice, "Outer")
    assert (outer.tag, outer.is_tagged, outer.saves, outer.costs) == (3, True, 5, 2)


def test_of_a_struct_and_its_fields_only_one_gets_a_tag(tmp_path: Path) -> None:
    fields = '{"name": "One", "type": "Shared", "versions": "0+"}, {"name": "Two", "type": "Shared", "versions": "0+"}'
    advice = advice_on(tmp_path, {"one": {"epoch": 0}, "two": {"epoch": 3}}, fields=fields)
    assert [field.path for field in advice.fields if field.text] == ["One"]
    shared = field_of(advice, "One.Epoch")
    assert shared.paths == ("One.Epoch", "Two.Epoch")
    assert shared.note == "not together with One, which saves more"
    assert (shared.saves, shared.costs) == (4, 2)


def test_tags_are_the_lowest_that_were_never_used(tmp_path: Path) -> None:
    beta = '{"name": "Beta", "type": "int64", "versions": "0+"}'
    tagged = '{"name": "Gamma", "type": "int8", "versions": "1+", "taggedVersions": "1+", "tag": 1}'
    advice = advice_on(
        tmp_path,
        {"alpha": 0, "beta": 0},
        fields=f"{ALPHA}, {beta}, {tagged}",
        more=', "reservedTags": [0]',
        used={"": frozenset({3})},
    )
    assert {field.path: field.tag for field in advice.fields if field.text} == {"Beta": 2, "Alpha": 4}


def test_a_message_without_flexible_versions_would_get_them_first(tmp_path: Path) -> None:
    advice = advice_on(tmp_path, {"alpha": 0}, flexible="none")
    assert (advice.counts.flexible.messages, advice.counts.others.messages) == (0, 1)
    assert not advice.is_flexible_next
    assert advice.saved == 4


def test_samples_of_another_spec_of_that_name_are_refused(tmp_path: Path) -> None:
    advice = advice_on(tmp_path, {"alpha": 0})
    other = read_bytes(SPEC.format(type_="data", flexible="1+", more="", fields="").encode(), "Sample.json").spec
    assert other is not None
    with pytest.raises(AdviceError, match="the samples have the fields Alpha, but the spec of Sample has not"):
        advise_on_tags(other, advice.counts, {})


# The command.


def test_text_has_the_figures_and_the_lines_to_paste(fetched: tuple[Path, dict[str, Any]]) -> None:
    lines, result = fetched
    text = run("FetchResponse", "--tags", "--version", NEXT - 1, "--samples", lines).stdout
    assert f"Compact lengths save {result['flexible']['saved_by_lengths']:,} bytes; " in text
    assert f"{result['flexible']['empty_sections']:,} empty tag sections cost as many bytes." in text
    assert 'once "validVersions" is "0-19" there and in its request:' in text
    assert '    "taggedVersions": "19+", "tag": 1\n' in text
    assert f"Saved by tags in all: {result['saved']:,} of " in text


def test_a_tagged_field_that_is_always_sent_is_shown_with_what_it_costs() -> None:
    result = as_json(GROUP, "--tags", "--samples", OFFSETS)
    by_name = {one["message"]: one for one in result["messages"]}
    id_ = next(field for field in by_name["OffsetCommitValue"]["fields"] if field["path"] == "topicId")
    assert (id_["tagged"], id_["at_default"], id_["costs"]) == (True, 0, 2 * id_["count"])
    text = run(GROUP, "--tags", "--samples", OFFSETS).stdout
    assert re.search(r"Tagged fields that cost more than they save *\n(.*\n)*? OffsetCommitValue.topicId .* -18 ", text)


def test_a_segment_is_read_by_itself_and_in_its_folder() -> None:
    (segment,) = OFFSETS.glob("*.log")
    encodings, tags = as_json("OffsetCommitValue", "-s", segment), as_json("OffsetCommitValue", "--tags", "-s", OFFSETS)
    assert tags["samples"] == encodings["samples"]
    assert tags["samples"]["messages"] == 9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([METADATA, "--tags", "--samples", CAPTURE, "--plot", "a.png"], "--plot draws encodings; leave it out"),
        ([SHARE, "--tags", "--samples", "LINES"], "JSON lines do not say which message they are"),
        ([SHARE, "--tags", "--samples", SEGMENTS / "orders-0"], "is a log of orders; only records of"),
        ([METADATA, "--tags", "--samples", OFFSETS], "has no requests and responses"),
        ([KAFKA / "metadata", "--tags", "--samples", CAPTURE], "contains only requests and responses"),
        (
            [ROOT / "schemas" / "kafka_records", "--tags", "--samples", CAPTURE],
            "has no message whose next version could have tags",
        ),
    ],
)
def test_a_command_that_cannot_be_carried_out_says_why(arguments: list[object], said: str, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text('{"version": 0, "message": {}}\n')
    done = run(*(tmp_path / "lines.jsonl" if one == "LINES" else one for one in arguments))
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert (done.stdout, len(done.stderr.splitlines())) == ("", 1)
