"""SARIF 2.1.0, the form in which code hosts and editors take the findings of tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Literal, NamedTuple
from urllib.parse import quote

from kipgen.language.spec import Location
from kipwire import __version__

Level = Literal["error", "warning", "note"]


class SarifRule(NamedTuple):
    """A rule as SARIF explains it."""

    id: str
    summary: str
    description: str
    help: str
    level: Level


class SarifResult(NamedTuple):
    """Something found at one location."""

    rule: str
    level: Level
    text: str
    path: str
    """Subject of the result, by the names in the spec; may be empty."""
    location: Location
    fingerprint: tuple[str, str]
    """Kind of fingerprint, and a text that stays the same when lines move."""
    justification: str | None = None
    """Reason why it is accepted; then it is a suppressed result."""


def sarif_log(tool: str, rules: Sequence[SarifRule], results: Iterable[SarifResult]) -> dict[str, object]:
    """Make a log of one run, as plain values."""
    positions = {rule.id: number for number, rule in enumerate(rules)}
    driver = {"name": tool, "version": __version__, "rules": [_rule(rule) for rule in rules]}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                # Columns count characters, as Python does; UTF-16 would count some of them twice.
                "columnKind": "unicodeCodePoints",
                "results": [_result(result, positions[result.rule]) for result in results],
            }
        ],
    }


def _rule(rule: SarifRule) -> dict[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.description},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(result: SarifResult, position: int) -> dict[str, object]:
    place: dict[str, object] = {"physicalLocation": _location(result.location)}
    if result.path:
        place["logicalLocations"] = [{"fullyQualifiedName": result.path}]
    kind, fingerprint = result.fingerprint
    plain: dict[str, object] = {
        "ruleId": result.rule,
        "ruleIndex": position,
        "level": result.level,
        "message": {"text": result.text},
        "locations": [place],
        "partialFingerprints": {kind: fingerprint},
    }
    if result.justification is not None:
        plain["suppressions"] = [{"kind": "external", "justification": result.justification}]
    return plain


def _location(location: Location) -> dict[str, object]:
    path = PurePath(location.file)
    # Relative paths stay relative: a code host resolves them in the repository that was checked.
    uri = Path(path).as_uri() if path.is_absolute() else quote(path.as_posix())
    return {
        "artifactLocation": {"uri": uri},
        "region": {"startLine": location.line, "startColumn": location.column},
    }
