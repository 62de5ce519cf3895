"""Requests that a release of Kafka does not serve, and releases of client libraries that have newer ones.

`kafka_versions.json` has the versions of every message in every line of releases, as the specs in Kafka's jars have
them, from the line on that is named. Kafka 4.0 was the first to drop versions: KIP-896 lists them, and the first
releases of client libraries that do without them. See
https://cwiki.apache.org/confluence/display/KAFKA/KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pkgutil import get_data
from typing import Any, NamedTuple

from kipwire.message.registry import KAFKA_PACKAGE, registry_of
from kipwire.model.api_keys import API_VERSIONS_KEY

_FILE = "kafka_versions.json"
_REQUEST = "Request"
_EARLIER_NAMES = {"ElectPreferredLeaders": "ElectLeaders", "ListOffset": "ListOffsets"}
"""APIs without a class of that name, by their later name."""
_NONE = "none"
KIP_896 = "KIP-896"
_FIRST_WITHOUT_OLD_VERSIONS = (4, 0)


class Library(NamedTuple):
    """A client library that KIP-896 names."""

    name: str
    release: tuple[int, ...]
    """The release that KIP-896 looked at: the APIs that it uses are there in versions that Kafka 4.0 serves."""
    software: re.Pattern[str]
    """The name that it gives itself in ApiVersions, from version 3 on."""
    client_id: re.Pattern[str] | None
    """Pattern of the default client id; None if the default does not identify the library."""

    @property
    def fixed(self) -> str:
        """The library with the release, such as `librdkafka 1.8.2`."""
        return f"{self.name} {'.'.join(map(str, self.release))}"


def _library(name: str, release: str, software: str, client_id: str | None) -> Library:
    id_ = None if client_id is None else re.compile(client_id)
    return Library(name, _numbers(release), re.compile(software, re.IGNORECASE), id_)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", text)[:3])


LIBRARIES = (
    _library("Java clients", "2.1", r"apache-kafka-java", r"(producer|consumer|adminclient)-\d+"),
    _library("librdkafka", "1.8.2", r".*rdkafka.*|confluent-kafka-.*", r"rdkafka"),
    _library("KafkaJS", "1.15.0", r"kafkajs", r"kafkajs"),
    _library("Sarama", "1.30.1", r"sarama", r"sarama"),
    _library("kafka-python", "2.0.2", r"kafka-python", r"kafka-python(-producer)?(-[\d.]+)?"),
)
"""The libraries of KIP-896. It says that more clients are built on librdkafka, such as Confluent's."""

_OF_CLIENT_ID = re.compile(r"\d+\.[\d.]+")
"""A release in a client id, as kafka-python has it."""
_LIBRDKAFKA = re.compile(r"rdkafka-v?(\d[\d.]*)")
"""The release of librdkafka in the version of a client that is built on it, such as `2.6.0-rdkafka-2.6.0`."""


class Client(NamedTuple):
    """The library of a client, as far as it is known."""

    library: Library | None
    """Library; None if it is not one of `LIBRARIES`."""
    release: tuple[int, ...] | None
    """Release of the library; None if it is not known."""
    is_sure: bool
    """True if the library gave its name; else it is guessed from the default client id."""


class Unserved(NamedTuple):
    """A version of an API that a release does not serve."""

    served: str
    """The versions of the API that it serves, such as `3-13`; `none` if it has dropped the API."""
    fix: str
    """The library and its first release without the old version, by KIP-896, with a `?` if the library is a guess. For
    a newer release, a note that it has newer versions: its settings or the present brokers make it use the old one.
    Empty where KIP-896 says nothing.
    """


@cache
def releases() -> tuple[str, ...]:
    """Return the lines of releases that are known, in their order, such as `4.4`."""
    return tuple(one.rpartition(".")[0] for one in _content()["releases"])


def line_of(release: str) -> str:
    """Find the line of a release: `4.0` of `4.0.1`.

    Raises:
        ValueError: it is not known.
    """
    line = ".".join(release.split(".")[:2])
    known = releases()
    if line not in known or not re.fullmatch(r"\d+\.\d+(\.\d+)?", release):
        raise ValueError(f"{release!r} is not a known release of Kafka; use one from {known[0]} to {known[-1]}")
    return line


@cache
def versions_served_by(line: str) -> Mapping[int, range]:
    """Return the versions of each API that a line of releases serves, by API key; an empty range if it dropped the API.

    Raises:
        ValueError: the line is not known.
    """
    registry = registry_of(KAFKA_PACKAGE)
    known = releases()
    until = known[: known.index(line_of(line)) + 1]
    found: dict[int, range] = {}
    for name, changes in _content()["versions"].items():
        if not name.endswith(_REQUEST):
            continue
        texts = [changes[one] for one in until if one in changes]
        api = name.removesuffix(_REQUEST)
        key = registry.entry(f"{_EARLIER_NAMES.get(api, api)}{_REQUEST}").api_key
        if key is not None and texts and (texts[-1] != _NONE or key not in found):  # an earlier name may end in none
            found[key] = _range(texts[-1])
    return found


def is_judged(line: str, api_key: int) -> bool:
    """True if it is known which versions of an API a release serves; False for APIs that Kafka does not have.

    Raises:
        ValueError: the line is unknown.
    """
    return api_key in versions_served_by(line)


def find_unserved(line: str, api_key: int, version: int, client: Client) -> Unserved | None:
    """Find what a release serves instead of a request; None if it serves the request, or if the API is unknown.

    ApiVersions is always served: a broker answers a newer version in version 0 (KIP-511).

    Args:
        line: the line of releases.
        api_key: of the request.
        version: of the request.
        client: the sender.

    Raises:
        ValueError: the line is unknown.
    """
    versions = versions_served_by(line).get(api_key)
    if versions is None or version in versions or api_key == API_VERSIONS_KEY:
        return None
    served = versions_text(versions)
    is_dropped = bool(versions) and version < versions[0] and _numbers(line) >= _FIRST_WITHOUT_OLD_VERSIONS
    library = client.library
    if not is_dropped or library is None:
        return Unserved(served, "")
    if client.release is not None and client.release >= library.release:
        return Unserved(served, f"{library.name} {'.'.join(map(str, client.release))} has newer versions")
    return Unserved(served, f"{library.fixed}{'' if client.is_sure else '?'}")


def client_of(software: tuple[str, str] | None, client_id: str | None) -> Client:
    """Identify the library of a client, by its own statement, or else by its client id.

    Args:
        software: name and version of ApiVersions; None if they are not known.
        client_id: the client id of its requests.
    """
    if software is not None and software[0]:
        name, version = software
        library = next((one for one in LIBRARIES if one.software.fullmatch(name)), None)
        inner = _LIBRDKAFKA.search(version)
        return Client(library, _numbers(inner[1] if inner else version) or None, True)
    for one in LIBRARIES:
        if client_id is not None and one.client_id is not None and one.client_id.fullmatch(client_id):
            release = _OF_CLIENT_ID.search(client_id)
            return Client(one, _numbers(release[0]) if release else None, False)
    return Client(None, None, False)


def versions_text(versions: range) -> str:
    """Return versions as text, such as `3-13`, `4`, or `none`."""
    if not versions:
        return _NONE
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"


def _range(text: str) -> range:
    if text == _NONE:
        return range(0)
    lowest, _, highest = text.partition("-")
    return range(int(lowest), int(highest or lowest) + 1)


@cache
def _content() -> Any:
    return json.loads(get_data(__name__, _FILE) or b"")  # also from an archive, such as Spark's workers are given
