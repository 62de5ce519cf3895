"""Generating packages again and again."""

from __future__ import annotations

from pathlib import Path

from kipgen.package.generate import Plan, carry_out, plan


def planned(specs: Path, package: Path) -> Plan:
    return plan(specs, package, package.name, lambda done, total: None)


def generate(specs: Path, package: Path) -> Plan:
    result = planned(specs, package)
    assert not result.has_errors, result.problems
    carry_out(result)
    return result


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def content(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}
