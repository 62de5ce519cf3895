"""The texts of problems name the fault and the remedy, in the words of the spec."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipgen.reading.check import read_file
from kipgen.reading.rules.examples import field_of, layout, spec
from kipwire.model.types import TYPES

TYPE_NAMES = f"{', '.join(sorted(TYPES))}, a struct's name, or [] before one"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1]", "the spec is a list; write an object"),
        (spec(more='"listeners": ["brokr"]'), "an element of 'listeners' is 'brokr'; did you mean broker?"),
        (spec(more='"listeners": [1]'), "an element of 'listeners' is 1; write one of broker, controller or zkBroker"),
        (
            spec().replace('"flexibleVersions": "2+"', '"servedVersions": "0+"'),
            "'flexibleVersions' is missing; add \"none\" for a message that was released without it, as Kafka read it "
            'until 2.4; else "0+"',
        ),
        (layout(field_of("int32", sizeOf="x")), "'sizeOf' is 'x'; write rest"),
        (spec(field_of("[]strng")), f"'[]strng' is not a type; did you mean []string? Or write one of {TYPE_NAMES}"),
        (spec(field_of("varint")), f"'varint' is not a type; write one of {TYPE_NAMES}"),
        (
            spec(field_of("string", default="null")),
            'the default is null, but the field is never nullable; write "nullableVersions": "0+"',
        ),
        (
            spec(field_of("string", default="null", nullableVersions="1+")),
            'the default is null, but the field is nullable only in 1+; write "nullableVersions": "0+"',
        ),
        (spec(valid="0+"), "validVersions is 0+, which has no end; write the highest version, as in 0-5"),
        (spec(valid="10+"), "validVersions is 10+, which has no end; write the highest version, as in 10-15"),
        (
            spec(valid="32766+"),
            "validVersions is 32766+, which has no end; write the highest version, as in 32766",
        ),
        *(
            (
                spec(valid=valid),
                f"validVersions is {valid}, but 32767 is not a version: it means that a range has no end; "
                "write at most 32766",
            )
            for valid in ("32767", "0-32767", "32767+")
        ),
    ],
)
def test_text_says_what_is_wrong_and_what_would_be_right(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_text(text, encoding="utf-8")
    assert expected in {problem.text for problem in read_file(file).problems}
