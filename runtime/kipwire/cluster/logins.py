"""SASL from a name and a secret, which never is an argument of the command line: others could see it there.

Options win over variables, these over the file, and a terminal is asked last. A password of the file is used only for
the user of the file. Tokens expire, so a source of tokens is called again whenever one is needed, and is not read once
at the start. No error has a secret, nor the output of a command that prints one. `given` has the options, `properties`
the file, `tls` the certificates.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from kipwire.cluster.given import NO_LOGIN, Given, Sasl
from kipwire.cluster.properties import Login, Properties, SettingsError
from kipwire.cluster.tls import ask_secret, secret_of
from kipwire.connection import Mechanism, OAuthBearer, Plain, Scram
from kipwire.tools.text import did_you_mean

PASSWORD = "KIPWIRE_PASSWORD"
"""The variable with the password."""
TOKEN = "KIPWIRE_TOKEN"
"""The variable with a token of OAuth."""
_SECONDS_FOR_A_TOKEN = 60
"""Limit for a command that prints a token."""
_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
}
_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"


def mechanism_of(given: Given, properties: Properties, *, is_asked_for: bool) -> Mechanism | None:
    """Choose the mechanism, with its user and secret; None for a connection without SASL.

    Args:
        given: by options.
        properties: the file.
        is_asked_for: whether the protocol of the file has SASL.

    Raises:
        SettingsError: it is not supported, or lacks something.
    """
    if given.sasl is None and not is_asked_for:
        if given != NO_LOGIN:
            raise SettingsError("a user, a password or a token needs --sasl MECHANISM")
        return None
    mechanism = given.sasl or _mechanism_of_file(properties)
    login = properties.login()
    if login is not None and login.module != _MODULES[mechanism]:
        if given.sasl is None:
            reason = f"{login.module} cannot be used with {mechanism}; use {_MODULES[mechanism]}"
            raise properties.error("sasl.jaas.config", reason)
        login = None
    options: Mapping[str, str] = {} if login is None else login.options
    try:
        if mechanism is Sasl.OAUTHBEARER:
            return OAuthBearer(_token(given, properties, login), _extensions(options))
        return _by_password(given, mechanism, options)
    except SettingsError:
        raise
    except ValueError as error:  # a text that the mechanism cannot carry
        raise SettingsError(f"SASL {mechanism}: {error}") from None


def _by_password(given: Given, mechanism: Sasl, options: Mapping[str, str]) -> Plain | Scram:
    user = given.user or options.get("username")
    if not user:
        raise SettingsError(f"SASL {mechanism} needs a user: use --user NAME, or username in sasl.jaas.config")
    # A password in the file belongs to the user in the file.
    password = _password(given, options.get("password") if user == options.get("username") else None, user)
    if mechanism is Sasl.PLAIN:
        return Plain(user, password)
    is_delegation_token = options.get("tokenauth", "").lower() == "true"
    name: Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]
    name = "SCRAM-SHA-256" if mechanism is Sasl.SCRAM_SHA_256 else "SCRAM-SHA-512"
    return Scram(user, password, name, is_delegation_token)


def _mechanism_of_file(properties: Properties) -> Sasl:
    name = properties.get("sasl.mechanism", "GSSAPI")  # Kafka's own default
    try:
        return Sasl(name.upper())
    except ValueError:
        reason = f"{name} is not supported; use one of {', '.join(Sasl)}{did_you_mean(name, Sasl)}"
        raise properties.error("sasl.mechanism", reason) from None


def _password(given: Given, of_file: str | None, user: str) -> str:
    if given.password_file is not None:
        return secret_of(given.password_file)
    secret = os.environ.get(PASSWORD) or of_file or ask_secret(f"Password of {user}")
    if not secret:
        ways = f"--password-file FILE, the variable {PASSWORD}, sasl.jaas.config in a file for --config, or a terminal"
        raise SettingsError(f"the password of {user} is missing; use {ways}")
    return secret


# Tokens.

_EXTENSION = "extension_"
"""Prefix of a login option that is an extension (KIP-342)."""


def _extensions(options: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(_EXTENSION): options[name] for name in options if name.startswith(_EXTENSION)}


def _token(given: Given, properties: Properties, login: Login | None) -> Callable[[], str]:
    """Choose the source of tokens, which is called each time that one is needed."""
    if (file := given.token_file) is not None:
        return lambda: secret_of(file)
    if (command := given.token_command) is not None:
        return lambda: _output_of(command)
    if token := os.environ.get(TOKEN):
        return lambda: token
    if url := properties.get(_ENDPOINT):
        parts = urlsplit(url)
        if parts.scheme != "file":
            reason = "only a file: URL is supported; fetch the token with --token-command, for example by curl"
            raise properties.error(_ENDPOINT, reason)
        path = Path(unquote(parts.path))
        return lambda: secret_of(path)
    if login is not None and (claims := _claims(login.options)):
        return lambda: _unsecured_token(claims)
    ways = f"--token-file FILE, --token-command COMMAND or the variable {TOKEN}"
    raise SettingsError(f"SASL OAUTHBEARER needs a token; use {ways}")


def _output_of(command: str) -> str:
    """Run a command of the shell that prints a token.

    Raises:
        SettingsError: the command fails, takes too long, or prints nothing. Its output is not in the error.
    """
    what = "the command of --token-command"  # which may have secrets in it
    try:
        done = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, timeout=_SECONDS_FOR_A_TOKEN, check=False, encoding="utf-8"
        )
    except subprocess.TimeoutExpired:
        raise SettingsError(f"{what} did not finish within {_SECONDS_FOR_A_TOKEN} seconds") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{what} printed bytes that are not UTF-8; it must print a token") from None
    if done.returncode:
        raise SettingsError(f"{what} failed with exit status {done.returncode}")
    token = done.stdout.strip()
    if not token:
        raise SettingsError(f"{what} printed nothing; it must print a token")
    return token


_CLAIM = "unsecuredLogin{}Claim_"


def _claims(options: Mapping[str, str]) -> dict[str, str | float]:
    """Collect the claims of an unsigned token, which Kafka's own client makes of such options for development."""
    texts, numbers = _CLAIM.format("String"), _CLAIM.format("Number")
    claims: dict[str, str | float] = {
        name.removeprefix(texts): value for name, value in options.items() if name.startswith(texts)
    }
    for name, value in options.items():
        if name.startswith(numbers):
            try:
                claims[name.removeprefix(numbers)] = float(value)
            except ValueError:
                raise SettingsError(f"sasl.jaas.config: {name} must be a number") from None
    return claims


def _unsecured_token(claims: Mapping[str, str | float]) -> str:
    now = time.time()
    parts = ({"alg": "none"}, {"iat": now, "exp": now + 3600, **claims})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{'.'.join(encoded)}."
