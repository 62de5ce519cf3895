"""`kipgen compat --common`: the versions that two sets of specs share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kipgen.commands.app import app
from kipgen.commands.compat.common import shared_versions
from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import Revisions
from kipgen.reading.rules.examples import ALPHA, enum, field_of, spec, tagged_field
from tests.support.cases import some
from tests.support.subjects.compat_changes import VERDICTS, write_revisions


def _kipgen(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(app, ["compat", "--common", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def _pair(name: str, key: int, valid: str, *fields: str, flexible: str = "none") -> tuple[str, str]:
    more = f'"apiKey": {key}'
    request = spec(*fields, name=f"{name}Request", type_="request", valid=valid, flexible=flexible, more=more)
    answer = field_of("int16", "ErrorCode")
    response = spec(answer, name=f"{name}Response", type_="response", valid=valid, flexible=flexible, more=more)
    return request, response


BROKER = field_of("int32", "ControllerId")
EPOCHS = {
    name: field_of("int64", "BrokerEpoch", f"{first}+") for name, first in (("Leaders", 2), ("Cache", 5), ("Stop", 1))
}
FORKED = {
    name: field_of("int64", "MaxBrokerEpoch", f"{first}+")
    for name, first in (("Leaders", 3), ("Cache", 6), ("Stop", 2))
}
"""A fork adds a field to the controller's three requests, in the version that its origin uses for something else."""


def _fork() -> Revisions:
    origin = (
        *_pair("Leaders", 4, "0-4", BROKER, EPOCHS["Leaders"], field_of("[]int32", "Adding", "3+"), flexible="4+"),
        *_pair("Cache", 6, "0-6", BROKER, EPOCHS["Cache"], flexible="6+"),
        *_pair("Stop", 5, "0-2", BROKER, EPOCHS["Stop"], flexible="2+"),
        *_pair("Same", 7, "0-3", BROKER),
        spec(name="OnlyOrigin"),
    )
    fork = (
        *_pair("Leaders", 4, "0-3", BROKER, EPOCHS["Leaders"], FORKED["Leaders"]),
        *_pair("Cache", 6, "0-6", BROKER, EPOCHS["Cache"], FORKED["Cache"]),
        *_pair("Stop", 5, "0-2", BROKER, EPOCHS["Stop"], FORKED["Stop"]),
        *_pair("Same", 7, "1-9", BROKER),
        spec(name="OnlyFork"),
    )
    return Revisions(origin, fork)


def test_fork_and_its_origin_share_the_versions_below_those_that_both_have_invented(tmp_path: Path) -> None:
    done = _kipgen(*write_revisions(tmp_path, _fork()))
    assert done.exit_code == 0
    assert [line for line in done.stdout.splitlines() if not line.startswith(" ")] == [
        "Cache: version 5 (0-6 and 0-6)",
        "Leaders: version 2 (0-4 and 0-3)",
        "Same: version 3 (0-3 and 1-9)",
        "Stop: version 1 (0-2 and 0-2)",
        "on the first side alone: OnlyOrigin",
        "on the second side alone: OnlyFork",
    ]
    assert "    version 3: LeadersRequest.MaxBrokerEpoch: field-added: the field was added" in done.stdout.splitlines()
    assert "    version 2: StopRequest: flexible-versions-changed: flexibleVersions 2+ became none" in done.stdout


def test_json_has_the_shared_versions_and_what_is_in_the_way(tmp_path: Path) -> None:
    done = _kipgen(*write_revisions(tmp_path, _fork()), "--json")
    report = json.loads(done.stdout)
    assert report["alone"] == [["OnlyOrigin"], ["OnlyFork"]]
    leaders = next(one for one in report["messages"] if one["name"] == "Leaders")
    assert leaders == {
        "name": "Leaders",
        "messages": ["LeadersRequest", "LeadersResponse"],
        "newest": 2,
        "versions": [0, 1, 2],
        "sides": ["0-4", "0-3"],
        "next": 3,
        "differences": [
            {"path": "LeadersRequest.Adding", "text": "field-removed: the field was removed"},
            {"path": "LeadersRequest.MaxBrokerEpoch", "text": "field-added: the field was added"},
        ],
        "notes": [],
    }


def test_response_with_other_bytes_counts_for_its_request_and_both_sides_agree(tmp_path: Path) -> None:
    request, response = _pair("Trade", 900, "0-3", ALPHA)
    other = response.replace('"versions": "0+"', '"versions": "0-2"')
    first = compare_paths(*write_revisions(tmp_path / "a", Revisions((request, response), (request, other))))
    second = compare_paths(*write_revisions(tmp_path / "b", Revisions((request, other), (request, response))))
    for compared in (first, second):
        (found,) = shared_versions(compared.pairs)
        assert (found.versions, found.next) == ((0, 1, 2), 3)
    # Versions that a side no longer serves are not spoken; a record has them for ever.
    unserved = [text.replace('"apiKey"', '"servedVersions": "3", "apiKey"') for text in (request, other)]
    done = _kipgen(*write_revisions(tmp_path / "c", Revisions((request, response), tuple(unserved))))
    assert (done.exit_code, done.stdout.splitlines()[0]) == (1, "Trade: no version (0-3 and 3)")


