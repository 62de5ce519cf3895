"""The side that a finding of `kipgen compat` wants to be upgraded first, beside the bytes of both sides' classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import Phase, find, settings
from hypothesis.errors import NoSuchExample

from kipgen.commands.app import app
from kipgen.commands.compat.direction import CONDITIONS
from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import ALL, Revisions
from kipgen.language.layout_properties import PROPERTIES
from kipgen.reading.rules.examples import field_of, layout, spec, tagged_field
from kipwire.model.errors import DecodeError
from kipwire.testing import messages
from tests.support.spec_package import classes_of
from tests.support.subjects.compat_changes import REFUSED, VERDICTS, VERSIONS, compare_texts, write_revisions

BITS = field_of("int8", "Attributes", bits=[{"name": "Kind", "bits": "0-2"}, {"name": "IsLast", "bits": "4"}])
VALUE = {"size": "int32", "nullableVersions": "0+"}
FLAT = field_of("int32", versions="0+"), field_of("uint32", "Crc")
ITEM = [field_of("int32", "Leaf")]
NO_CONDITIONS = {"absentIf", "bits", "count", "presentIf", "required", "size", "sizeOf", "sizeOnlyWith"}
"""The properties of record formats that change bytes or attributes; the others only demand something of them."""


def _one_way(wider: str, narrower: str) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    return ("readers", narrower, wider), ("writers", wider, narrower)


ONE_WAY = {
    "string or null": _one_way(spec(field_of("string", nullableVersions="0+")), spec(field_of("string"))),
    "array or null": _one_way(spec(field_of("[]int8", nullableVersions="1+")), spec(field_of("[]int8"))),
    "tag in more versions": _one_way(spec(tagged_field(versions="2+")), spec(tagged_field(versions="3+"))),
    "constant": _one_way(layout(field_of("int8")), layout(field_of("int8", constant="7"))),
    "checksum": _one_way(
        layout(*FLAT), layout(FLAT[0], field_of("uint32", "Crc", checksum={"algorithm": "crc32", "from": "Alpha"}))
    ),
    "required": _one_way(
        layout(BITS, field_of("bytes", **VALUE)), layout(BITS, field_of("bytes", **VALUE, requiredIf="IsLast"))
    ),
    "sorted": _one_way(
        layout(field_of("[]Item", fields=ITEM, count="int16")),
        layout(field_of("[]Item", fields=[field_of("int32", "Leaf", mapKey=True)], count="int16", sorted=True)),
    ),
    "same length": _one_way(
        layout(field_of("[]int8"), field_of("[]int8", "Beta")),
        layout(field_of("[]int8"), field_of("[]int8", "Beta", sameLengthAs="Alpha")),
    ),
}
ROWS: dict[str, tuple[str | None, str, str]] = {
    **{f"{name}, {row[0]} first": row for name, rows in ONE_WAY.items() for row in rows},
    "struct or null": (
        None,
        spec(field_of("Inner", fields=ITEM)),
        spec(field_of("Inner", nullableVersions="0+", fields=ITEM)),
    ),
    "type": (None, spec(), spec(field_of("int64"))),
}
"""Changes of bytes: the side that must be upgraded first, the old spec and the new one."""


_OFTEN = [row if not row.endswith("writers first") else pytest.param(row, marks=pytest.mark.night) for row in ROWS]


def test_every_property_of_record_formats_is_a_condition_or_more() -> None:
    assert {one.name for one in PROPERTIES.values()} == CONDITIONS ^ NO_CONDITIONS


@pytest.mark.parametrize("row", _OFTEN)
def test_side_to_upgrade_first_follows_the_bytes(row: str, tmp_path: Path) -> None:
    first, old, new = ROWS[row]
    found = [one for one in compare_texts(tmp_path / "specs", old, new) if one.severity == "wire"]
    assert {one.first for one in found} == {first}
    _check_bytes(row, first, old, new, max(found[0].versions), tmp_path)


OF_BYTES = {
    **{row: (old, new) for row, (verdict, old, new) in VERDICTS.items() if verdict == REFUSED},
    **{f"rule {rule.id}": (rule.bad.old[0], rule.bad.new[0]) for rule in ALL if rule.severity == "wire"},
}


@pytest.mark.night
@pytest.mark.parametrize("row", OF_BYTES)
def test_no_finding_has_the_wrong_side(row: str, tmp_path: Path) -> None:
    old, new = OF_BYTES[row]
    found = [one for one in compare_texts(tmp_path / "specs", old, new) if one.severity == "wire" and one.first]
    if found and all(one.versions and one.first == found[0].first for one in found):
        _check_bytes(row, found[0].first, old, new, max(found[0].versions), tmp_path)


def _check_bytes(row: str, first: str | None, old: str, new: str, version: int, folder: Path) -> None:
    name = "".join(letter if letter.isalnum() else "_" for letter in row)
    before, after = (
        classes_of(text, f"{side}_{name}", folder).get(version) for side, text in (("first", old), ("then", new))
    )
    if before is not None and after is not None:
        assert _is_misread(writer=after, reader=before) == (first != "writers")
        assert _is_misread(writer=before, reader=after) == (first != "readers")


def _is_misread(writer: Any, reader: Any) -> bool:
    def differs(message: Any) -> bool:
        data = writer.from_json(message.to_json()).encode()
        try:
            read = reader.decode(data)
            was, now = message.to_json(), read.to_json()
            # Constants and checksums are attributes of one side alone.
            return bool(read.encode() != data or any(was[name] != now[name] for name in was.keys() & now.keys()))
        except DecodeError:
            return True

    try:
        find(
            messages(writer, long=False),
            differs,
            settings=settings(phases=(Phase.generate,), database=None, max_examples=60),
        )
    except NoSuchExample:
        return False
    return True


TYPES = ("request", "response", "metadata", "data")


@pytest.mark.parametrize("type_", TYPES)
def test_versions_have_a_side_where_nobody_negotiates(type_: str, tmp_path: Path) -> None:
    key = '"apiKey": 7' if type_ not in ("data",) else ""
    name = f"Probe{type_.title()}" if type_ in ("request", "response") else "Probe"

    def sides(valid: str, *more: str) -> dict[str, str | None]:
        old, new = (spec(name=name, type_=type_, valid=one, more=key) for one in ("1-2", valid))
        return {one.rule.id: one.first for one in compare_texts(tmp_path / f"{valid}{len(more)}", old, new, *more)}

    is_negotiated = type_ in ("request", "response")
    assert sides("1") == {"highest-version-lowered": None if is_negotiated else "writers"}
    assert sides("2") == {"lowest-version-raised": None if is_negotiated else "writers"}
    assert set(sides("1-3", VERSIONS).values()) == {None if is_negotiated else "readers"}
    # Without ApiVersions servers go first, which read requests and write responses.
    assert set(sides("1-3").values()) == {"writers" if type_ == "response" else "readers"}


def test_peers_of_a_request_are_upgraded_before_it_is_refused(tmp_path: Path) -> None:
    def request(more: str = "") -> str:
        return spec(name="ProbeRequest", type_="request", more=f'"apiKey": 900{more}')

    refused = {
        "listeners-narrowed": (request(', "listeners": ["broker", "controller"]'), request(', "listeners": []')),
        "served-versions-narrowed": (request(), request(', "servedVersions": "none"')),
        "message-retired": (request(), request().replace('"0-3"', '"none"')),
    }
    for rule, texts in refused.items():
        (found,) = compare_texts(tmp_path / rule, *texts)
        assert (found.rule.id, found.severity, found.first) == (rule, "notice", "writers")
    gone = Revisions((request(), spec()), (spec(),))
    (found,) = compare_paths(*write_revisions(tmp_path / "gone", gone)).findings
    assert (found.rule.id, found.first) == ("message-removed", "writers")
    # A message that is no longer served needs no listener, and one that gets a listener loses none.
    more = ', "listeners": ["broker"]'
    assert not compare_texts(tmp_path / "more", request(more), request(more.replace("]", ', "controller"]')))
    unserved = request(', "servedVersions": "none"')
    rules = [one.rule.id for one in compare_texts(tmp_path / "unserved", request(more), unserved)]
    assert rules == ["served-versions-narrowed"]


def test_side_is_told_in_text_json_annotations_and_sarif(tmp_path: Path) -> None:
    paths = write_revisions(
        tmp_path, Revisions((spec(field_of("string")),), (ROWS["string or null, readers first"][2],))
    )
    for format_, told in (
        ("text", "    first:   upgrade readers, since old ones cannot read what new writers write\n    instead:"),
        ("json", '"first": "readers"'),
        ("github", "; first: upgrade readers, since old ones cannot read what new writers write; instead:"),
        ("sarif", "First: upgrade readers, since old ones cannot read what new writers write. Instead:"),
    ):
        done = CliRunner().invoke(app, ["compat", *map(str, paths), "--format", format_])
        assert (done.exit_code, told in done.stdout) == (1, True), done.stdout
