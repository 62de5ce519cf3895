"""Whatever the rules accept can be generated, imported and used: no accepted spec fails later."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from kipgen import check
from kipgen.render import HeaderVersions, render_message
from kipgen.rules import ALL
from kipgen.rules.examples import file_name

CASES = [json.loads(line) for line in (Path(__file__).parent / "data/spec-cases.jsonl").read_text().splitlines()]
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
def test_an_accepted_spec_gives_working_classes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "Spec.json"
    file.write_text(TEXTS[name])
    spec = check.read_file(file).spec
    assert spec is not None
    package = f"accepted_{name.replace('-', '_')}"
    for path, pieces in render_message(spec, HeaderVersions(), "Spec.json").items():
        target = tmp_path / package / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n\n".join(pieces))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    folder = next((child.name for child in (tmp_path / package).glob("*") if child.is_dir()), "")
    for version in spec.valid_versions.each():
        module = importlib.import_module(f"{package}.{folder}.v{version}")
        cls: Any = getattr(module, module.__all__[-1])
        message = cls()
        data = message.encode()
        assert cls.decode(data) == message
        assert len(data) == message.encoded_size()
        assert cls.from_json(message.to_json()) == message
