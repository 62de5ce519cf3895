"""`kipgen advise`: what it reads, what it rejects, and how it reports."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kafka_messages
from kafka_messages.metadata_response.v13 import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from kipgen.commands.app import app
from kipwire.drafts.kip_625 import count, count_all
from tests.support.places import ROOT
from tests.support.subjects.advice import CAPTURE, FETCH_REQUEST, METADATA, SPECS, as_json, captured, run


def fields_by_path(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {field["path"]: field for field in result["fields"]}


def capture_of(folder: Path, frames: list[tuple[dict[str, Any], bytes]]) -> Path:
    """Write a capture without compression; return its folder."""
    data, lines = b"", []
    for entry, frame in frames:
        lines.append(json.dumps({**entry, "off": len(data), "len": len(frame)}))
        data += len(frame).to_bytes(4, "big") + frame
    folder.mkdir(exist_ok=True)
    (folder / "frames.bin").write_bytes(data)
    (folder / "frames.jsonl").write_text("\n".join(lines) + "\n")
    return folder


# Samples.


def test_capture_lines_and_frames_give_the_same_counts(tmp_path: Path) -> None:
    requests = captured("FetchRequest")
    frames = [frame for _, frame in requests]
    messages = [kafka_messages.decode_request(frame)[1] for frame in frames]
    raw = tmp_path / "requests.bin"
    raw.write_bytes(b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames))
    packed = tmp_path / "requests.gz"
    packed.write_bytes(gzip.compress(raw.read_bytes()))
    lines = tmp_path / "requests.jsonl"
    lines.write_text(
        "".join(json.dumps({"version": m.VERSION, "message": m.to_json()}) + "\n\n" for m in messages), "utf-8"
    )
    results = [as_json(FETCH_REQUEST, "--samples", path) for path in (CAPTURE, raw, packed, lines)]
    assert results[0]["samples"]["other_frames"] == 2186 - len(frames)
    assert [result["samples"]["messages"] for result in results] == [len(frames)] * 4
    assert len({json.dumps(result["fields"]) for result in results}) == 1
    assert len({result["samples"]["bytes"] for result in results}) == 1
    fields, expected = fields_by_path(results[0]), count_all(messages).fields
    assert {path for path, field in fields.items() if field["count"]} == set(expected)
    for path, counts in expected.items():
        assert fields[path]["bytes"] == counts.sizes()
        assert (fields[path]["minimum"], fields[path]["maximum"]) == (counts.minimum, counts.maximum)
        assert [*fields[path]["values_by_packed_bytes"].values()] == list(counts.packed)


def test_several_samples_are_taken_together(tmp_path: Path) -> None:
    line = tmp_path / "one.jsonl"
    line.write_text(json.dumps(MetadataResponse(controller_id=-7).to_json()))
    result = as_json(METADATA, "--version", 13, "--samples", line, CAPTURE)
    assert result["samples"]["messages"] == 54
    assert fields_by_path(result)["ControllerId"]["minimum"] == -7
    again = as_json(METADATA, "--version", 13, "--samples", line, "--samples", CAPTURE)
    assert again == result


def test_messages_that_cannot_be_decoded_are_counted_and_reported(tmp_path: Path) -> None:
    good, bad = captured("MetadataResponse")[:2]
    damaged = bad[1][:-1] + b"\xff"
    folder = capture_of(tmp_path / "capture", [good, (bad[0], damaged), ({**good[0], "api_version": 99}, good[1])])
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"brokers": 3}\n' + json.dumps(MetadataResponse().to_json()) + "\n")
    result = as_json(METADATA, "--version", 13, "--samples", folder, lines)["samples"]
    assert (result["messages"], result["not_decoded"], result["other_frames"]) == (2, 3, 0)
    assert [failure.split(": ")[0] for failure in result["failures"]] == [
        f"{folder / 'frames.jsonl'}:2, byte {4 + len(good[1])} of frames.bin",
        f"{folder / 'frames.jsonl'}:3, byte {8 + len(good[1]) + len(bad[1])} of frames.bin",
        f"{lines}:1",
    ]
    text = run(METADATA, "--version", 13, "--samples", folder, lines).stdout
    assert "not in the figures: 3 messages that cannot be decoded" in text
    assert f"{lines}:1: MetadataResponse v13: message: the key 'throttleTimeMs' is missing" in text


def test_undecodable_messages_beyond_the_first_are_still_counted(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text("{}\n" * 1000 + json.dumps(MetadataResponse().to_json()))
    result = as_json(METADATA, "--version", 13, "--samples", lines)["samples"]
    assert (result["messages"], result["not_decoded"]) == (1, 1000)
    assert 0 < len(result["failures"]) < 100
    assert "and 995 more" in run(METADATA, "--version", 13, "--samples", lines).stdout


def test_samples_without_a_message_are_an_error_with_a_reason(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text("{}\n{}\n")
    done = run(METADATA, "--version", 13, "--samples", lines)
    assert done.exit_code == 2
    assert "not in the figures: 2 messages that cannot be decoded" in done.stderr
    assert "the samples have no MetadataResponse that can be decoded (0 other frames)" in done.stderr


LINE = json.dumps(MetadataResponse().to_json()).encode()


@pytest.mark.parametrize(
    ("spec", "content", "said"),
    [
        (METADATA, LINE + b"\n" + LINE[:-1], "FILE:2: not JSON: "),
        (METADATA, LINE + b"\n[1]\n", "FILE:2: not a JSON object"),
        (METADATA, LINE + b"\n{\xff}\n", "FILE:2: not JSON: "),
        (METADATA, b'{"a":' * 5000, "FILE:1: not JSON: "),
        (METADATA, b'{"version": "1", "message": {}}', 'FILE:1: "version" must be a whole number from'),
        (
            METADATA,
            b"\0\0\0\1\0",
            "FILE: contains only requests (a response does not contain its API key), but MetadataResponse is a "
            "response; give a capture or JSON lines",
        ),
        (FETCH_REQUEST, b"\0\0\0\1\0\0\0", "FILE: byte 5: the file ends within the size of a frame"),
        (FETCH_REQUEST, b"\0\0\0\1\0\0\0\0\2\0", "FILE: byte 5: a frame of 2 bytes starts here, but only 1 is left"),
        (FETCH_REQUEST, b"\x7f\xff\xff\xff\0\1", "but only 2 are left; is this a file of request frames?"),
        (FETCH_REQUEST, b"\xff\xff\xff\xff", "FILE: byte 0: a frame cannot have -1 bytes"),
        (FETCH_REQUEST, gzip.compress(bytes(100))[:-20], "FILE: damaged gzip file: "),
        (FETCH_REQUEST, b"\x1f\x8b\x08\x00" + b"\xff" * 20, "FILE: damaged gzip file: "),
        (FETCH_REQUEST, b"", "the samples have no FetchRequest"),
    ],
)
def test_a_file_that_cannot_be_read_gives_its_place(spec: Path, content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "samples"
    file.write_bytes(content)
    done = run(spec, "--samples", file, *(["--version", "13"] if content[:1] == b"{" else []))
    assert done.exit_code == 2, done.output
    assert said.replace("FILE", str(file)) in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"off": 3}, "frames.jsonl:2: there is no frame of "),
        ({"off": 10**9}, "frames.jsonl:2: there is no frame of "),
        ({"len": None}, 'frames.jsonl:2: "len" must be a whole number from 0'),
        ({"len": 2**40}, 'frames.jsonl:2: "len" must be a whole number from 0'),
        ({"off": -1}, 'frames.jsonl:2: "off" must be a whole number from 0'),
        ({"dir": "in"}, "frames.jsonl:2: \"dir\" is 'in'; it must be"),
        ({"api_version": True}, 'frames.jsonl:2: "api_version" must be'),
    ],
)
def test_an_index_that_does_not_fit_its_frames_gives_its_line(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    folder = capture_of(tmp_path, captured("MetadataResponse")[:2])
    index = folder / "frames.jsonl"
    first, second = index.read_text().splitlines()
    index.write_text(first + "\n" + json.dumps({**json.loads(second), **change}))
    done = run(METADATA, "--samples", folder)
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([METADATA, "--samples", "missing"], "missing: cannot be read: No such file"),
        ([METADATA, "--samples", ROOT / "docs"], "docs: has no frames.bin or frames.bin.gz"),
        (["missing.json", "--samples", CAPTURE], "missing.json"),
        ([METADATA, "--samples", CAPTURE, "--version", 13], "--version is for JSON lines"),
        ([METADATA, "--samples", CAPTURE, "--package", "no_such"], "no_such: cannot be imported"),
        ([METADATA, "--samples", CAPTURE, "--package", "json"], "json: is not a package generated by kipgen"),
        (
            [METADATA, "--samples", CAPTURE, "--package", "kipwire.drafts.proposals"],
            "kipwire.drafts.proposals: has no MetadataResponse",
        ),
        ([SPECS / "UpdateMetadataRequest.json", "--samples", CAPTURE], "UpdateMetadataRequest is retired"),
        ([METADATA, "--samples", CAPTURE, "--plot", "a.gif"], "a.gif: --plot writes a file with one of the suffixes"),
        ([METADATA], "Missing option '--samples'"),
    ],
)
def test_a_command_that_cannot_be_carried_out_says_why(arguments: list[object], said: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("out", [None, ".", "code"])
def test_a_package_is_found_where_generate_writes_it(
    out: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"pings_in_{'default' if out is None else 'here' if out == '.' else out}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    if out == "code":
        (tmp_path / "kipgen.toml").write_text(f'out = "{out}"\n')
    for arguments in (
        ["new", "Ping", "--out", f"specs/{name}"],
        ["generate", f"specs/{name}", "--out", out or "generated"],
    ):
        assert CliRunner().invoke(app, arguments).exit_code == 0
    Path("pings.jsonl").write_text('{"version": 0, "message": {"key": "a", "items": []}}\n')
    result = as_json(f"specs/{name}/PingRequest.json", "--samples", "pings.jsonl", "--package", name)
    assert result["samples"]["messages"] == 1


def test_json_lines_need_a_version(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_bytes(LINE)
    done = run(METADATA, "--samples", file)
    assert done.exit_code == 2
    assert f"{file}:1: the version is missing; use --version" in done.stderr


# Reports.


def test_text_has_the_figures_and_the_lines_to_paste() -> None:
    lines = run(METADATA, "--samples", CAPTURE).stdout.splitlines()
    assert lines[0] == "MetadataResponse: 53 messages (v13: 53), 11,961 bytes"
    rows = [line.split() for line in lines]
    assert ["Topics.Partitions.LeaderId", "int32", "172", "1", "2"] in rows
    assert ["Topics.Partitions.LeaderId", "688", "172", "172", "upacked32", "516", "9.7"] in rows
    assert ["Topics.TopicAuthorizedOperations", "244", "293", "293", "fixed32"] in rows
    assert any(row[:2] == ["Topics.Partitions.ReplicaNodes[*]", "1,264"] for row in rows)
    paste = lines.index('    "encoding": {"7-13": "fixed32", "14+": "packed32"}')
    assert lines[paste - 1] == f"{METADATA}:48: Topics.Partitions.LeaderEpoch"
    assert '    "elementEncoding": {"0-13": "fixed32", "14+": "upacked32"}' in lines
    assert "ClusterAuthorizedOperations: not in version 14, the next one" in lines
    assert "Topics.Partitions.OfflineReplicas[*]: no values in the samples" in lines


def test_a_message_of_kafka_needs_no_path_to_its_spec() -> None:
    by_name = run("MetadataResponse", "--samples", CAPTURE)
    assert by_name.exit_code == 0, by_name.stderr
    assert by_name.stdout.splitlines()[0] == run(METADATA, "--samples", CAPTURE).stdout.splitlines()[0]


def test_a_message_without_integers_has_nothing_to_choose() -> None:
    done = run(SPECS / "MetadataRequest.json", "--samples", CAPTURE)
    assert done.exit_code == 0
    assert "MetadataRequest has no field of int16, int32 or int64" in done.stdout


def test_fields_that_save_most_come_first() -> None:
    saved = [field["saved"] for field in as_json(METADATA, "--samples", CAPTURE)["fields"]]
    assert saved == sorted(saved, reverse=True)
    assert saved[0] > saved[-1] == 0


@pytest.mark.parametrize(
    ("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")], ids=["png", "svg", "pdf"]
)
def test_picture_is_drawn_in_each_format(suffix: str, magic: bytes, tmp_path: Path) -> None:
    file = tmp_path / f"savings{suffix}"
    assert run(METADATA, "--samples", CAPTURE, "--plot", file).exit_code == 0
    content = file.read_bytes()
    assert content.startswith(magic)
    if suffix == ".svg":
        assert b"Topics.Partitions.LeaderId" in content
        assert b"upacked32 saves 948 (75.0%)" in content
        assert b"Topics.Partitions.OfflineReplicas" not in content


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run(METADATA, "--samples", CAPTURE, "--plot", tmp_path / "a.png")
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        'kipgen: --plot needs matplotlib, which is not installed: pip install "kipwire[plot]"'
    ]
    assert run(METADATA, "--samples", CAPTURE).exit_code == 0


def test_a_handful_of_values_is_weighed_exactly() -> None:
    partitions = [MetadataResponsePartition(leader_id=leader) for leader in (-1, 5, 127, 128, 2**28)]
    fields = count(MetadataResponse(topics=[MetadataResponseTopic(partitions=partitions)])).fields
    assert fields["Topics.Partitions.LeaderId"].sizes() == {"fixed32": 20, "packed32": 11, "upacked32": 14}
