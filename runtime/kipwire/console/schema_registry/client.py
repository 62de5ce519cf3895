"""A client of a schema registry's HTTP API: schemas by id, by GUID, and of a version of a subject.

Schemas never change, so they are kept. What failed is asked again after some seconds: a dump that follows a topic may
outlive an outage, and each record of one that does not would wait for a time limit. A login goes to the registry alone,
not where it redirects to, and is in no error.

Source: the API reference of Confluent's schema registry, which Karapace and Apicurio's `ccompat` serve, too.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import ssl
import time
import urllib.request
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit

from kipwire.cluster.given import NO_CERTIFICATES
from kipwire.cluster.properties import Properties, SettingsError, read_properties
from kipwire.cluster.tls import context_of
from kipwire.console.schema_registry.heads import RegistryError
from kipwire.tools.text import cut, json_words, printable_line

LOGIN = "KIPWIRE_REGISTRY_AUTH"
"""The variable with user and password, as in user:password."""
_PREFIX = "schema.registry."
_TIMEOUT = 10.0
"""Seconds for each request."""
_KEPT_FAILURE = 10.0
"""Seconds after which a schema that could not be had is asked for again."""
_LARGEST = 16 * 1024 * 1024
"""Bytes of an answer at most."""


@dataclass(frozen=True)
class RegistrySettings:
    """Addresses and login of a registry."""

    urls: tuple[str, ...]
    """Each is tried until one answers."""
    authorization: str | None = field(default=None, repr=False)
    """The header of this name."""
    tls: ssl.SSLContext | None = None
    """None: the system's authorities."""


@dataclass(frozen=True)
class Schema:
    """A schema as the registry has it."""

    type: str
    """AVRO, JSON or PROTOBUF."""
    text: str
    references: tuple[tuple[str, str, int], ...]
    """Name, subject and version of each schema that this one refers to."""


def settings_of(where: str) -> RegistrySettings:
    """Read the settings of a registry.

    Args:
        where: its URL, several with commas between, or a properties file as Confluent's clients take it.

    Raises:
        ValueError: this is no URL of HTTP, or the file lacks something.
    """
    if "://" not in where:
        return _of_file(Path(where))
    login = os.environ.get(LOGIN)
    return RegistrySettings(_urls("--registry", where), _basic(LOGIN, login) if login else None)


def _of_file(path: Path) -> RegistrySettings:
    read = read_properties(path)
    properties = Properties(path, {name.removeprefix(_PREFIX): value for name, value in read.values.items()})
    urls = properties.get("url")
    if not urls:
        raise SettingsError(f"{path}: schema.registry.url is missing; --registry takes a URL or such a file")
    tls = None
    if any(name.startswith("ssl.") for name in properties.values):
        tls = context_of(NO_CERTIFICATES, properties)
    return RegistrySettings(_urls(f"{path}: schema.registry.url", urls), _authorization(properties), tls)


def _authorization(properties: Properties) -> str | None:
    """Make the header from the properties; the environment wins, as it does nowhere need a source to be named."""
    if login := os.environ.get(LOGIN):
        return _basic(LOGIN, login)
    if token := properties.get("bearer.auth.token"):
        return f"Bearer {token}"
    for name in ("basic.auth.credentials.source", "bearer.auth.credentials.source"):
        if (source := properties.get(name)) not in ("", "USER_INFO", "STATIC_TOKEN", "URL"):
            raise properties.error(name, f"{source} is not supported; use USER_INFO or STATIC_TOKEN")
    login = properties.get("basic.auth.user.info")
    return _basic(f"{properties.path}: basic.auth.user.info", login) if login else None


def _basic(what: str, login: str) -> str:
    if ":" not in login:
        raise SettingsError(f"{what} must be user:password")
    return f"Basic {base64.b64encode(login.encode()).decode()}"


def _urls(what: str, text: str) -> tuple[str, ...]:
    """Check URLs; no error has one with a user, as that may have a password."""
    urls = tuple(one.strip().rstrip("/") for one in text.split(",") if one.strip())
    for url in urls:
        try:
            parts = urlsplit(url)
            is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            parts, is_url = urlsplit(""), False
        if "@" in url:
            raise SettingsError(f"{what} has a user in its URL; put user:password into the variable {LOGIN}")
        if not is_url or parts.query or parts.fragment:
            raise SettingsError(f"{what}: {printable_line(url)!r} is not a URL such as http://registry:8081")
    return urls


