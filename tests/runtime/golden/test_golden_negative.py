"""Damaged input: what strict decoding must refuse is refused, what it must accept has Java's value.

Java's reader is lenient. Where it accepted bytes, they are valid in the strict sense exactly if Java read all of them
and would write the same ones again, with two exceptions: a sender may spell out a tagged field's default, and an
unknown field may have the highest tag (KIP-482 knows 31-bit tags; Java refuses to write that one).
"""

from __future__ import annotations

from typing import Any

import pytest

import kafka_messages
from kipwire import DecodeError, UnsupportedVersionError
from tests.support import golden_data
from tests.support.cases import of_each

LINES = [*golden_data.lines("negative"), *golden_data.lines("probes")]
SPELT_OUT_DEFAULTS = {
    "tags: known, null or zero byte",
    "tagged nullable struct: marker 1, empty body",
    "default array written explicitly as tag (non-canonical)",
}
HIGHEST_TAG = "tags: tag number 2^31-1"


def is_version_known(line: dict[str, Any]) -> bool:
    return line["version"] in kafka_messages.versions(line["message"])


def is_strictly_valid(line: dict[str, Any]) -> bool:
    if line["java"] != "ok" or line["remaining"]:
        return False
    if line["rewrite"] == "same":
        return True
    if line["mutation"] == HIGHEST_TAG:
        return "2147483647" in line["rewrite"]
    return line["mutation"] in SPELT_OUT_DEFAULTS


VALID = [line for line in LINES if is_version_known(line) and is_strictly_valid(line)]
INVALID = [line for line in LINES if is_version_known(line) and not is_strictly_valid(line)]


def label(line: dict[str, Any]) -> str:
    return f"{line['message']}-{line['version']}-{line['mutation']}"


def message_of(line: dict[str, Any]) -> str:
    return str(line["message"])


def test_the_corpus_is_whole() -> None:
    assert (len(LINES), len(VALID), len(INVALID)) == (3372, 707, 2662)


@of_each("line", INVALID, together=message_of, label=label)
def test_invalid_bytes_are_refused_with_their_place(line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    with pytest.raises(DecodeError) as caught:
        kafka_messages.message(line["message"], line["version"]).decode(data)
    error = caught.value
    assert (error.message, error.version) == (line["message"], line["version"])
    assert 0 <= error.offset <= len(data)
    assert error.reason


@of_each("line", VALID, together=message_of, label=label)
def test_valid_bytes_have_javas_value(line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    message = kafka_messages.message(line["message"], line["version"]).decode(data)
    assert message.to_json() == line["json"]
    if line["rewrite"] == "same":
        assert message.encode() == data
    elif line["mutation"] != HIGHEST_TAG:
        assert message.encode() == bytes.fromhex(line["rewrite"])


def test_versions_that_java_reads_by_accident_have_no_class() -> None:
    accidents = [line for line in LINES if not is_version_known(line)]
    assert len(accidents) == 3
    for line in accidents:
        with pytest.raises(UnsupportedVersionError):
            kafka_messages.message(line["message"], line["version"])
