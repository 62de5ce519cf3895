"""Settings of Kafka's clients are read as Java reads them, and no error shows a password or a part of a key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from kipjobs.errors import JobError, SourceError
from kipspark import live as live_topics
from kipspark.spark.client_config import client_options, without_secrets
from kipspark.spark.connector import check_repository, fetch, name_of


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
