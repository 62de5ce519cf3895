"""Features of the language that Kafka's own specs do not use: a package generated from the specs in data/forms."""

from __future__ import annotations

from typing import Any

import pytest

from kipwire import EncodeError
from tests.support.hex_tables import raw
from tests.support.spec_package import Classes
from tests.support.subjects.form_examples import is_written_and_read

# Worked examples.


@pytest.mark.parametrize(
    ("name", "version", "values", "data"),
    [
        ("Worked", 1, {"flag": True, "text": "A", "numbers": [], "maybe": None}, "01 | 02 41 | 01 | ff | 01 | 00"),
        ("Worked", 0, {}, "00 | 00 00 | 00 00 00 00 | ff | 00 00 00 00"),
        ("Worked", 0, {"text": None, "numbers": None}, "00 | ff ff | ff ff ff ff | ff | 00 00 00 00"),
        ("Worked", 1, {"text": None, "numbers": None}, "00 | 00 | 00 | ff | 01 | 00"),
        ("Worked", 0, {"text": "é", "numbers": [1, -1]}, "00 | 0002 c3a9 | 00000002 00000001 ffffffff | ff | 00000000"),
        ("Worked", 1, {"text": "é", "numbers": [1, -1]}, "00 | 03 c3a9 | 03 00000001 ffffffff | ff | 01 | 00"),
        ("WorkedTags", 0, {}, "00"),
        ("WorkedTags", 0, {"ratio": 1.0}, "01 00 08 3f f0 00 00 00 00 00 00"),
    ],
)
def test_worked_examples(forms: Classes, name: str, version: int, values: dict[str, Any], data: str) -> None:
    assert is_written_and_read(forms(name, version)(**values), raw(data))


@pytest.mark.parametrize(
    ("version", "data"), [(0, "00 0000 00000000 | 01 00000007 | 00000000"), (1, "00 01 01 | 01 00000007 00 | 01 00")]
)
def test_marker_of_a_nullable_struct_that_is_present(forms: Classes, version: int, data: str) -> None:
    maybe = forms.struct("Worked", version, "Maybe")(number=7)
    assert is_written_and_read(forms("Worked", version)(maybe=maybe), raw(data))


def test_tagged_nullable_struct_has_a_varint_marker(forms: Classes) -> None:
    cls, maybe = forms("WorkedTags", 0), forms.struct("WorkedTags", 0, "Maybe")
    assert is_written_and_read(cls(maybe=maybe()), raw("01 01 03 01 01 00"))
    assert is_written_and_read(
        cls(ratio=1.0, maybe=maybe(blob=b"\xaa")), raw("02 | 00 08 3ff0000000000000 | 01 04 01 02 aa 00")
    )


def test_null_where_the_default_is_a_struct_is_written(forms: Classes) -> None:
    cls = forms("Nullables", 1)
    positional = "00000000 00 | 01 00000000 01 01 00 00 00 | ff | 01 0000000000000000 00 | 00"
    assert is_written_and_read(cls(maybe_null=None, nullable_later=None), raw("00000000 00 | ff | ff | ff | 00 | 00"))
    deeper = forms.struct("Nullables", 1, "Deeper")
    assert cls().maybe_null.deeper == deeper()
    assert is_written_and_read(cls(), raw(f"{positional} | 00"))
    assert is_written_and_read(cls(tagged_maybe_null=None), raw(f"{positional} | 01 | 01 01 00"))
    assert is_written_and_read(cls(tagged_null_list=[]), raw(f"{positional} | 01 | 04 01 01"))


def test_struct_that_is_nullable_in_later_versions_has_no_marker_before(forms: Classes) -> None:
    data = raw("00000000 | ff | ff | 0000000000000007 | ffffffff")
    later = forms.struct("Nullables", 0, "Later")(number=7)
    assert is_written_and_read(forms("Nullables", 0)(maybe_null=None, nullable_later=later), data)
    with pytest.raises(EncodeError, match="null") as caught:
        forms("Nullables", 0)(nullable_later=None).encode()
    assert caught.value.path == "nullable_later"


def test_tagged_structs_within_tagged_arrays(forms: Classes) -> None:
    cls = forms("Nullables", 1)
    item, inside = (forms.struct("Nullables", 1, name) for name in ("TaggedItem", "TaggedInside"))
    message = cls(maybe_null=None, nullable_later=None, tagged_list=[item(name="a"), item(inside=inside(number=-1))])
    data = "00000000 00 | ff | ff | ff | 00 | 01 03 0f | 03 | 02 61 00 | 01 01 00 07 01 07 04 ffffffff"
    assert is_written_and_read(message, raw(data))
