"""`headerVersions` (KIP-1313): each mistake is one error with its place, and else the header is the one it says."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kipgen.language.spec import HEADERS, KAFKA_HEADERS
from kipgen.package.generate import apply_changes, find_changes
from kipgen.python.render import registry_entry
from kipgen.reading.check import read_file, read_folder
from kipgen.reading.enum_spec import is_enum_file
from kipgen.reading.rules.examples import spec
from kipgen.resolve.headers import HeaderVersions, header_versions, numbers_of, ranges_of
from kipgen.resources import kafka_spec, kafka_specs
from tests.support.places import DATA
from tests.support.subjects.drifting_specs import drifted, jar
from tests.support.subjects.rule_checks import check_text

SPECS = DATA / "cases" / "headers-of-trunk"


def request(headers: str, *, type_: str = "request", valid: str = "0-3", flexible: str = "2+", key: int = 900) -> str:
    name = f"Probe{type_.capitalize()}"
    return spec(
        name=name, type_=type_, valid=valid, flexible=flexible, more=f'"apiKey": {key},\n  "headerVersions": {headers}'
    )


MISTAKES = [
    ('{"0": "1", "2+": "2"}', "3:38", "header-versions-coverage: version 1 has no header before 2+; add it"),
    ('{"1+": "2"}', "3:28", "header-versions-coverage: version 0 has no header before 1+; add it"),
    ('{"0-1": "1", "2": "2"}', "3:39", "header-versions-coverage: version 3 has no header after 2; add it, as in 2+"),
    ("{}", "3:21", "header-versions-coverage: the object is empty; give the header of each version, or leave"),
    ('{"0-2": "1", "2+": "2"}', "3:40", "header-versions-overlap: 0-2 and 2+ both contain version 2; keep one of them"),
    ('{"0+": "2", "2+": "1"}', "3:39", "header-versions-overlap: 0+ and 2+ both contain version 2+; keep one of them"),
    (
        '{"0-1": "2", "2+": "1"}',
        "3:40",
        "header-versions-falling: version 2+ has header 1, after header 2 in 0-1; write 2 or later",
    ),
    (
        '{"0-1": "1", "2+": "two"}',
        "3:40",
        "header-version-syntax: 'two' is not the version of a header; write a number",
    ),
    ('{"0-1": -1, "2+": "2"}', "3:29", "header-version-syntax: -1 is not the version of a header; write a number"),
    ('{"0-1": "", "2+": "2"}', "3:29", "header-version-syntax: '' is not the version of a header; write a number"),
    ('{"0-1": "1", "2+": 32767}', "3:40", "header-version-syntax: 32767 is not the version of a header; write a"),
    ('{"0-1": "1", "2+": 1.5}', "3:40", "wrong-kind: '2+' is the number 1.5; write a string"),
    ('{"0-1": "1", "2+": ["2"]}', "3:40", "wrong-kind: '2+' is a list; write a string"),
    ('{"0-1": "1", "later": "2"}', "3:43", "version-syntax: 'later' is not a version range; write 'none', 'N', 'N-M'"),
    ('{"0-1": "1", "3-2": "2"}', "3:41", "version-syntax: '3-2' has its ends in the wrong order; write '2-3'"),
    ('{"0-1": "1", "none": "2"}', "3:42", "version-syntax: 'none' is not a version; leave it out"),
    ('{"0-1": "1", "2+": ' + "9" * 300 + "}", "3:40", "header-version-syntax: "),
    ('"2"', "3:21", "wrong-kind: 'headerVersions' is the string '2'; write an object"),
    ('["1", "2"]', "3:21", "wrong-kind: 'headerVersions' is a list; write an object"),
    ("null", "3:21", "wrong-kind: 'headerVersions' is null; write an object"),
]


@pytest.mark.parametrize(("headers", "place", "said"), MISTAKES)
def test_a_mistake_is_one_error_with_its_place(headers: str, place: str, said: str, tmp_path: Path) -> None:
    checked = check_text(tmp_path, request(headers))
    (problem,) = checked.problems
    assert str(problem).startswith(f"Probe.json:{place}: ProbeRequest: {said}")
    assert (problem.severity, checked.spec) == ("error", None)


@pytest.mark.parametrize("type_", ["data", "header", "metadata", "coordinator-value"])
def test_only_requests_and_responses_have_them(type_: str, tmp_path: Path) -> None:
    text = request('{"0": "1", "2+": "0"}', type_=type_).replace(f"Probe{type_.capitalize()}", "Probe")
    (problem,) = check_text(tmp_path, text).problems
    assert str(problem) == (
        f"Probe.json:3:21: Probe: header-versions-on-requests: a message of type {type_} has headerVersions; "
        "leave them out, only requests and responses have a header"
    )


@pytest.mark.parametrize(
    ("valid", "headers"),
    [
        ("0-3", '{"0-1": 1, "2+": 2}'),
        ("0-3", '{" 0-1 ": " 1 ", "2-3": "2"}'),
        ("0-3", '{"2+": "2", "0-1": "1"}'),
        ("2-3", '{"2+": "2"}'),
        ("2-3", '{"0-1": "1", "2+": "2"}'),
        ("1-3", '{"1": "1", "2-9": "2"}'),
    ],
)
def test_ranges_begin_with_0_or_the_lowest_version_in_any_order(valid: str, headers: str, tmp_path: Path) -> None:
    checked = check_text(tmp_path, request(headers, valid=valid))
    assert checked.problems == ()
    assert checked.spec is not None
    assert numbers_of(checked.spec, HeaderVersions()) == {
        version: 2 if version > 1 else 1 for version in checked.spec.valid_versions.each()
    }


def in_folder(folder: Path, *texts: str, own: str = "0-3") -> list[str]:
    """Check requests and responses beside headers of a package; return errors and warnings below the folder."""
    if own:
        text = (SPECS / "RequestHeader.json").read_text()
        (folder / "RequestHeader.json").write_text(text.replace('"0-3"', f'"{own}"'))
    for number, text in enumerate(texts):
        (folder / f"{number}.json").write_text(text)
    return [str(one).removeprefix(f"{folder}/") for one in read_folder(folder)[1] if one.rule != "never-present"]


RESPONSE = request('{"0-1": "0", "2+": "1"}', type_="response")


def test_a_header_must_exist_in_the_package_or_else_in_kafka(tmp_path: Path) -> None:
    text = request('{"0-1": "1", "2": "2", "3+": "3"}')
    for folder in ("own", "kafka", "old", "response"):
        (tmp_path / folder).mkdir()
    assert in_folder(tmp_path / "own", text, RESPONSE) == []
    assert in_folder(tmp_path / "kafka", text, RESPONSE, own="") == [
        "0.json:3:50: ProbeRequest: header-version-unknown: RequestHeader 3 does not exist: Kafka's has versions 0-2; "
        "write one of these, or add a spec of RequestHeader to the package that has version 3"
    ]
    (found,) = in_folder(tmp_path / "old", text, RESPONSE, own="1-2")
    assert found.startswith("0.json:3:50: ProbeRequest: header-version-unknown: RequestHeader 3 does not exist: the ")
    assert found.endswith("RequestHeader.json:5:20) has versions 1-2; write one of these, or add version 3")
    wrong = RESPONSE.replace('"2+": "1"', '"2+": "2"')
    (found,) = in_folder(tmp_path / "response", text, wrong)
    assert found.startswith("1.json:3:40: ProbeResponse: header-version-unknown: ResponseHeader 2 does not exist")


def test_a_flexible_version_has_a_flexible_header_and_the_reverse_is_a_warning(tmp_path: Path) -> None:
    for folder in ("flexible", "inflexible", "both"):
        (tmp_path / folder).mkdir()
    assert in_folder(tmp_path / "flexible", request('{"0-2": "1", "3+": "3"}'), RESPONSE) == [
        "0.json:3:29: ProbeRequest: flexible-header: version 2 is flexible, but RequestHeader 1 is not; "
        "write 2 or later for it"
    ]
    assert in_folder(tmp_path / "inflexible", request('{"0": "1", "1+": "3"}'), RESPONSE) == [
        "0.json:3:38: warning: ProbeRequest: inflexible-header: version 1 is inflexible, but RequestHeader 3 is "
        "flexible; write a header below 2 for it"
    ]
    # A header that is flexible in all versions, or in none, leaves no choice.
    assert in_folder(tmp_path / "both", request('{"0-1": "2", "2+": "3"}'), RESPONSE, own="2-3") == []


def test_the_response_to_api_versions_has_header_0_always(tmp_path: Path) -> None:
    text = request('{"0-1": "0", "2+": "1"}', type_="response", key=18).replace("ProbeR", "ApiVersionsR")
    (problem,) = check_text(tmp_path, text).problems
    assert str(problem) == (
        "Probe.json:3:40: ApiVersionsResponse: api-versions-header: version 2+ has header 1; write "
        '"headerVersions": {"0+": "0"}, since older brokers answer with it'
    )
    asked = request('{"0-1": "1", "2+": "2"}', key=18).replace("ProbeR", "ApiVersionsR")
    (tmp_path / "right").mkdir()
    assert in_folder(tmp_path / "right", asked, text.replace('"2+": "1"', '"2+": "0"')) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            request('{"0-1": "1", "2+": "2"}'),
            ["header-versions: Kafka's generators up to 4.4 reject headerVersions; its"],
        ),
        (
            request('{"0-1": "1", "2-3": "2"}'),
            [
                "header-versions: Kafka's generators up to 4.4 reject",
                "header-ranges: Kafka's generator rejects headerVersions whose last range has an end; write 2+ for 2-3",
            ],
        ),
        (
            request('{"2+": "2"}', valid="2-3"),
            [
                "header-versions: Kafka's generators up to 4.4 reject",
                "header-ranges: Kafka's generator rejects headerVersions that begin with 2; begin with 0",
            ],
        ),
        (
            request('{"0-3": "1", "4+": "2"}', flexible="none"),
            [
                "header-versions: Kafka's generators up to 4.4 reject",
                "header-ranges: Kafka's generator rejects headerVersions from 4 on: the highest version is 3",
            ],
        ),
        (
            request('{"0+": "1"}', valid="none"),
            ["header-ranges: Kafka's generator rejects headerVersions of a message"],
        ),
    ],
)
def test_for_kafka_it_is_said_which_generators_refuse_it(text: str, said: list[str], tmp_path: Path) -> None:
    found = sorted(check_text(tmp_path, text, kafka=True).problems, key=lambda one: one.rule, reverse=True)
    assert len(found) == len(said)
    for one, words in zip(found, said, strict=True):
        assert f"{one.rule}: {one.text}".startswith(f"kafka-{words}")
        assert one.severity == ("warning" if one.rule == "kafka-header-versions" else "error")


NAMES = ("FetchRequest", "FetchResponse", "ApiVersionsRequest", "ApiVersionsResponse", "ControlledShutdownRequest")


@pytest.mark.parametrize("name", [*NAMES, "OffsetDeleteRequest", "DescribeClusterResponse", "LeaderAndIsrRequest"])
def test_what_is_offered_for_kafka_is_the_header_that_the_message_has(name: str, tmp_path: Path) -> None:
    file = kafka_spec(name)
    assert file is not None
    text = file.read_text(encoding="utf-8")
    (problem,) = [one for one in check_text(tmp_path, text, kafka=True).problems if one.rule == "kafka-header-versions"]
    offered = problem.text[problem.text.index('"headerVersions"') :]
    after = text.replace('"flexibleVersions"', f'{offered},\n  "flexibleVersions"', 1)
    headers = HeaderVersions(oldest_request=0)
    old, new = check_text(tmp_path, text).spec, check_text(tmp_path, after).spec
    assert old is not None and new is not None
    assert new.header_versions != ()
    assert numbers_of(new, headers) == numbers_of(old, headers)
    assert headers.before(new) == headers.before(old), "generated code is the same"
    assert ranges_of(old, headers) == {str(range_): str(number) for range_, number in new.header_versions}


@pytest.mark.night
def test_all_of_kafkas_specs_in_the_form_of_its_trunk_are_the_same_package(tmp_path: Path) -> None:
    specs = tmp_path / "kafka_messages"
    shutil.copytree(kafka_specs(), specs)
    spelt_out = 0
    for problem in read_folder(specs, kafka=True)[1]:
        if problem.rule == "kafka-header-versions":
            offered = problem.text[problem.text.index('"headerVersions"') :]
            file = Path(problem.location.file)
            file.write_text(file.read_text().replace('"flexibleVersions"', f'{offered},\n  "flexibleVersions"', 1))
            spelt_out += 1
    assert spelt_out > 180
    sides = [read_folder(folder) for folder in (kafka_specs(), specs)]
    assert all(problems == () for _, problems in sides)
    old, new = ([one.spec for one in checked if one.spec is not None] for checked, _ in sides)
    headers = header_versions(new)
    assert headers == header_versions(old)
    assert [registry_entry(one, headers) for one in new] == [registry_entry(one, headers) for one in old]
    release = jar(tmp_path, *(file.read_text() for file in specs.rglob("*.json") if not is_enum_file(str(file))))
    assert [one for one in drifted(kafka_specs(), release) if one.fact == "headerVersions"] == []
    assert drifted(specs, release) == ()


def test_kafkas_headers_in_the_rules_are_those_of_the_specs() -> None:
    for name in HEADERS.values():
        file = kafka_spec(name)
        assert file is not None
        header = read_file(file).spec
        assert header is not None
        assert KAFKA_HEADERS[name] == (header.valid_versions, header.flexible_versions)


def test_every_header_that_specs_can_say_is_the_one_that_versions_get(tmp_path: Path) -> None:
    """All ways to give four versions one of four headers that never falls, in two forms of ranges."""
    for numbers in itertools.combinations_with_replacement(range(4), 4):
        runs = [[*group] for _, group in itertools.groupby(range(4), numbers.__getitem__)]
        ranges = {f"{run[0]}-{run[-1]}": str(numbers[run[0]]) for run in runs}
        alone = {str(version): number for version, number in enumerate(numbers)}
        for headers in (ranges, alone):
            checked = check_text(tmp_path, request(json.dumps(headers)))
            assert checked.spec is not None
            assert [*numbers_of(checked.spec, HeaderVersions()).values()] == [*numbers]


def generate(specs: Path, package: Path) -> list[str]:
    """Generate a package; return the files that were written."""
    changes = find_changes(specs, package, package.name, lambda done, total: None)
    assert not changes.has_errors, changes.problems
    apply_changes(changes)
    return sorted(changes.contents)


def test_headers_that_say_what_followed_anyway_change_no_generated_code(tmp_path: Path) -> None:
    shutil.copytree(SPECS, tmp_path / "specs")
    for file in (tmp_path / "specs").glob("Lane*.json"):
        file.unlink()
    said = {file: file.read_text() for file in (tmp_path / "specs").glob("Api*.json")}
    header = tmp_path / "specs" / "RequestHeader.json"
    header.unlink()
    for file, text in said.items():
        document: Any = json.loads(text)
        del document["headerVersions"]
        file.write_text(json.dumps(document))
    generate(tmp_path / "specs", tmp_path / "derived")
    for file, text in said.items():
        file.write_text(text)
    assert generate(tmp_path / "specs", tmp_path / "derived") == ["kipgen.manifest.json"]


def test_another_header_renders_its_message_and_the_registry_alone(tmp_path: Path) -> None:
    shutil.copytree(SPECS, tmp_path / "specs")
    generate(tmp_path / "specs", tmp_path / "lanes")
    file = tmp_path / "specs" / "LaneListRequest.json"
    file.write_text(file.read_text().replace('"3": 2', '"3": 3'))
    assert generate(tmp_path / "specs", tmp_path / "lanes") == [
        "__init__.py",
        "kipgen.manifest.json",
        "lane_list_request/__init__.py",
        "lane_list_request/v3.py",
        "lane_list_request/v4.py",
    ]
    assert 'Entry("LaneListRequest", "lane_list_request", "request", 48, 2, 4, 3, (1, 3))' in (
        (tmp_path / "lanes" / "__init__.py").read_text()
    )
    file.write_text(file.read_text().replace('"3": 3', '"3": 4').replace(" 3 ", " 4 "))
    changes = find_changes(tmp_path / "specs", tmp_path / "lanes", "lanes", lambda done, total: None)
    assert [one.rule for one in changes.problems] == ["header-version-unknown"], "also where other specs are not read"
