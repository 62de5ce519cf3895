"""Findings as text for people, the worst first, as annotations, as one JSON object for programs, and as SARIF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from kipgen.commands.compat.direction import REASONS
from kipgen.commands.compat.model import Finding, NotCompared
from kipgen.commands.compat.rules import ALL, SEVERITIES, CompatRule, Severity
from kipgen.commands.reporting.problems import annotation
from kipgen.commands.reporting.sarif import Level, SarifResult, SarifRule, sarif_log
from kipwire.tools.text import Part, printable_line

Line = tuple[Part, ...]

_TITLES = {
    "wire": "WIRE: bytes of released versions change",
    "source": "SOURCE: the bytes stay, code that uses the classes has to change",
    "column": "COLUMN: tables stored with the columns of a message no longer fit",
    "notice": "NOTICE: worth knowing",
}
_LEVELS = {"wire": "error", "source": "warning", "column": "warning", "notice": "notice"}
_COLOURS = {"wire": "red", "source": "yellow", "column": "magenta", "notice": "cyan"}


def text_lines(findings: Sequence[Finding]) -> Iterator[Line]:
    """Write the report, line by line: findings by severity, with what they break and what to do instead."""
    has_several = len({revision for finding in findings for revision in finding.against}) > 1
    for severity in SEVERITIES:
        group = [finding for finding in findings if finding.severity == severity and finding.allowed is None]
        if group:
            yield ((_TITLES[severity], f"bold {_COLOURS[severity]}"),)
            yield ()
            for finding in group:
                yield from _finding_lines(finding, has_several)
    allowed = [finding for finding in findings if finding.allowed is not None]
    if allowed:
        yield (("ALLOWED", "bold"),)
        yield ()
        for finding in allowed:
            yield _headline(finding)
            yield (f"    because: {printable_line(finding.allowed or '')}",)
            yield ()


def annotation_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Write the findings that are not allowed as commands of GitHub's Actions, the worst first."""
    for severity in SEVERITIES:
        for finding in findings:
            if finding.severity == severity and finding.allowed is None:
                first = f"; first: {REASONS[finding.first]}" if finding.first is not None else ""
                text = f"{finding.path}: {finding.text}{first}; instead: {finding.rule.instead}"
                place = finding.location
                yield annotation(_LEVELS[severity], text, place.file, place.line, place.column, finding.rule.id)


def counts(findings: Sequence[Finding], severities: Sequence[Severity]) -> dict[Severity, int]:
    """Count the findings of each severity that are not allowed."""
    return {
        severity: sum(finding.severity == severity and finding.allowed is None for finding in findings)
        for severity in severities
    }


def _finding_lines(finding: Finding, has_several: bool) -> Iterator[Line]:
    yield _headline(finding)
    yield (f"    breaks:  {finding.rule.breaks}",)
    if finding.first is not None:
        yield (f"    first:   {REASONS[finding.first]}",)
    yield (f"    instead: {finding.rule.instead}",)
    if has_several:
        yield (f"    against: {printable_line(', '.join(finding.against))}",)
    yield (f"    before:  {printable_line(str(finding.was))}",)
    yield ()


def _headline(finding: Finding) -> Line:
    return (
        printable_line(f"{finding.location}: "),
        (printable_line(finding.path), "bold"),
        ": ",
        (finding.rule.id, _COLOURS[finding.severity]),
        printable_line(f": {finding.text}"),
    )


def report_json(
    findings: Sequence[Finding],
    not_compared: Sequence[NotCompared],
    messages: int,
    enums: int,
    severities: Sequence[Severity],
) -> dict[str, object]:
    """Convert the report to plain values, for other programs.

    Args:
        findings: all of them, allowed ones too.
        not_compared: the messages and enums whose old spec has errors.
        messages: how many messages both sides have.
        enums: how many enums both sides have.
        severities: those that were looked for.
    """
    return {
        "messages": messages,
        "enums": enums,
        "counts": counts(findings, severities),
        "allowed": sum(finding.allowed is not None for finding in findings),
        "not_compared": [
            {"path": one.path, **asdict(one.location), "errors": [str(error) for error in one.errors]}
            for one in not_compared
        ],
        "findings": [_plain(finding) for finding in findings],
    }


def _plain(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule.id,
        "severity": finding.severity,
        "path": finding.path,
        "change": finding.change,
        "versions": sorted(finding.versions),
        **asdict(finding.location),
        "before": asdict(finding.was),
        "breaks": finding.rule.breaks,
        "first": finding.first,
        "instead": finding.rule.instead,
        "against": list(finding.against),
        "allowed": finding.allowed,
    }


_SARIF_LEVELS: dict[Severity, Level] = {"wire": "error", "source": "warning", "column": "warning", "notice": "note"}


def sarif_json(findings: Sequence[Finding]) -> dict[str, object]:
    """Make a log of one run, as plain values; allowed findings are suppressed results."""
    return sarif_log("kipgen compat", [_rule(rule) for rule in ALL], [_result(finding) for finding in findings])


def _rule(rule: CompatRule) -> SarifRule:
    level = _SARIF_LEVELS[rule.severity]
    return SarifRule(rule.id, rule.summary, f"Breaks: {rule.breaks}.", f"Instead: {rule.instead}.", level)


def _result(finding: Finding) -> SarifResult:
    first = f"First: {REASONS[finding.first]}. " if finding.first is not None else ""
    return SarifResult(
        rule=finding.rule.id,
        level=_SARIF_LEVELS[finding.severity],
        text=f"{finding.path}: {finding.text}. Breaks: {finding.rule.breaks}. {first}Instead: {finding.rule.instead}.",
        path=finding.path,
        location=finding.location,
        fingerprint=("change/v1", f"{finding.rule.id}:{finding.path}:{finding.change}"),
        justification=finding.allowed,
    )
