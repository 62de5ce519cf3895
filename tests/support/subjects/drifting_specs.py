"""A small package of specs, jars of a release beside it, and what differs between them."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from kipgen.commands.drift.compare import Difference, compare
from kipgen.commands.drift.jars import read_release
from kipgen.reading import check
from kipgen.reading.draft import Draft

OURS = """\
// What a request for colours is.
{
  "apiKey": 7,
  "type": "request",
  "name": "ColourRequest",
  "about": "Asks for colours.",
  "listeners": ["broker"],
  "validVersions": "0-1",
  "flexibleVersions": "1+",
  "fields": [
    // The name comes first.
    { "name": "Name", "type": "string", "versions": "0+", "default": "red", // not blue
      "about": "Its name." },
    { "name": "Shades", "type": "[]Shade", "versions": "0+",
      "about": "Its shades.", "fields": [
      { "name": "Depth", "type": "int32", "versions": "0+",
        "about": "How dark it is." }
    ]}
  ]
}
"""
KAFKA = """\
{
  "apiKey": 7, "type": "request", "name": "ColourRequest", "listeners": ["broker"],
  "validVersions": "0-1", "flexibleVersions": "1+",
  "fields": [
    { "name": "Name", "type": "string", "versions": "0+", "default": "red", "about": "Words of another." },
    { "name": "Shades", "type": "[]Shade", "versions": "0+", "about": "Words of another.", "fields": [
      { "name": "Depth", "type": "int32", "versions": "0+", "about": "Words of another." }
    ]}
  ]
}
"""
DEPTH = '{ "name": "Depth", "type": "int32", "versions": "0+"'

NEW_FIELDS = (
    DEPTH.replace("Depth", "Before") + ' , "about": "Not ours." },',
    ', { "name": "After", "type": "[]After", "versions": "1", "default": "null", "nullableVersions": "1",'
    ' "about": "Not ours.", "fields": [ { "name": "Inner", "type": "uuid", "versions": "1+", "ignorable": true } ] }',
)


def jar(folder: Path, *specs: str, name: str = "kafka-clients-4.4.0.jar", inside: str = "common/message") -> Path:
    """Write a jar with specs in it."""
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        archive.writestr("org/apache/kafka/message/Other.json", "this is not a spec")
        for index, spec in enumerate(specs):
            archive.writestr(f"{inside}/{index}.json", spec)
    return path


def package(folder: Path, **specs: str) -> Path:
    """Write a package of specs with a sub-folder, as ours have."""
    where = folder / "colours"
    (where / "clients").mkdir(parents=True)
    for name, text in specs.items():
        (where / "clients" / f"{name}.json").write_text(text)
    return where


def differences(specs: Path, *jars: Path) -> list[tuple[str, str, object, object]]:
    return [(one.path, one.fact, one.ours, one.kafka) for one in drifted(specs, *jars)]


def drifted(specs: Path, *jars: Path) -> tuple[Difference, ...]:
    return compare(drafts(specs), read_release(jars)).differences


def drafts(specs: Path) -> dict[Path, Draft]:
    checked, problems = check.read_folder(specs)
    assert not [problem for problem in problems if problem.rule != "pair-missing"]
    return {Path(one.file): one.draft for one in checked if one.draft is not None}


def kipgen(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kipgen", "drift", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def as_data(text: str) -> str:
    """Return a spec as one of a type that needs no counterpart."""
    keys = re.sub(r'"apiKey": 7,\s*|"listeners": \["broker"\],\s*', "", text)
    return keys.replace('"type": "request"', '"type": "data"')
