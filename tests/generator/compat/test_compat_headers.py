"""The header before a released version stays: what `kipgen compat` says of it is what the bytes of frames show."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kafka_messages
from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import Revisions
from kipgen.reading.rules.examples import spec
from tests.support.places import DATA
from tests.support.spec_package import classes_of
from tests.support.subjects.compat_changes import VERSIONS, write_revisions

if TYPE_CHECKING:
    from kipgen.commands.compat.model import Finding

HEADER = (DATA / "cases" / "headers-of-trunk" / "RequestHeader.json").read_text()
OLD_HEADER = HEADER.replace('"0-3"', '"0-2"')


def request(headers: object = None, *, valid: str = "0-3", more: str = "", name: str = "Probe", key: int = 900) -> str:
    said = f', "headerVersions": {json.dumps(headers)}' if headers else ""
    return spec(name=f"{name}Request", type_="request", valid=valid, more=f'"apiKey": {key}{said}{more}')


def compared(folder: Path, old: tuple[str, ...] | str, new: tuple[str, ...] | str) -> tuple[Finding, ...]:
    texts = [(side,) if isinstance(side, str) else side for side in (old, new)]
    return compare_paths(*write_revisions(folder, Revisions(texts[0], texts[1]))).findings


WAYS: list[dict[str, str] | None] = [
    None,
    {"0-1": "1", "2+": "2"},
    {"0-1": "0", "2+": "2"},
    {"0": "0", "1": "1", "2-3": "2"},
    {"0": "0", "1+": "2"},
    {"0": "1", "1+": "2"},
    {"0+": "2"},
]
"""The headers that a request of four versions, flexible from 2 on, can have."""


def frame_of(cls: Any) -> bytes:
    header: Any = kafka_messages.message("RequestHeader", cls.HEADER_VERSION)
    values: dict[str, Any] = {} if cls.HEADER_VERSION == 0 else {"client_id": "me"}
    start: bytes = header(request_api_key=900, request_api_version=cls.VERSION, **values).encode()
    return start + bytes(cls(alpha=1).encode())


def test_a_finding_is_where_the_frames_differ_and_nowhere_else(tmp_path: Path) -> None:
    texts = [request(headers) for headers in WAYS]
    classes = [classes_of(text, f"frames_with_headers_{number}", tmp_path) for number, text in enumerate(texts)]
    frames = [{version: frame_of(cls) for version, cls in one.items()} for one in classes]
    seen = set()
    for old, new in itertools.product(range(len(WAYS)), repeat=2):
        found = compared(tmp_path / f"{old}-{new}", texts[old], texts[new])
        assert {(one.rule.id, one.severity) for one in found} <= {("header-changed", "wire")}
        differing = {version for version in frames[old] if frames[old][version] != frames[new][version]}
        assert {version for one in found for version in one.versions} == differing
        seen.add(bool(differing))
    assert seen == {True, False}


def test_a_finding_says_which_header_became_which_and_where(tmp_path: Path) -> None:
    old, new = request({"0": "0", "1": "1", "2+": "2"}), request({"0-1": "1", "2+": "2"})
    (found,) = compared(tmp_path, old, new)
    assert (found.path, found.text) == ("ProbeRequest", "header version 0 became 1 (version 0)")
    assert (found.location.line, found.location.column) == (2, 36)
    (derived,) = compared(tmp_path / "derived", request(), new.replace('"0-1": "1"', '"0": "0", "1": "1"'))
    assert derived.text == "header version 1 became 0 (version 0)"


def test_the_case_of_kafkas_trunk_is_no_change(tmp_path: Path) -> None:
    def pair(headers: str) -> tuple[str, ...]:
        more = f'"apiKey": 900, "headerVersions": {{"0+": "{headers}"}}' if headers else '"apiKey": 900'
        kinds = ("request", "Request"), ("response", "Response")
        return tuple(spec(name=f"Trade{name}", type_=type_, flexible="0+", more=more) for type_, name in kinds)

    after = (pair("2")[0], pair("1")[1])
    assert compared(tmp_path / "out", pair(""), after) == ()
    assert compared(tmp_path / "back", after, pair("")) == ()


def test_a_new_version_may_have_a_new_header(tmp_path: Path) -> None:
    new = request({"0-1": "1", "2-3": "2", "4+": "3"}, valid="0-4")
    for more, rule in (((VERSIONS,), "versions-added"), ((), "version-not-agreed")):
        found = compared(tmp_path / rule, (OLD_HEADER, request(), *more), (HEADER, new, *more))
        assert {(one.path, one.rule.id) for one in found} == {("RequestHeader", rule), ("ProbeRequest", rule)}


def test_a_new_version_of_the_header_is_one_finding_for_all_that_do_not_say_theirs(tmp_path: Path) -> None:
    others = request(name="Other", key=901), request({"0-1": "1", "2+": "2"}, name="Third", key=902)
    found = compared(tmp_path, (OLD_HEADER, request(), *others), (HEADER, request(), *others))
    (serious,) = [one for one in found if one.severity != "notice"]
    assert (serious.path, serious.rule.id, serious.location.line) == ("RequestHeader", "header-changed", 5)
    assert serious.text == ("header version 2 became 3 of ProbeRequest and 1 other message without headerVersions")
    said = request({"0-1": "1", "2+": "2"}), others[0]
    (one,) = [
        one for one in compared(tmp_path / "said", (OLD_HEADER, *others), (HEADER, *others)) if one.severity != "notice"
    ]
    assert one.text == "header version 2 became 3 of OtherRequest without headerVersions"
    found = compared(tmp_path / "kept", (OLD_HEADER, request()), (HEADER, said[0]))
    assert {one.severity for one in found} == {"notice"}


def test_an_old_header_with_errors_changes_no_message(tmp_path: Path) -> None:
    """Kafka's headers, which a package without its own has, are not what the old one had."""
    header = HEADER.replace('"0-3"', '"0-1"')
    found = compared(tmp_path, (header.replace("int16", "int15"), request()), (header, request()))
    assert found == ()


@pytest.mark.parametrize(("unstable", "severity"), [("", "wire"), (', "latestVersionUnstable": true', "notice")])
def test_an_unstable_version_may_get_another_header(unstable: str, severity: str, tmp_path: Path) -> None:
    old, new = ({"0-1": "1", "2": "2", "3": number} for number in ("2", "3"))
    found = compared(tmp_path, (HEADER, request(old, more=unstable)), (HEADER, request(new, more=unstable)))
    assert [(one.rule.id, one.severity) for one in found] == [("header-changed", severity)]


def test_a_version_that_becomes_flexible_is_one_finding(tmp_path: Path) -> None:
    old = request().replace('"2+"', '"none"')
    for new in (request(), request({"0-1": "1", "2+": "2"})):
        folder = tmp_path / str(len(new))
        assert [one.rule.id for one in compared(folder, old, new)] == ["flexible-versions-changed"]
