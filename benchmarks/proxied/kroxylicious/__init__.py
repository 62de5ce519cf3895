"""Another proxy for Kafka, in Java: https://kroxylicious.io. Maven fetches its parts; it has no filters here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
VERSION = "0.12.0"
"""As in pom.xml."""

_CONFIGURATION = """\
virtualClusters:
  - name: measured
    targetCluster:
      bootstrapServers: 127.0.0.1:{broker}
    gateways:
      - name: default
        portIdentifiesNode:
          bootstrapAddress: 127.0.0.1:{port}
          advertisedBrokerAddressPattern: 127.0.0.1
          nodeStartPort: {first}
"""


def command(build: Path, broker: int, port: int) -> tuple[str, ...]:
    """What runs it; its parts are fetched and its main class is compiled if they are not there.

    Args:
        build: the folder for all that.
        broker: the port of the broker.
        port: where it listens.
    """
    parts = build / "parts"
    if not (build / "Run.class").exists():
        copy = ("dependency:copy-dependencies", f"-DoutputDirectory={parts}", "-DincludeScope=runtime")
        subprocess.run(["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), *copy], check=True)
        subprocess.run(["javac", "-cp", f"{parts}/*", "-d", str(build), str(HERE / "Run.java")], check=True)
    file = build / f"{port}.yaml"
    file.write_text(_CONFIGURATION.format(broker=broker, port=port, first=port + 1))
    return ("java", "-cp", f"{parts}/*{os.pathsep}{build}", "Run", str(file))
