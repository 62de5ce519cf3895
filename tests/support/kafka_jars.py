"""Jars of Kafka's releases, by Maven."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

_PROJECT = """<project><modelVersion>4.0.0</modelVersion>
<groupId>kipwire</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies>{}</dependencies></project>"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def fetch_jars(
    folder: Path, version: str, artifacts: Iterable[str], group: str = "org.apache.kafka"
) -> dict[str, Path]:
    """The jars of a release by artifact, without what they need.

    Args:
        folder: where they are put.
        version: such as `4.4.0`.
        artifacts: such as `kafka-clients`.
        group: who publishes them.
    """
    names = list(artifacts)
    place = folder / version
    place.mkdir(parents=True, exist_ok=True)
    project = place / "pom.xml"
    project.write_text(_PROJECT.format("".join(_DEPENDENCY.format(group, name, version) for name in names)))
    command = ["mvn", "--quiet", "--batch-mode", "--file", str(project), "dependency:copy-dependencies"]
    command += ["-DexcludeTransitive=true", f"-DoutputDirectory={place}"]
    subprocess.run(command, check=True, timeout=300)
    return {name: place / f"{name}-{version}.jar" for name in names}
