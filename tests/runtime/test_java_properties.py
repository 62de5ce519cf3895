"""Properties files are read as Java reads them."""

from __future__ import annotations

import pytest

from kipwire.tools.java_properties import EscapeError, load

AS_JAVA: list[tuple[str, dict[str, str]]] = [
    ("# C:\\kafka\\\nsecurity.protocol=SSL\n", {"security.protocol": "SSL"}),
    ("! C:\\kafka\\\nsecurity.protocol=SSL\n", {"security.protocol": "SSL"}),
    ("a=C:\\\\kafka\\\\\nb=2\n", {"a": "C:\\kafka\\", "b": "2"}),
    ("a=x\\\n   y\\\n\t# no comment\nb=2", {"a": "xy# no comment", "b": "2"}),
    ("a\\ b\\:c\\=d = e f", {"a b:c=d": "e f"}),
    ("a=\\u0041\\t\\n\\q\\\\", {"a": "A\t\nq\\"}),
    ("a=\\uD83D\\uDE00", {"a": "\U0001f600"}),
    ("a = b", {"a": "b"}),
    ("a : b", {"a": "b"}),
    ("a b", {"a": "b"}),
    ("a\t=\tb", {"a": "b"}),
    ("a==b", {"a": "=b"}),
    ("a= = b", {"a": "= b"}),
    ("a:=b", {"a": "=b"}),
    ("a", {"a": ""}),
    ("  \t a=b \t", {"a": "b \t"}),
    ("=b", {"": "b"}),
    ("", {}),
    ("a=1\ra=2\r\nb=3", {"a": "2", "b": "3"}),
    ("a=x\\\r\n  y", {"a": "xy"}),
    ("a=x\\\n\nb=2", {"a": "x", "b": "2"}),
    ("a=\\\n\\\n  1", {"a": "1"}),
    ("\\\n# c\na=1", {"a": "1"}),
    ("a=1\\", {"a": "1"}),
    ("\\", {"": ""}),
    ("\\\n", {"": ""}),
    ("a=\xe9", {"a": "\xe9"}),
    ("  # comment\n\n   \n\tb=1", {"b": "1"}),
    ("a=b#c", {"a": "b#c"}),
    ("key\\\n=value", {"key": "value"}),
    ("a=\\\\\\\nb", {"a": "\\b"}),
    ("a=b", {"a": "b"}),
    ("a = b c ", {"a": "b c "}),
    ("a:b", {"a": "b"}),
    ("a b", {"a": "b"}),
    ("a\t= b", {"a": "b"}),
    ("a", {"a": ""}),
    ("a==b", {"a": "=b"}),
    ("a\\=b=c", {"a=b": "c"}),
    ("a\\ b c", {"a b": "c"}),
    ("# a=b\n! a=c\n\n   # a=d\na=e", {"a": "e"}),
    ("a=1\na=2", {"a": "2"}),
    ("a=b\\\n    c\\\n  d", {"a": "bcd"}),
    ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
    ("a=b\\", {"a": "b"}),
    ("a=\\u00e9\\t\\n\\q", {"a": "\xe9\t\nq"}),
    ("a=b # no comment", {"a": "b # no comment"}),
    ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
    ("a=\\\n# b", {"a": "# b"}),
]
"""Texts, and what `java.util.Properties.load` of Java 17.0.15 makes of their bytes in ISO 8859-1."""


@pytest.mark.parametrize(("text", "expected"), AS_JAVA, ids=[repr(text) for text, _ in AS_JAVA])
def test_settings_are_what_javas_properties_are(text: str, expected: dict[str, str]) -> None:
    assert load(text) == expected


@pytest.mark.parametrize("text", ["a=1\n\nb=\\u00zz", "a=1\n\nb=\\u00"])
def test_an_escape_that_java_refuses_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(EscapeError) as error:
        load(text)
    assert str(error.value) == "3: a \\u needs four hexadecimal digits after it"


def test_a_setting_of_many_lines_is_joined() -> None:
    assert load("a=" + 100_000 * "bc\\\n  " + "d") == {"a": 100_000 * "bc" + "d"}
