"""Findings as one JSON object, for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from kipgen.commands.compat.finding import Finding
from kipgen.commands.compat.text import counts


def json_form(findings: Sequence[Finding], messages: int) -> dict[str, object]:
    """The report as plain values.

    Args:
        findings: all of them, allowed ones too.
        messages: how many messages both sides have.
    """
    return {
        "messages": messages,
        "counts": counts(findings),
        "allowed": sum(finding.allowed is not None for finding in findings),
        "findings": [_finding(finding) for finding in findings],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule.id,
        "severity": finding.severity,
        "path": finding.path,
        "change": finding.change,
        "versions": sorted(finding.versions),
        **asdict(finding.location),
        "before": asdict(finding.was),
        "breaks": finding.rule.breaks,
        "instead": finding.rule.instead,
        "allowed": finding.allowed,
    }
