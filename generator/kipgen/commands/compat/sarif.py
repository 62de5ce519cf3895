"""Findings of `kipgen compat` as SARIF."""

from __future__ import annotations

from collections.abc import Sequence

from kipgen.commands.compat.model import Finding
from kipgen.commands.compat.rules import ALL, CompatRule, Severity
from kipgen.commands.reporting.sarif import Level, SarifResult, SarifRule, sarif_log

_LEVELS: dict[Severity, Level] = {"wire": "error", "source": "warning", "column": "warning", "notice": "note"}


def sarif(findings: Sequence[Finding]) -> dict[str, object]:
    """A log of one run, as plain values; allowed findings are suppressed results."""
    return sarif_log("kipgen compat", [_rule(rule) for rule in ALL], [_result(finding) for finding in findings])


def _rule(rule: CompatRule) -> SarifRule:
    level = _LEVELS[rule.severity]
    return SarifRule(rule.id, rule.summary, f"Breaks: {rule.breaks}.", f"Instead: {rule.instead}.", level)


def _result(finding: Finding) -> SarifResult:
    return SarifResult(
        rule=finding.rule.id,
        level=_LEVELS[finding.severity],
        text=f"{finding.path}: {finding.text}. Breaks: {finding.rule.breaks}. Instead: {finding.rule.instead}.",
        path=finding.path,
        location=finding.location,
        fingerprint=("change/v1", f"{finding.rule.id}:{finding.path}:{finding.change}"),
        justification=finding.allowed,
    )
