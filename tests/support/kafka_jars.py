"""Jars of Kafka's releases, by Maven."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

ARTIFACTS = (
    "kafka-clients",
    "kafka-group-coordinator",
    "kafka-metadata",
    "kafka-raft",
    "kafka-share-coordinator",
    "kafka-storage",
    "kafka-transaction-coordinator",
)
"""The artifacts of Kafka whose jars have specs and classes of messages."""

_SINCE = {
    "kafka-streams": (2, 5),
    "kafka-metadata": (2, 8),
    "kafka-raft": (2, 8),
    "kafka_2.13": (2, 8),
    "kafka-storage": (3, 0),
    "kafka-group-coordinator": (3, 5),
    "kafka-transaction-coordinator": (3, 9),
    "kafka-share-coordinator": (4, 0),
}
"""The first release of which each artifact has specs; `kafka_2.13`, the broker itself, until 3.8."""


def artifacts_of(version: str) -> list[str]:
    """List the artifacts of a release whose jars have specs."""
    line = tuple(map(int, version.split(".")[:2]))
    found = ["kafka-clients", *(name for name, first in _SINCE.items() if line >= first)]
    return [name for name in found if name != "kafka_2.13" or line < (3, 9)]


_PROJECT = """<project><modelVersion>4.0.0</modelVersion>
<groupId>kipwire</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies>{}</dependencies></project>"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def fetch_jars(
    folder: Path, version: str, artifacts: Iterable[str], group: str = "org.apache.kafka"
) -> dict[str, Path]:
    """Fetch jars of a release, without their dependencies; return them by artifact.

    Args:
        folder: the folder for the jars.
        version: such as `4.4.0`.
        artifacts: such as `kafka-clients`.
        group: their Maven group.
    """
    names = list(artifacts)
    place = folder / version
    _copy(place, version, names, group, "-DexcludeTransitive=true")
    return {name: place / f"{name}-{version}.jar" for name in names}


def fetch_class_path(folder: Path, version: str, artifacts: Iterable[str]) -> list[Path]:
    """Fetch the jars of a release of Kafka with all their dependencies at run time."""
    place = folder / version
    _copy(place, version, list(artifacts), "org.apache.kafka", "-DincludeScope=runtime")
    return sorted(place.glob("*.jar"))


def _copy(place: Path, version: str, names: list[str], group: str, option: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    project = place / "pom.xml"
    project.write_text(_PROJECT.format("".join(_DEPENDENCY.format(group, name, version) for name in names)))
    command = ["mvn", "--quiet", "--batch-mode", "--file", str(project), "dependency:copy-dependencies"]
    command += [option, f"-DoutputDirectory={place}"]
    subprocess.run(command, check=True, timeout=300)
