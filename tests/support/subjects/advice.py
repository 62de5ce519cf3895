"""Output of `kipgen advise`, in the forms that tests need."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

import kafka_messages
from kipgen.commands.app import app
from tests.support.places import ROOT

CAPTURE = ROOT / "examples" / "capture"
SPECS = ROOT / "schemas" / "kafka_messages" / "clients"
METADATA, FETCH_REQUEST = SPECS / "MetadataResponse.json", SPECS / "FetchRequest.json"


def run(*arguments: object) -> Result:
    """Run `kipgen advise` on a screen that is wide enough for every line."""
    return CliRunner().invoke(app, ["advise", *map(str, arguments)], env={"COLUMNS": "400", "NO_COLOR": "1"})


def as_json(*arguments: object) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def captured(name: str) -> list[tuple[dict[str, Any], bytes]]:
    """Index line and frame of every captured message of one name."""
    frames = gzip.decompress((CAPTURE / "frames.bin.gz").read_bytes())
    found = []
    for line in gzip.decompress((CAPTURE / "frames.jsonl.gz").read_bytes()).splitlines():
        entry = json.loads(line)
        find = kafka_messages.request if entry["dir"] == "req" else kafka_messages.response
        if name == find(entry["api_key"], entry["api_version"]).NAME:
            found.append((entry, frames[entry["off"] + 4 : entry["off"] + 4 + entry["len"]]))
    return found


def put_in(document: dict[str, Any], path: str, text: str) -> None:
    """Paste a property into the field at a path of a spec."""
    here = document
    for name in path.split("."):
        here = next(field for field in here["fields"] if field["name"] == name)
    here.update(json.loads(f"{{{text}}}"))


def changed_spec(spec: Path, fields: list[dict[str, Any]], highest: int) -> str:
    """Return a spec up to this version, with all texts of the advice pasted."""
    document = json.loads(spec.read_text())
    lowest = document["validVersions"].split("-")[0]
    document["validVersions"] = f"{lowest}-{highest}"
    for field in fields:
        if field["text"]:
            put_in(document, field["path"], field["text"])
    return json.dumps(document)
