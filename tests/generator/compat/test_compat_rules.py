"""Verdicts of `kipgen compat` on a change: rule by rule, by the table of verdicts, and checked with real bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import ALL
from kipgen.reading.rules import ALL as LANGUAGE

if TYPE_CHECKING:
    from kipgen.commands.compat.rules import CompatRule

from tests.support.subjects.compat_changes import (
    VERDICTS,
    compare_texts,
    package_of,
    write_revisions,
)

# Every rule by itself

OF_BYTES_AND_CODE = [rule for rule in ALL if rule.severity != "column"]
OF_COLUMNS = [rule for rule in ALL if rule.severity == "column"]


@pytest.mark.parametrize("rule", OF_BYTES_AND_CODE, ids=lambda rule: rule.id)
def test_bad_example_is_found_by_just_that_rule_and_good_one_breaks_nothing(rule: CompatRule, tmp_path: Path) -> None:
    found = compare_paths(*write_revisions(tmp_path / "bad", rule.bad), package_of=package_of).findings
    serious = {finding.rule.id for finding in found if finding.severity != "notice"}
    assert rule.id in {finding.rule.id for finding in found}
    assert serious <= {rule.id}
    assert all(finding.severity == rule.severity for finding in found if finding.rule is rule)
    good = compare_paths(*write_revisions(tmp_path / "good", rule.good), package_of=package_of).findings
    assert rule.id not in {finding.rule.id for finding in good}
    assert {finding.severity for finding in good} <= {"notice"}


@pytest.mark.parametrize("rule", OF_COLUMNS, ids=lambda rule: rule.id)
def test_bad_example_of_columns_breaks_stored_tables_alone_and_good_one_nothing(
    rule: CompatRule, tmp_path: Path
) -> None:
    compared = compare_paths(*write_revisions(tmp_path / "bad", rule.bad))
    assert {finding.severity for finding in compared.findings} <= {"notice"}
    assert {(finding.rule, finding.severity) for finding in compared.column_findings} == {(rule, "column")}
    good = compare_paths(*write_revisions(tmp_path / "good", rule.good))
    assert {finding.severity for finding in good.findings} <= {"notice"}
    assert good.column_findings == ()


def test_rules_have_ids_of_their_own_and_say_what_breaks_and_what_to_do() -> None:
    ids = [rule.id for rule in ALL] + [rule.id for rule in LANGUAGE]
    assert len(set(ids)) == len(ids)
    for rule in ALL:
        assert rule.summary.endswith((".", ")."))
        assert rule.breaks
        assert rule.instead
        assert not rule.breaks.endswith(".")


@pytest.mark.parametrize("row", VERDICTS)
def test_verdict(row: str, tmp_path: Path) -> None:
    expected, old, new = VERDICTS[row]
    found = compare_texts(tmp_path, old, new)
    severities = [severity for severity in ("wire", "source", "notice") if severity in {one.severity for one in found}]
    assert (severities[0] if severities else None) == expected, [str(one.text) for one in found]
