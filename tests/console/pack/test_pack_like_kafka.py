"""Kafka's own kafka-dump-log reads packed segments, and finds in them what it finds in the logs they were made of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.console.pack.test_pack import FILES, dumped, packed
from tests.support.live.kafka_tools import tool

pytestmark = pytest.mark.maven

_OF_BYTES = re.compile(r"(position|size|crc): \d+ ?")
"""Parts of a line that compressing again changes."""


def rows(files: list[Path]) -> list[list[str]]:
    """Return the lines of Kafka's tool about each file; all of them must be valid."""
    names = ",".join(map(str, files))
    text = tool("org.apache.kafka.tools.DumpLogSegments", "--files", names, "--print-data-log", "--deep-iteration")
    parts = [part.splitlines()[1:] for part in text.split("Dumping ")[1:]]
    assert len(parts) == len(files)
    batches = [line for part in parts for line in part if line.startswith("baseOffset: ")]
    assert batches
    assert all("isvalid: true" in line or "magic: 2" in line for line in batches)
    assert "Found" not in text  # such as "Found 4 invalid bytes at the end"
    return [[_OF_BYTES.sub("", line) for line in part] for part in parts]


def test_kafka_finds_in_packed_segments_what_is_in_the_logs(tmp_path: Path) -> None:
    files = [file for file in FILES if file.suffix == ".log"]
    made = []
    for number, file in enumerate(files):
        folder = tmp_path / str(number)
        folder.mkdir()
        packed(dumped(file.parent, file.name), folder)
        made.append(folder / file.parent.name / file.name)
    assert rows(made) == rows(files)
