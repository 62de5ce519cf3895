"""Allowances: findings that a team has accepted, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from kipgen.commands.compat.model import Finding
from kipgen.commands.compat.rules import BY_ID
from kipwire.tools.files import read_regular
from kipwire.tools.text import did_you_mean

MAX_BYTES = 2**20
"""Limit for a file of allowances."""

_KEYS = ("rule", "path", "reason")


@dataclass(frozen=True, slots=True)
class Allowance:
    """A finding that a team has accepted."""

    rule: str
    path: str
    """The finding's path; `*` matches any part of it, as in `FooRequest.*`."""
    reason: str

    def covers(self, finding: Finding) -> bool:
        return finding.rule.id == self.rule and fnmatchcase(finding.path, self.path)


def parse_allowance(text: str) -> Allowance:
    """Read an allowance of the command line: `rule:Message.Field=reason`.

    Raises:
        ValueError: the text is not an allowance; the message names the right form.
    """
    target, _, reason = text.partition("=")
    rule, _, path = target.partition(":")
    return _allowance(rule.strip(), path.strip(), reason.strip(), repr(text))


def read_allowances(file: Path) -> list[Allowance]:
    """Read a file of allowances: tables `[[allow]]` with `rule`, `path` and `reason`.

    Raises:
        ValueError: the file is not valid; the message names the place, and what would be right. OSError: the file
            cannot be read.
    """
    try:
        data = read_regular(file, MAX_BYTES)
        if len(data) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        document = tomllib.loads(data.decode())
    except RecursionError:
        raise ValueError(f"{file} cannot be read as TOML: its lists are nested too deep") from None
    except ValueError as error:  # of TOML, or of UTF-8
        raise ValueError(f"{file} is not TOML: {error}") from None
    tables = document.get("allow", [])
    if set(document) - {"allow"} or not isinstance(tables, list):
        raise ValueError(f"{file} may contain only tables named [[allow]], each with rule, path and reason")
    allowances = []
    for number, table in enumerate(tables, start=1):
        where = f"{file}: [[allow]] number {number}"
        if not isinstance(table, dict) or set(table) != set(_KEYS):
            raise ValueError(f"{where} must have the keys rule, path and reason, and no others")
        values = [table[key] for key in _KEYS]
        if not all(isinstance(value, str) for value in values):
            raise ValueError(f"{where}: rule, path and reason must be strings")
        allowances.append(_allowance(values[0], values[1], values[2], where))
    return allowances


def _allowance(rule: str, path: str, reason: str, where: str) -> Allowance:
    if not (rule and path and reason.strip()):
        raise ValueError(f"{where} lacks a rule, a path or a reason; write 'rule:Message.Field=reason'")
    if rule not in BY_ID:
        hint = did_you_mean(rule, BY_ID) or "; see kipgen rules --brief"
        raise ValueError(f"{where}: unknown rule {rule}{hint}")
    return Allowance(rule, path, reason)


def with_allowances(
    findings: Iterable[Finding], allowances: Sequence[Allowance]
) -> tuple[list[Finding], list[Allowance]]:
    """Mark findings with the reasons of their allowances; also return the allowances that cover no finding."""
    marked: list[Finding] = []
    used: set[Allowance] = set()
    for finding in findings:
        covering = [allowance for allowance in allowances if allowance.covers(finding)]
        used.update(covering)
        marked.append(replace(finding, allowed=covering[0].reason) if covering else finding)
    # One that covers nothing is returned to be reported: it would hide the next finding at its path.
    return marked, [allowance for allowance in allowances if allowance not in used]
