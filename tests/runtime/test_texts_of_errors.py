"""Values from outside in the texts of errors: short, on one line, and in the words of JSON."""

from __future__ import annotations

import pytest

from kafka_messages.join_group_request.v9 import JoinGroupRequest
from kipwire import JsonError
from kipwire.tools.text import cut, json_words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ([1], "a list"),
        ({"a": 1}, "an object"),
        (7, "7"),
        (-1.5, "-1.5"),
        ("a\n", r"'a\n'"),
        (60 * "a", f"'{60 * 'a'}'"),
        (61 * "a", f"'{57 * 'a'}...'"),
        (10**59, "1" + 59 * "0"),
        (10**60, "1" + 56 * "0" + "..."),
        pytest.param(10**4300, "a number of many digits", id="many digits"),
        ("\ud800", r"'\ud800'"),
    ],
)
def test_a_value_is_shown_as_json_calls_it(value: object, words: str) -> None:
    assert json_words(value) == words


def test_the_caller_says_how_long_a_text_may_be_and_what_a_mapping_is() -> None:
    assert json_words({}, mapping="a table") == "a table"
    assert json_words("abcdefgh", 5) == "'ab...'"
    assert (cut("abcde", 5), cut("abcdef", 5)) == ("abcde", "ab...")


@pytest.mark.parametrize(("wrong", "hint"), [("group_id", "; correct 'group_id'"), ("group", "")])
def test_a_key_that_is_written_as_an_attribute_is_named(wrong: str, hint: str) -> None:
    value = JoinGroupRequest().to_json()
    value[wrong] = value.pop("groupId")
    with pytest.raises(JsonError) as caught:
        JoinGroupRequest.from_json(value)
    assert caught.value.reason == f"the key 'groupId' is missing{hint}"
