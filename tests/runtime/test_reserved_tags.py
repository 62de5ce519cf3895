"""Tags that are reserved: how they are read, what may not be done with them, and that their bytes are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from kipgen.reading.check import read_file
from kipgen.reading.rules.examples import ALPHA, spec
from kipgen.resources import schema_path
from tests.support.spec_package import classes_of

TAG_0 = '{"name": "Beta", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 0}'


def _problems(folder: Path, text: str) -> list[str]:
    file = folder / "Probe.json"
    file.write_text(text, encoding="utf-8")
    return [str(problem) for problem in read_file(file, "Probe.json").problems]


def test_reserved_tags_belong_to_the_message_the_common_struct_and_the_field_with_its_struct(tmp_path: Path) -> None:
    inline = '{"name": "Gamma", "type": "[]Inner", "versions": "2+", "reservedTags": [3], "fields": [TAG_0]}'.replace(
        "TAG_0", TAG_0
    )
    use = '{"name": "Delta", "type": "Shared", "versions": "2+"}'
    common = '{"name": "Shared", "versions": "2+", "reservedTags": [4, 5]}'
    file = tmp_path / "Probe.json"
    file.write_text(spec(inline, use, common=(common,), more='"reservedTags": [1, 2]'))
    message = read_file(file).spec
    assert message is not None
    assert message.reserved_tags == (1, 2)
    assert {struct.name: struct.reserved_tags for struct in message.structs} == {"Inner": (3,), "Shared": (4, 5)}


def test_reserved_tags_fill_the_gaps_between_tags(tmp_path: Path) -> None:
    beta = TAG_0.replace('"tag": 0', '"tag": 2')
    assert _problems(tmp_path, spec(ALPHA, beta, more='"reservedTags": [0, 1]')) == []
    assert "tag-gap" in _problems(tmp_path, spec(ALPHA, beta, more='"reservedTags": [0]'))[0]


@pytest.mark.parametrize(
    ("written", "place", "said"),
    [
        ("[-1]", "2:20", "tag-range: 'reservedTags' is -1; write a 31-bit number"),
        ("[0, 2147483648]", "2:23", "tag-range: 'reservedTags' is 2147483648; write a 31-bit number"),
        ('["0"]', "2:20", "wrong-kind: an element of 'reservedTags' is the string '0'; write a whole number"),
        ("[0.5]", "2:20", "wrong-kind: "),
        ("[true]", "2:20", "wrong-kind: "),
        ("[[0]]", "2:20", "wrong-kind: "),
        ("[1e999]", "2:20", "wrong-kind: "),
        ("0", "2:19", "wrong-kind: 'reservedTags' is the number 0; write a list"),
        ("null", "2:19", "wrong-kind: "),
        ("[0, 0]", "2:19", "reserved-tag-twice: tag 0 is listed 2 times; list it once"),
    ],
)
def test_list_that_is_not_one_of_tags_is_refused_at_its_place(
    written: str, place: str, said: str, tmp_path: Path
) -> None:
    (problem,) = _problems(tmp_path, spec(more=f'"reservedTags": {written}'))
    assert problem.startswith(f"Probe.json:{place}: Probe: {said}")


def test_reserved_tag_that_is_used_is_refused_where_it_is_used(tmp_path: Path) -> None:
    (problem,) = _problems(tmp_path, spec(ALPHA, TAG_0, more='"reservedTags": [0]'))
    assert problem.startswith("Probe.json:7:88: Probe.Beta: reserved-tag-used: tag 0 is reserved (line 2)")


def test_field_of_a_common_struct_reserves_no_tags(tmp_path: Path) -> None:
    use = '{"name": "Delta", "type": "Shared", "versions": "2+", "reservedTags": [0]}'
    (problem,) = _problems(tmp_path, spec(use, common=('{"name": "Shared", "versions": "2+"}',)))
    assert "reserved-tags-place: Shared is a common struct (line 8); reserve its tags there" in problem


def test_retired_message_keeps_its_reserved_tags(tmp_path: Path) -> None:
    assert _problems(tmp_path, spec(valid="none", flexible="none", more='"reservedTags": [0]')) == []


def test_editors_know_the_property() -> None:
    validator = Draft202012Validator(json.loads(schema_path().read_text("utf-8")))
    document = json.loads(spec(more='"reservedTags": [0, 7]'))
    assert validator.is_valid(document)
    assert not validator.is_valid({**document, "reservedTags": ["0"]})


def test_what_older_peers_send_under_a_reserved_tag_is_kept(tmp_path: Path) -> None:
    peer = classes_of(spec(ALPHA, TAG_0), "reserved_peer", tmp_path)[2]
    ours = classes_of(spec(ALPHA, more='"reservedTags": [0]'), "reserved_ours", tmp_path)[2]
    data = peer(alpha=1, beta=7).encode()
    message = ours.decode(data)
    assert message.unknown_tagged_fields == {0: b"\0\0\0\7"}
    assert message.encode() == data
