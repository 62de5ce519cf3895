"""The command that the page asks follows from what was given; its Python runs outside of a browser, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docs.browser import looking, packing, rpds
from tests.support.places import DATA


@pytest.fixture(autouse=True)
def without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the variables that an answer of the page's Python sets, which has a process of its own there."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        ("0000001f0003000900000007000762696c6c696e670002076f72646572730001000000", "", ["--request"]),
        ("00000000001900", "HeartbeatResponse", ["HeartbeatResponse", "4"]),
        ("00000000001900", "HeartbeatResponse v4", ["HeartbeatResponse", "4"]),
        ("000000010000010000002a00", "response:ApiVersions:3", ["--response", "ApiVersions", "3"]),
        ("0000001b00000007000000000000000000000001036b31000023840105016e", "response FindCoordinator",
         ["--response", "FindCoordinator", "3"]),
        ("", "", ["--request"]),
    ],
)  # fmt: skip
def test_the_words_of_inspect_follow_from_the_form(
    text: str, form: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(looking.PASTED).write_text(text)
    assert looking.chosen([looking.PASTED], form)["words"] == ["inspect", *words, looking.PASTED]


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("cases/captures/young-9092.pcap", "tap"),
        ("segments/orders-0/00000000000000000000.log", "dump"),
        ("segments/orders-0", "dump"),
        ("partition_files/replication-offset-checkpoint", "dump"),
    ],
)
def test_captures_and_logs_are_known_by_their_bytes(path: str, command: str) -> None:
    assert looking.chosen([str(DATA / path)], "")["words"][0] == command


def test_a_long_output_ends_as_for_a_pipe_to_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "MOST_OUTPUT", 1000)
    said = looking.run(["dump", "--records", str(DATA / "segments" / "orders-0")])
    assert (len(said["out"]), said["cut"], said["status"]) == (1000, True, 0)


def test_a_link_has_the_bytes_and_their_form() -> None:
    frame = "0000001b00000007000000000000000000000001036b31000023840105016e"
    assert looking.link_of(["inspect", "--response", "FindCoordinator", "3", frame]) == {
        "hex": frame, "form": "response:FindCoordinator:3",
    }  # fmt: skip
    answer = looking.answer(json.dumps({"call": "link_of", "arguments": [["inspect", "HeartbeatResponse", "4", "00"]]}))
    assert json.loads(answer) == {"hex": "00", "form": "HeartbeatResponse:4"}


def test_what_stands_in_for_rpds_is_enough_for_jsonschema() -> None:
    """It changes nothing that was there before."""
    mapping = rpds.HashTrieMap({"a": 1})
    assert dict(mapping.insert("b", 2).update({"c": 3}).remove("a")) == {"b": 2, "c": 3} != dict(mapping)
    assert set(rpds.HashTrieSet([1]).insert(2)) == {1, 2}
    assert list(rpds.List([1, 2]).push_front(0).rest) == [1, 2]


def test_archives_are_the_same_for_the_same_files() -> None:
    contents = {"b.py": b"2", "a.py": b"1"}
    assert packing.compressed(packing.stored(contents)) == packing.compressed(
        packing.stored(dict(sorted(contents.items())))
    )