def test_another_header_is_other_bytes(tmp_path: Path) -> None:
    headers = ', "headerVersions": {"0-1": "1", "2+": "2"}', ', "headerVersions": {"0": "1", "1+": "2"}'
    sides = [spec(name="ProbeRequest", type_="request", more=f'"apiKey": 900{more}') for more in headers]
    done = _kipgen(*write_revisions(tmp_path, Revisions((sides[0],), (sides[1],))), "--json")
    (found,) = json.loads(done.stdout)["messages"]
    assert (found["versions"], found["next"]) == ([0, 2, 3], None)


TAGS: dict[str, tuple[tuple[int, ...], int, str, str]] = {
    "a tag of one side": ((0, 1, 2, 3), 1, spec(ALPHA), spec(ALPHA, tagged_field("Beta", 7))),
    "one tag, two fields": ((0, 1), 0, spec(ALPHA, tagged_field("Beta", 7)), spec(ALPHA, tagged_field("Gamma", 7))),
    "one field, two tags": ((0, 1), 0, spec(ALPHA, tagged_field("Beta", 7)), spec(ALPHA, tagged_field("Beta", 8))),
    "another default": (
        (0, 1), 0, spec(ALPHA, tagged_field("Beta", 7)), spec(ALPHA, tagged_field("Beta", 7, default="1")),
    ),
    "another name": ((0, 1, 2, 3), 1, spec(ALPHA), spec(ALPHA.replace("Alpha", "Beta"))),
    "a tag within a renamed field": (
        (0, 1), 1,
        spec(field_of("[]Inner", "One", fields=[ALPHA, tagged_field("Beta", 7)])),
        spec(field_of("[]Inner", "Two", fields=[ALPHA, tagged_field("Gamma", 7)])),
    ),
    "another apiKey": (
        (), 0,
        spec(name="ProbeRequest", type_="request", more='"apiKey": 900'),
        spec(name="ProbeRequest", type_="request", more='"apiKey": 901'),
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", TAGS)
def test_tags_and_names(row: str, tmp_path: Path) -> None:
    versions, notes, first, second = TAGS[row]
    for side, texts in (("a", (first, second)), ("b", (second, first))):
        compared = compare_paths(*write_revisions(tmp_path / side, Revisions((texts[0],), (texts[1],))))
        (found,) = shared_versions(compared.pairs)
        assert (found.versions, len(found.notes)) == (versions, notes)


def test_numbers_with_other_names_are_the_same_bytes_and_a_note(tmp_path: Path) -> None:
    values = [[f'{{"value": 0, "name": "{name}", "about": "A state."}}'] for name in ("OFF", "DARK")]
    enums = enum(*values[0]), enum(*values[1], name="Mood")
    first, second = (spec(field_of("int8", enum=name)) for name in ("Light", "Mood"))
    done = _kipgen(*write_revisions(tmp_path, Revisions((first, *enums), (second, *enums))))
    note = "    note: Probe.Alpha: enum-changed: enum Light became Mood: 0 was OFF, is now DARK"
    assert (done.exit_code, done.stdout.splitlines()) == (0, ["Probe: version 3 (0-3 and 0-3)", note])


@pytest.mark.parametrize("row", some(list(VERDICTS)))
def test_sides_may_be_exchanged(row: str, tmp_path: Path) -> None:
    _, first, second = VERDICTS[row]
    there = compare_paths(*write_revisions(tmp_path / "there", Revisions((first,), (second,))))
    back = compare_paths(*write_revisions(tmp_path / "back", Revisions((second,), (first,))))
    found = [[one.versions for one in shared_versions(it.pairs)] for it in (there, back)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--columns"], "leave out --columns"),
        (["--wire-only"], "leave out --wire-only"),
        (["--allow", "field-added:*=x"], "leave out --allow"),
        (["--sarif", "-"], "leave out SARIF"),
        (["--format", "sarif"], "leave out SARIF"),
        (["--against", "a", "--against", "b"], "leave out all --against but one"),
    ],
)
def test_what_goes_with_findings_alone_is_refused(more: list[str], said: str, tmp_path: Path) -> None:
    done = _kipgen(*write_revisions(tmp_path, Revisions((spec(),), (spec(),))), *more)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
