"""Whatever the rules accept can be generated, imported and used: no accepted spec fails later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kipgen.reading.rules import ALL
from kipgen.reading.rules.examples import file_name
from tests.support.defaults import of_defaults
from tests.support.places import DATA
from tests.support.spec_package import classes_of

CASES = [json.loads(line) for line in (DATA / "spec-cases.jsonl").read_text().splitlines()]
TEXTS = {
    **{
        case["name"]: json.dumps(case["spec"])
        for case in CASES
        if case["expect"] == "ok" and "messages" not in case["spec"]
    },
    **{
        f"rule-{rule.id}-{number}": text
        for rule in ALL
        for number, text in enumerate(rule.good)
        if file_name(text, "Spec") == "Spec.json"
    },
}


@pytest.mark.parametrize("name", TEXTS)
def test_an_accepted_spec_gives_working_classes(name: str, tmp_path: Path) -> None:
    for cls in classes_of(TEXTS[name], f"accepted_{name.replace('-', '_')}", tmp_path).values():
        message = of_defaults(cls)
        data = message.encode()
        assert cls.decode(data) == message
        assert len(data) == message.encoded_size()
        assert cls.from_json(message.to_json()) == message
