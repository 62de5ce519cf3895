"""Every message in every version: bytes, values and JSON are the same as in the Java library."""

from __future__ import annotations

import json

import kafka_messages
from tests.support import golden_data
from tests.support.cases import of_each

PAIRS = golden_data.every_message_and_version()


def test_there_is_golden_data_for_every_message_and_version() -> None:
    assert len(PAIRS) == 870
    assert set(PAIRS) == set(golden_data.messages())


@of_each("name, version", PAIRS, together=lambda name, version: name)
def test_bytes_values_and_json_are_javas(name: str, version: int) -> None:
    cls = kafka_messages.message(name, version)
    for line in golden_data.messages()[name, version]:
        data = bytes.fromhex(line["hex"])
        message = cls.decode(data)
        assert message.to_json() == line["json"]
        assert sorted_unknown(golden_data.unknown_tagged_fields(message)) == sorted_unknown(line.get("unknown", []))
        assert message.encode() == data
        assert message.encoded_size() == len(data)
        rebuilt = golden_data.message_of(cls, line)
        assert rebuilt.encode() == data
        assert "NaN" in json.dumps(line["json"]) or rebuilt == message
        if "unknown" not in line:  # JSON does not carry unknown tagged fields
            assert cls.from_json(json.loads(json.dumps(message.to_json()))).encode() == data


def sorted_unknown(unknown: list[dict[str, object]]) -> list[tuple[str, ...]]:
    return sorted(tuple(str(one[key]) for key in ("path", "tag", "hex")) for one in unknown)
