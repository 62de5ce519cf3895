"""One run of `kipgen check` finds every mistake of a spec, each at its own line and column."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kipgen.commands.app import app

REQUEST = """\
// Whoever writes a first spec makes some of these.
{
  "apiKey": 40000,
  "type": "requests",
  "name": "ProbeRequest",
  "validVersions": "3-0",
  "flexibleVersions": "2+",
  "reservedTags": [-1],
  "fields": [
    { "name": "GroupId", "type": "str", "versions": "0+" },
    { "name": "Count", "type": "int8", "versions": "0+", "default": "300" },
    { "name": "IsNew", "type": "bool", "versions": "0+", "nullableVersions": "0+" },
    { "name": "Topics", "type": "[]Topic", "version": "0+", "fields": [
      { "name": "Size", "type": "int16", "versions": "0+", "encoding": "packed64" },
      { "name": "size", "type": "int16", "versions": "0+" }
    ]}
  ]
}
"""

OF_THE_REQUEST = [
    "3:13: ProbeRequest: api-key-range: 'apiKey' is 40000",
    "4:11: ProbeRequest: unknown-word: 'type' is 'requests'; did you mean request?",
    "6:20: ProbeRequest: version-syntax: 'validVersions': '3-0' has its ends in the wrong order; write '0-3'",
    "8:20: ProbeRequest: tag-range: 'reservedTags' is -1",
    "10:34: ProbeRequest.GroupId: type-syntax: ",
    "11:69: ProbeRequest.Count: default-value: ",
    "12:78: ProbeRequest.IsNew: nullable-type: ",
    "13:44: ProbeRequest.Topics: unknown-property: unknown property 'version'; did you mean versions?",
    "14:72: ProbeRequest.Topics.Size: encoding-width: ",
    "15:17: ProbeRequest.Topics.size: field-name-clash: ",
]

DATA = """\
// And some of these.
{
  "name": "Probe",
  "type": "data",
  "validVersions": "0+",
  "flexibleVersions": "2-3",
  "comment": "x",
  "fields": [
    { "name": "Alpha", "type": "float32", "versions": "0+" },
    { "name": "Beta", "type": "int8", "versions": "0+", "default": "0xff" },
    { "name": "Gamma", "type": "uuid", "versions": "0+",
      "nullableVersions": "0+" },
    { "name": "Delta", "type": "[]Inner", "versions": "3-1", "fields": [
      { "name": "Leaf", "type": "int32" },
      { "name": "Twig", "type": "int32", "versions": "0+", "encoding": "packed64" }
    ]},
    { "name": "Beta", "type": "string", "versions": "0+" }
  ]
}
"""
OF_THE_DATA = [
    "5:20: Probe: valid-versions-closed: ",
    "6:23: Probe: flexible-versions-open: ",
    "7:3: Probe: unknown-property: ",
    "9:32: Probe.Alpha: type-syntax: ",
    "10:68: Probe.Beta: default-value: ",
    "12:27: Probe.Gamma: nullable-type: ",
    "13:55: Probe.Delta: version-syntax: ",
    "14:17: Probe.Delta.Leaf: versions-missing: ",
    "15:72: Probe.Delta.Twig: encoding-width: ",
    "17:15: Probe.Beta: duplicate-field: ",
]


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [("ProbeRequest", REQUEST, OF_THE_REQUEST), ("Probe", DATA, OF_THE_DATA)],
    ids=["a request", "data"],
)
def test_ten_mistakes_are_ten_problems_at_their_places(
    name: str, spec: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    Path(f"{name}.json").write_text(spec, encoding="utf-8")
    done = CliRunner().invoke(app, ["check", f"{name}.json"])
    assert done.exit_code == 1
    assert done.stderr == ""
    *report, summary = done.stdout.splitlines()
    assert summary == "Found 10 problems in 1 file."
    sources = spec.splitlines()
    assert len(report) == 3 * len(expected)
    for start, line, source, caret in zip(expected, report[::3], report[1::3], report[2::3], strict=True):
        assert line.startswith(f"{name}.json:{start}")
        at = line.split(":")
        assert source == f"{at[1]:>5} | {sources[int(at[1]) - 1]}"
        assert caret == f"{'':>5} | {'':>{int(at[2]) - 1}}^"
