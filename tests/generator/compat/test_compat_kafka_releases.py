"""`kipgen compat` over the releases of Kafka, whose specs lie in its jars: every finding is judged.

The data has for each pair of releases what breaks bytes or code, each with the reason why Kafka could do it, and how
many notices of each rule there are. All of them are true; of one the reason says why it is more than what happened.

Needs mvn and a network (`make test-maven`); nothing of the specs is kept.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from kipgen.commands.compat.revisions import compare_paths
from kipgen.reading.source import load_text
from tests.support.kafka_jars import artifacts_of, fetch_jars
from tests.support.places import DATA

pytestmark = pytest.mark.maven

_FOLDERS = ("common/message", "common/metadata", "message")
_JUDGED: dict[str, Any] = json.loads((DATA / "kafka_release_changes.json").read_text())


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the specs of each release, by component."""
    folder = tmp_path_factory.mktemp("releases")
    for version in sorted({version for pair in _JUDGED for version in pair.split(" to ")}):
        for artifact, jar in fetch_jars(folder / "jars", version, artifacts_of(version)).items():
            _extract_specs(jar, folder / version / artifact)
    return folder


def _extract_specs(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path) as jar:
        for name in map(PurePosixPath, jar.namelist()):
            if name.suffix == ".json" and str(name.parent) in _FOLDERS:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name.name).write_text(_as_read_then(jar.read(str(name)).decode()))


def _as_read_then(text: str) -> str:
    """Write out what Kafka's reader took for granted: no flexible versions up to 3.0, and the end of a file of 2.8."""
    if '"flexibleVersions"' not in text:
        text = re.sub(r'("validVersions"\s*:\s*"[^"]*")', r'\1, "flexibleVersions": "none"', text, count=1)
    return text if load_text(text, "").document is not None else re.sub(r"\]\s*\}\s*\Z", "", text)


@pytest.mark.parametrize("pair", _JUDGED)
def test_every_finding_between_two_releases_is_judged(pair: str, releases: Path) -> None:
    judged = _JUDGED[pair]
    compared = compare_paths(*(releases / version for version in pair.split(" to ")))
    assert (compared.messages, compared.not_compared) == (judged["messages"], ())
    serious = sorted(
        f"{one.severity} {one.rule.id} {one.path}" for one in compared.findings if one.severity != "notice"
    )
    assert serious == sorted(line for lines in judged["explained"].values() for line in lines)
    assert Counter(one.rule.id for one in compared.findings if one.severity == "notice") == judged["notices"]
