"""Client properties files, as Kafka's own tools take them (`--command-config`), and the logins of JAAS within.

A file that works with Kafka's tools should work here, so it is read as Java reads it: Latin-1, escapes, lines joined by
a backslash, the last of equal keys. `_READ` lists the properties that have an effect; other ones about TLS and SASL are
reported (`unread`), because a connection without them may be less safe than it looks. `repr` of what is read never
shows a value, and neither does an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kipwire.model.errors import KipwireError
from kipwire.tools.files import need_input
from kipwire.tools.java_properties import EscapeError, load
from kipwire.tools.text import printable_line

LARGEST_FILE = 2**20
"""Bytes of a properties file, or of a file with a secret, at most."""

_LOGIN = re.compile(r"(?P<module>[\w.$]+)\s+(?P<flag>\w+)(?=\s|;)")
_OPTION = re.compile(
    r"""\s+(?P<name>[\w.-]+)\s*=\s*(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s;"']+))"""
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
"""The escapes of `java.io.StreamTokenizer`, with which Java reads logins; it has no `\\u`."""
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?""", re.DOTALL)
_FLAGS = ("required", "requisite", "sufficient", "optional")
_READ = frozenset("""
    sasl.jaas.config sasl.mechanism sasl.oauthbearer.token.endpoint.url
    ssl.enabled.protocols ssl.endpoint.identification.algorithm
    ssl.key.password ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password
    ssl.keystore.type ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """.split())
_HANDLER = "sasl.login.callback.handler.class"


class SettingsError(KipwireError):
    """Settings that no connection can be made with; the text never has a secret."""


@dataclass(frozen=True)
class Login:
    """One login of `sasl.jaas.config`."""

    module: str
    """The class without its package, such as `PlainLoginModule`."""
    options: Mapping[str, str] = field(repr=False)
    """`username`, `password` and others."""


@dataclass(frozen=True)
class Properties:
    """The content of a properties file."""

    path: Path
    values: Mapping[str, str] = field(repr=False)

    def get(self, name: str, default: str = "") -> str:
        """Return the value of a property without blanks around it, or the default."""
        return self.values.get(name, default).strip() or default

    def unread(self) -> list[str]:
        """List the properties about TLS and SASL that count for Kafka's tools alone."""
        names = (name for name in self.values if name.startswith(("sasl.", "ssl.")) and name not in _READ)
        is_usual = self.get(_HANDLER).endswith(".OAuthBearerLoginCallbackHandler")
        return sorted(name for name in names if not (name == _HANDLER and is_usual))

    def path_of(self, name: str) -> Path | None:
        """Return the path that a property names; None where it names none."""
        return Path(self.get(name)) if self.get(name) else None

    def error(self, name: str, reason: str) -> SettingsError:
        """Make the error about a property, with the path of its file."""
        return SettingsError(f"{self.path}: {name}: {reason}")

    def login(self) -> Login | None:
        """Parse the login that `sasl.jaas.config` has; None where there is none.

        Raises:
            SettingsError: it is not of the form that Java reads, or has several logins.
        """
        text = self.values.get("sasl.jaas.config", "").strip()
        if not text:
            return None
        example = (
            'write org.apache.kafka.common.security.plain.PlainLoginModule required username="..." password="...";'
        )
        match = _LOGIN.match(text)
        if match is None or match["flag"].lower() not in _FLAGS or _within_quotes(text).find(";") != len(text) - 1:
            raise self.error("sasl.jaas.config", f"must be one login module that ends with a semicolon; {example}")
        options = _options(text[match.end() : -1])
        if options is None:
            raise self.error("sasl.jaas.config", f"each option must be a name with a value in quotes; {example}")
        return Login(match["module"].rpartition(".")[2], options)


def read_properties(path: Path) -> Properties:
    """Read and parse a properties file.

    Raises:
        SettingsError: it cannot be read, or is not a text of properties.
    """
    try:
        # Java reads such files as Latin-1; any byte is a character of it.
        return Properties(path, load(read_small(path).decode("latin-1")))
    except EscapeError as error:
        raise SettingsError(f"{path}:{error}") from None


def read_small(path: Path) -> bytes:
    """Read a file of settings, or a pipe that the shell has opened for this program, as in `<(pass show kafka)`.

    Raises:
        SettingsError: it cannot be read, or is larger than any such file.
    """
    try:
        need_input(path)
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise SettingsError(f"{printable_line(str(path))}: {reason}") from None
    if len(data) > LARGEST_FILE:
        raise SettingsError(f"{path}: is larger than {LARGEST_FILE:,} bytes, the limit for a file of settings")
    return data


def _character(escape: re.Match[str]) -> str:
    text = escape[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _ESCAPED.get(text, text)


def _within_quotes(text: str) -> str:
    """Replace all characters within quotes, where a semicolon ends nothing."""
    return _QUOTED.sub(lambda match: "x" * len(match[0]), text)


def _options(text: str) -> dict[str, str] | None:
    """Parse the options of a login; None if the text has anything else."""
    options = {}
    at = 0
    while text[at:].strip():
        match = _OPTION.match(text, at)
        if match is None:
            return None
        quoted = match["double"] if match["double"] is not None else match["single"]
        options[match["name"]] = match["bare"] if quoted is None else _ESCAPE.sub(_character, quoted)
        at = match.end()
    return options
