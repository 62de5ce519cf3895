"""Settings of Kafka's clients are read as Java reads them, and no error shows a password or a part of a key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from kipjobs.errors import JobError, SourceError
from kipspark import live as live_topics
from kipspark.spark.client_config import MalformedError, client_options, load, without_secrets
from kipspark.spark.connector import check_repository, fetch, name_of

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
]
"""Texts, and what `java.util.Properties.load` of Java 17.0.15 makes of their bytes in ISO 8859-1."""


@pytest.mark.parametrize(("text", "expected"), AS_JAVA, ids=[repr(text) for text, _ in AS_JAVA])
def test_settings_are_what_javas_properties_are(text: str, expected: dict[str, str]) -> None:
    assert load(text) == expected


@pytest.mark.parametrize("text", ["a=1\n\nb=\\u00zz", "a=1\n\nb=\\u00"])
def test_an_escape_that_java_refuses_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(MalformedError) as error:
        load(text)
    assert error.value.args == (3,)


def test_files_are_read_in_javas_encoding(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes(b"ssl.key.password=\xe9\\u20ac\r\n")
    assert client_options(file) == {"kafka.ssl.key.password": "\xe9\u20ac"}


KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            f"-----BEGIN PRIVATE KEY-----\n{KEY}/+x\n{KEY}==\n",
            r"client: the name of setting 2 has characters other than letters",
        ),
        (
            f"ssl.keystore.key=-----BEGIN PRIVATE KEY-----\n{KEY}+/\n",
            r"client: the name of setting 2 has characters other than",
        ),
        (f"ssl.key.password={KEY}\\u12\n", r"client:1: a \\u needs four hexadecimal digits"),
        (f"ssl.key.password={KEY}\\ud800\n", r"client: setting 1 has half a surrogate pair"),
    ],
)
def test_no_error_shows_what_is_in_the_file(tmp_path: Path, text: str, wrong: str) -> None:
    file = tmp_path / "client"
    file.write_text(text)
    with pytest.raises(SourceError, match=wrong) as error:
        client_options(file)
    assert KEY[:4] not in str(error.value)
    assert "BEGIN" not in str(error.value)


def test_secret_values_and_their_parts_are_hidden() -> None:
    settings = {
        "kafka.sasl.jaas.config": 'Plain required username="me too" password="s3cret;x";',
        "kafka.ssl.keystore.key": f"-----BEGIN PRIVATE KEY----- {KEY} {KEY[::-1]}",
        "kafka.ssl.truststore.password": "trust me",
        "kafka.security.protocol": "SASL_SSL",
    }
    text = f"no flag s3cret in 'x'; bad PEM {KEY[::-1]}; trust me; SASL_SSL"
    assert without_secrets(text, settings) == "no flag [hidden] in 'x'; bad PEM [hidden]; [hidden]; SASL_SSL"


def test_errors_of_a_client_are_shown_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reader:
        """Reader of a session whose client refuses a setting, and repeats the setting in the error."""

        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: self

        def isEmpty(self) -> bool:  # noqa: N802  Spark's own name
            raise PySparkException("x\norg.apache.kafka.common.config.ConfigException: bad flag hunter2 in JAAS config")

    class Session:
        """One with nothing but that reader."""

        read = Reader()
        conf = Reader()

    options = {"kafka.sasl.jaas.config": 'Plain hunter2 password="hunter2";'}
    with pytest.raises(SourceError, match=r"bad flag \[hidden\] in JAAS config") as error:
        live_topics(Session(), "b:1", ["t"], options)  # type: ignore[arg-type]
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("repository", "wrong"),
    [
        ("http://repo.invalid/maven", r"^http://repo.invalid/maven: .*use https://, or .*--allow-http"),
        ("HTTP://me:hunter2@repo.invalid/", r"^HTTP://\[hidden\]@repo.invalid/: .*https://"),
        ("ftp://repo.invalid/", r"is not the URL of a Maven repository, such as https://"),
        ("repo.invalid", r"is not the URL of a Maven repository, such as https://"),
    ],
)
def test_jars_are_not_taken_from_where_anybody_may_change_them(repository: str, wrong: str) -> None:
    with pytest.raises(JobError, match=wrong) as error:
        fetch(repository)
    assert "hunter2" not in str(error.value)


def test_http_may_be_asked_for_and_safe_addresses_need_nothing() -> None:
    check_repository("http://127.0.0.1:1/", allow_http=True)
    for repository in ("https://repo.invalid/maven", "file:///maven", None):
        check_repository(repository)


def test_a_repository_is_named_without_its_password() -> None:
    name = name_of("https://me:p@ss/w@repo.invalid/maven")
    assert not re.search("p@ss", name)
