"""Every message and version of the proposals is read from the bytes of its document, and written as them."""

from __future__ import annotations

import json
from typing import Any

from kipwire.drafts import proposals
from tests.support import proposal_bytes
from tests.support.cases import of_each

LINES = [json.loads(line) for line in proposal_bytes.FILE.read_text(encoding="utf-8").splitlines()]


def test_there_are_bytes_of_every_message_and_version() -> None:
    named = {(line["message"], line["version"]) for line in LINES}
    assert named == {(name, version) for name in proposals.names() for version in proposals.versions(name)}
    assert len(named) == 82


def test_the_bytes_are_those_that_the_documents_give() -> None:
    assert (
        proposal_bytes.FILE.read_text(encoding="utf-8") == proposal_bytes.text()
    ), "run tests/support/proposal_bytes.py"


@of_each(
    "line", LINES, together=lambda line: line["message"], label=lambda line: f"{line['message']} {line['version']}"
)
def test_bytes_and_values_are_those_of_the_document(line: dict[str, Any]) -> None:
    cls = proposals.message(line["message"], line["version"])
    data = bytes.fromhex(line["hex"])
    message = cls.decode(data)
    assert message.to_json() == line["json"]
    assert message.encode() == data
    assert message.encoded_size() == len(data)
    assert cls.from_json(line["json"]).encode() == data
