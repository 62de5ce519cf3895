"""Tables that were stored with the columns of all versions: what `kipgen compat --columns` says, release by release."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from kipgen.commands.app import app
from kipgen.commands.compat.columns import StoredColumn, stored_columns
from kipgen.commands.compat.compare import compare_stored
from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import Revisions
from kipgen.commands.drift.compare import nodes
from kipgen.commands.drift.jars import Published, read_release
from kipgen.commands.drift.write import message_text, write_missing
from kipgen.language.spec import MessageSpec
from kipgen.reading import check
from kipgen.reading.draft import Draft
from kipgen.reading.rules.examples import ALPHA, LEAF, field_of, spec, struct_named, tagged_field
from tests.support import stored_columns as stored
from tests.support.kafka_jars import ARTIFACTS, fetch_jars
from tests.support.stored_columns import RELEASES, Column, our_specs, recorded
from tests.support.subjects.compat_changes import write_revisions

RENAMED_BY_KAFKA = {
    "StreamsGroupHeartbeatResponse.acceptable_recovery_lag_legacy": "4.3 calls it acceptable_recovery_lag",
    "TxnOffsetCommitRequest.generation_id_or_member_epoch": "4.3 calls it generation_id",
    "VoteRequest.topics.partitions.replica_epoch": "3.9 calls it candidate_epoch",
    "VoteRequest.topics.partitions.replica_id": "3.9 calls it candidate_id",
    "VoteRequest.topics.partitions.replica_directory_id": "3.9 calls it candidate_directory_id",
}
"""Columns that do not follow all columns of earlier releases, since Kafka renamed released fields."""

# Our own package, release by release


def test_the_columns_of_kafkas_messages_are_those_that_were_recorded() -> None:
    specs = our_specs()
    assert recorded().keys() == specs.keys()
    for name, entry in recorded().items():
        assert _plain(stored_columns(specs[name]).columns) == _plain(entry.columns), name


def _plain(columns: Sequence[Column | StoredColumn]) -> list[object]:
    return [
        (
            (
                column.name,
                column.type,
                _plain(column.inner if isinstance(column.inner, tuple) else column.inner.columns),
            )
            if column.inner
            else (column.name, column.type)
        )
        for column in columns
    ]


def test_what_a_release_of_kafka_added_comes_after_what_was_there() -> None:
    found = {path for name, entry in recorded().items() for path in _not_last(entry.columns, name)}
    assert found == RENAMED_BY_KAFKA.keys()
    later = {column.since for entry in recorded().values() for column in _each(entry.columns)}
    assert later == RELEASES.keys()


def _not_last(columns: Sequence[Column], path: str) -> Iterator[str]:
    """Yield the columns that a later release added before one that was there."""
    lines = list(RELEASES)
    for number, column in enumerate(columns):
        if any(lines.index(after.since) < lines.index(column.since) for after in columns[number + 1 :]):
            yield f"{path}.{column.name}"
        yield from _not_last(column.inner, f"{path}.{column.name}")


def _each(columns: Sequence[Column]) -> Iterator[Column]:
    for column in columns:
        yield column
        yield from _each(column.inner)


# Findings of the command


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(spec(ALPHA), spec(ALPHA, field_of("int32", "Beta", "4+"), valid="0-4"), [], id="new version"),
        pytest.param(spec(ALPHA), spec(field_of("int32", "Beta", "4+"), ALPHA, valid="0-4"), [], id="in the middle"),
        pytest.param(spec(ALPHA, flexible="none"), spec(ALPHA, flexible="4+", valid="0-4"), [], id="flexible"),
        pytest.param(spec(ALPHA, valid="0-2"), spec(ALPHA, tagged_field("Beta"), valid="0-2"), [], id="tag"),
        pytest.param(
            spec(field_of("string")), spec(field_of("string", nullableVersions="4+"), valid="0-4"), [], id="null"
        ),
        pytest.param(
            spec(ALPHA, tagged_field("Beta", 1)),
            spec(ALPHA, tagged_field("Beta", 1), tagged_field("Gamma", 0)),
            [("column-not-last", "Probe.Gamma", "the new column gamma comes before beta, which tables already have")],
            id="tag below another",
        ),
        pytest.param(
            spec(field_of("[]Inner", fields=[LEAF])),
            spec(field_of("[]Inner", fields=[field_of("int32", "Twig")])),
            [("column-renamed", "Probe.Alpha.Twig", "the column leaf is now twig (versions 0-3)")],
            id="renamed in a struct",
        ),
        pytest.param(
            spec(field_of("[]Inner"), field_of("Inner", "Beta"), common=(struct_named("Inner", LEAF),)),
            spec(
                field_of("[]Inner"),
                field_of("Inner", "Beta"),
                common=(struct_named("Inner", field_of("int32", "Twig")),),
            ),
            [("column-renamed", "Probe.Inner.Twig", "the column leaf is now twig (versions 0-3)")],
            id="renamed in a common struct",
        ),
        pytest.param(
            spec(ALPHA, field_of("int32", "Beta", "0")),
            spec(ALPHA, valid="1-3"),
            [("column-removed", "Probe.Beta", "the column beta was removed (version 0)")],
            id="removed with its versions",
        ),
        pytest.param(spec(ALPHA), spec(field_of("int64")), [], id="wire finding of the same field"),
        pytest.param(spec(ALPHA), spec(ALPHA, valid="none"), [], id="retired"),
    ],
)
def test_findings(old: str, new: str, expected: list[tuple[str, str, str]], tmp_path: Path) -> None:
    sides = write_revisions(tmp_path, Revisions((old,), (new,)))
    found = compare_paths(*sides).column_findings
    assert [(one.rule.id, one.path, one.text) for one in found] == expected


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A spec before and after a field was renamed."""
    texts = {"old.json": spec(ALPHA), "new.json": spec(field_of("int32", "Beta"))}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return str(tmp_path / "old.json"), str(tmp_path / "new.json")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 0),
        (["--columns"], 1),
        (["--columns", "--wire-only"], 1),
        (["--columns", "--allow", "column-renamed:Probe.Beta=no table has it"], 0),
    ],
)
def test_stored_tables_count_where_they_are_asked_for(
    arguments: list[str], status: int, files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    done = CliRunner().invoke(app, ["compat", *files, *arguments])
    assert done.exit_code == status, done.output
    assert ("column-renamed" in done.stdout) == bool(arguments)
    assert (" column, 1 notice" in done.stdout) == bool(arguments)


def test_reports_for_programs_have_them(files: tuple[str, str], tmp_path: Path) -> None:
    sarif = tmp_path / "out.sarif"
    done = CliRunner().invoke(app, ["compat", *files, "--columns", "--json", "--sarif", str(sarif)])
    report = json.loads(done.stdout)
    assert report["counts"] == {"wire": 0, "source": 0, "column": 1, "notice": 1}
    (found,) = [one for one in report["findings"] if one["severity"] == "column"]
    assert (found["rule"], found["path"], found["line"]) == ("column-renamed", "Probe.Beta", 5)
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    assert [one["level"] for one in results if one["ruleId"] == "column-renamed"] == ["warning"]


# Beside Kafka's own jars


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the jars of each release, by its number."""
    folder = tmp_path_factory.mktemp("jars")
    for line, release in RELEASES.items():
        artifacts = [one for one in ARTIFACTS if line != "3.9" or one not in stored.SINCE_4_0]
        fetch_jars(folder, release, artifacts)
    return folder


@pytest.mark.maven
def test_the_recorded_releases_are_those_of_the_jars(jars: Path) -> None:
    releases = {line: stored.specs_in(jars / release) for line, release in RELEASES.items()}
    assert stored.document(releases) == stored.FILE.read_text()


@pytest.mark.maven
def test_specs_that_follow_kafka_by_writing_keep_their_columns(jars: Path, tmp_path: Path) -> None:
    earlier: Mapping[str, MessageSpec] | None = None
    lines = [line for line in RELEASES if line != "3.9"]  # 3.9 has specs that kipgen drift does not accept
    findings = set()
    for line in lines:
        release = read_release(sorted((jars / RELEASES[line]).glob("*.jar"))).messages
        if earlier is None:
            _write_all(release, tmp_path)
        else:
            assert not [one for one in write_missing(tmp_path, _drafts(tmp_path), release) if one.problems]
        specs = {one.spec.name: one.spec for one in check.read_folder(tmp_path)[0] if one.spec is not None}
        for name in specs.keys() & (earlier or {}).keys():
            assert earlier is not None
            findings |= {(one.rule, one.path.partition(".")[0]) for one in compare_stored(earlier[name], specs[name])}
        earlier = specs
    renamed = {path.partition(".")[0] for path in RENAMED_BY_KAFKA}
    assert {message for _, message in findings} <= {
        *stored.EARLY_ACCESS,
        *renamed,
        "ShareFetchRequest",
        "ShareFetchResponse",
    }


def _write_all(release: Mapping[str, Published], folder: Path) -> None:
    for name, published in release.items():
        file = folder / published.jar / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(message_text(nodes(published.draft)))


def _drafts(folder: Path) -> dict[Path, Draft]:
    return {Path(one.file): one.draft for one in check.read_folder(folder)[0] if one.draft is not None}
