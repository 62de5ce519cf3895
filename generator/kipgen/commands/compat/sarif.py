"""Findings in SARIF 2.1.0, the form in which code hosts and editors take the findings of tools."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path, PurePath
from urllib.parse import quote

from kipgen.commands.compat.finding import Finding
from kipgen.commands.compat.rules import ALL, CompatRule, Severity
from kipgen.language.spec import Location

_LEVELS: dict[Severity, str] = {"wire": "error", "source": "warning", "notice": "note"}
_POSITIONS = {rule.id: number for number, rule in enumerate(ALL)}


def sarif(findings: Sequence[Finding]) -> dict[str, object]:
    """A log of one run, as plain values; allowed findings are suppressed results."""
    driver = {
        "name": "kipgen compat",
        "version": version("kipwire"),
        "rules": [_rule(rule) for rule in ALL],
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding) for finding in findings],
            }
        ],
    }


def _rule(rule: CompatRule) -> dict[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"Breaks: {rule.breaks}."},
        "help": {"text": f"Instead: {rule.instead}."},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding) -> dict[str, object]:
    text = f"{finding.path}: {finding.text}. Breaks: {finding.rule.breaks}. Instead: {finding.rule.instead}."
    result: dict[str, object] = {
        "ruleId": finding.rule.id,
        "ruleIndex": _POSITIONS[finding.rule.id],
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": _location(finding.location),
                "logicalLocations": [{"fullyQualifiedName": finding.path}],
            }
        ],
        "partialFingerprints": {"change/v1": f"{finding.rule.id}:{finding.path}:{finding.change}"},
    }
    if finding.allowed is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.allowed}]
    return result


def _location(location: Location) -> dict[str, object]:
    path = PurePath(location.file)
    uri = Path(path).as_uri() if path.is_absolute() else quote(path.as_posix())
    return {
        "artifactLocation": {"uri": uri},
        "region": {"startLine": location.line, "startColumn": location.column},
    }
