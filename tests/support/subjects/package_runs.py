"""Generating packages again and again."""

from __future__ import annotations

from pathlib import Path

from kipgen.package.generate import PackageChanges, apply_changes, find_changes


def planned(specs: Path, package: Path) -> PackageChanges:
    return find_changes(specs, package, package.name, lambda done, total: None)


def generate(specs: Path, package: Path) -> PackageChanges:
    result = planned(specs, package)
    assert not result.has_errors, result.problems
    apply_changes(result)
    return result


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def content(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}
