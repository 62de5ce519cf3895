"""Batches to which Kafka's Java classes have given the time of their append.

`python -m tests.support.java_append_times` writes them, with jars that Maven fetches.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.golden_data import lines
from tests.support.kafka_jars import fetch_class_path
from tests.support.places import GOLDEN, SUPPORT

RELEASE = "4.4.0"
FILE = GOLDEN / "append-times.jsonl.gz"
PROGRAM = SUPPORT / "java" / "AppendTime.java"
TIMESTAMPS = (0, 1_700_000_000_123, 2**63 - 1)


def batches() -> dict[int, bytes]:
    """Return the batches of magic 2 that stand alone in `record-batches`, by the number of their line."""
    return {
        number: bytes.fromhex(line["hex"])
        for number, line in enumerate(lines("record-batches"))
        if line["kind"] == "record_batch"
    }


def printed(folder: Path) -> list[dict[str, Any]]:
    """Run the program with jars fetched into a folder; return its lines, each with what it was asked."""
    jars = fetch_class_path(folder, RELEASE, ["kafka-clients"])
    java = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    asked = [(number, time, data) for number, data in batches().items() for time in TIMESTAMPS]
    done = subprocess.run(
        [java, "-cp", ":".join(map(str, jars)), str(PROGRAM)],
        check=True,
        input="".join(f"{time} {data.hex()}\n" for _, time, data in asked),
        capture_output=True,
        text=True,
        timeout=120,
    )
    return [
        {"line": number, "timestamp": time, "head": head}
        for (number, time, _), head in zip(asked, done.stdout.split(), strict=True)
    ]


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        text = "".join(json.dumps(line) + "\n" for line in printed(Path(place)))
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