class RegistryClient:
    """The schemas of a registry."""

    def __init__(self, settings: RegistrySettings) -> None:
        handlers = [] if settings.tls is None else [urllib.request.HTTPSHandler(context=settings.tls)]
        self._opener = urllib.request.build_opener(*handlers)
        self._settings = settings
        self._failed: dict[str, tuple[float, RegistryError]] = {}
        self._gone: tuple[float, RegistryError] | None = None

    def by_id(self, number: int, *, serialized: bool = False) -> Schema:
        """Get the schema with an id.

        Args:
            number: the id.
            serialized: True for a protobuf schema as a descriptor in base64.

        Raises:
            RegistryError: there is none, or the registry cannot be asked.
        """
        return self._get(f"/schemas/ids/{number}{'?format=serialized' if serialized else ''}")

    def by_guid(self, guid: str, *, serialized: bool = False) -> Schema:
        """Get the schema with a GUID, as `by_id`."""
        return self._get(f"/schemas/guids/{guid}{'?format=serialized' if serialized else ''}")

    def of_subject(self, subject: str, version: int, *, serialized: bool = False) -> Schema:
        """Get the schema of a version of a subject, also of one that was deleted, as `by_id`."""
        more = "&format=serialized" if serialized else ""
        return self._get(f"/subjects/{quote(subject, safe='')}/versions/{version}?deleted=true{more}")

    def _get(self, path: str) -> Schema:
        now = time.monotonic()
        for kept in (self._gone, self._failed.get(path)):
            if kept is not None and now < kept[0]:
                raise kept[1]
        try:
            return _schema(self._answer(path))
        except RegistryError as error:
            self._failed[path] = time.monotonic() + _KEPT_FAILURE, error
            raise

    def _answer(self, path: str) -> Any:
        """Ask the first registry that answers.

        Raises:
            RegistryError: none does, or the answer is an error.
        """
        reasons = []
        for url in self._settings.urls:
            request = urllib.request.Request(url + path, headers={"Accept": "application/vnd.schemaregistry.v1+json"})
            if self._settings.authorization is not None:
                request.add_unredirected_header("Authorization", self._settings.authorization)
            try:
                with self._opener.open(request, timeout=_TIMEOUT) as answer:
                    data = answer.read(_LARGEST + 1)
            except HTTPError as error:
                with error:
                    raise RegistryError(f"{url} answers {_refusal(error)}") from None
            except (OSError, HTTPException) as error:  # URLError, a time limit and a broken connection are such
                reasons.append(f"{url}: {_reason(error)}")
                continue
            if len(data) > _LARGEST:
                raise RegistryError(f"{url} answers with more than {_LARGEST:,} bytes")
            try:
                return json.loads(data)
            except (ValueError, RecursionError):
                raise RegistryError(f"{url} answers with no JSON; is it a schema registry?") from None
        self._gone = time.monotonic() + _KEPT_FAILURE, RegistryError("; ".join(reasons))
        raise self._gone[1]


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, TimeoutError | socket.timeout):
        return f"no answer within {_TIMEOUT:.0f} seconds"
    if isinstance(cause, OSError) and cause.strerror:
        return printable_line(cause.strerror)
    return printable_line(str(cause)) or type(cause).__name__


def _refusal(error: HTTPError) -> str:
    """Describe an HTTP status: with the registry's own words, where it gives any."""
    try:
        said = json.loads(error.read(100_000)).get("message")
    except (ValueError, AttributeError, OSError, HTTPException, RecursionError):
        said = None
    words = f"HTTP {error.code}: {cut(printable_line(str(said or error.reason)), 200)}"
    if error.code in (401, 403):
        words += f"; user:password may be in {LOGIN}, or in a settings file for --registry"
    return words


def _schema(answer: Any) -> Schema:
    if isinstance(answer, dict) and isinstance(answer.get("schema"), str):
        type_, given = answer.get("schemaType") or "AVRO", answer.get("references") or []
        try:
            references = tuple((str(one["name"]), str(one["subject"]), int(one["version"])) for one in given)
            return Schema(str(type_), answer["schema"], references)
        except (TypeError, KeyError, ValueError):
            pass
    raise RegistryError(f"the registry answers {json_words(answer)}, which is no schema")
