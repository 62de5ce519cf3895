"""Names of protocols that Wireshark refuses are not written into a dissector."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.places import ROOT

PROGRAM = ROOT / "examples" / "wireshark" / "dissector.py"


@pytest.mark.parametrize(
    ("package", "name", "expected"),
    [
        ("k", None, "k_protocol"),
        ("own.k", None, "own_k"),
        ("kafka_messages", "kipwire-2.kafka", "kipwire-2.kafka"),
        ("kafka_messages", "k", None),
        ("kafka_messages", "a b", None),
        ("kafka_messages", "a..b", None),
        ("\u00e9t\u00e9", None, None),
    ],
)
def test_a_dissector_has_a_name_that_wireshark_takes(
    package: str, name: str | None, expected: str | None, tmp_path: Path
) -> None:
    spec = importlib.util.spec_from_file_location("dissector_of_examples", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    resolved = {"format": 1, "package": package, "enums": [], "headers": {}, "messages": []}
    (tmp_path / "own.json").write_text(json.dumps(resolved))
    words = [str(tmp_path / "own.json"), "--out", str(tmp_path / "own.lua"), *(["--name", name] if name else [])]
    done = CliRunner().invoke(module.main, words)
    if expected is None:
        assert done.exit_code == 1
        assert "cannot name a protocol in Wireshark, which takes two or more letters" in done.output
    else:
        assert done.exit_code == 0, done.output
        assert f'local NAME, TITLE, LABEL, PORTS = "{expected}", ' in (tmp_path / "own.lua").read_text("utf-8")
