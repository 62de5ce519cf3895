"""Records are converted as Kafka's own classes convert them, down for old consumers and up from old producers."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kipwire import EncodeError
from kipwire.records import Converted, down_convert, read_batches, up_convert
from tests.support.cases import of_each
from tests.support.converted_records import contents, golden_conversions, is_plain
from tests.support.golden_data import lines
from tests.support.kafka_jars import fetch_class_path
from tests.support.places import SUPPORT

GOLDEN = golden_conversions()
PROGRAM = SUPPORT / "java" / "RecordConversion.java"


def converted(line: dict[str, Any]) -> Converted:
    if line["kind"] == "up":
        return up_convert(line["from"], line["magic"])
    return down_convert(line["from"], line["magic"], first_offset=line["firstOffset"])


def case_name(number: int) -> str:
    line = GOLDEN[number]
    return f"{number} {line['kind']} to {line['magic']}: {line['label']} from {line['firstOffset']}"


def test_golden_file_has_what_its_readme_says() -> None:
    kinds = Counter((line["kind"], line["magic"]) for line in GOLDEN)
    assert kinds == {("down", 1): 78, ("down", 0): 78, ("up", 1): 8, ("up", 2): 20}
    assert sum(line["to"] is None for line in GOLDEN) == 20
    codecs = {(line["magic"], batch.compression) for line in GOLDEN if line["to"] for batch in read_batches(line["to"])}
    assert codecs == {(magic, codec) for magic in range(3) for codec in ("none", "gzip", "snappy", "lz4")}


@of_each("number", range(len(GOLDEN)), together=lambda number: str(GOLDEN[number]["kind"]), label=case_name)
def test_records_become_what_java_makes_of_them(number: int) -> None:
    line = GOLDEN[number]
    if line["to"] is None:
        with pytest.raises(EncodeError, match=rf"batches\[0\].compression: magic {line['magic']} has no zstd"):
            converted(line)
        return
    data = converted(line).data
    if is_plain(line["to"]):
        assert data.hex() == line["to"].hex()
    else:
        assert contents(data) == contents(line["to"])


@pytest.mark.maven
def test_golden_file_is_what_the_program_prints(tmp_path: Path) -> None:
    jars = fetch_class_path(tmp_path, "3.9.1", ["kafka-clients", "kafka-storage"])
    java = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    command = [java, "-cp", ":".join(map(str, jars)), str(PROGRAM)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    for ours, theirs in zip(lines("record-conversion"), printed, strict=True):
        for name in ours.keys() | theirs.keys():
            if name in {"from", "hex"}:  # gzip's bytes depend on the zlib of that Java
                assert contents(bytes.fromhex(ours[name])) == contents(bytes.fromhex(theirs[name]))
            else:
                assert ours[name] == theirs[name]
