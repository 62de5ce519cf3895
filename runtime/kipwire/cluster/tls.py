"""TLS from files of certificates: named by options, or named or contained in a client properties file.

Only PEM is read; a keystore of Java is refused with the command that converts it. Options win over the properties file,
as a whole: a certificate from an option is not combined with a key from the file. Each certificate is checked by itself
first, so that an error names it. The standard library loads keys from files alone: from those that were given, or, if
OpenSSL would not read these as they are, from one in memory. Where there is no such thing, it is a temporary file,
readable by its owner alone, which exists after the password is known and is removed however the program ends.
"""

from __future__ import annotations

import os
import re
import ssl
import sys
import tempfile
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from getpass import getpass
from pathlib import Path

from kipwire.cluster.given import Certificates
from kipwire.cluster.properties import Properties, SettingsError, read_small

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KEY_PASSWORD = "KIPWIRE_KEY_PASSWORD"
"""The variable with the password of the client's key."""

_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----((?:[^-]|-(?!-))*)-----END \1-----")
_JKS = b"\xfe\xed\xfe\xed"
_DER = b"\x30"


@dataclass(frozen=True)
class _Own:
    """The client's certificate with its key, in PEM."""

    where: str
    """Name of the source in errors."""
    pem: str = field(repr=False)
    files: tuple[Path, Path] | None = None
    """The files of certificate and key, if OpenSSL reads them as they are."""

    @property
    def is_encrypted(self) -> bool:
        return "-----BEGIN ENCRYPTED " in self.pem or "Proc-Type: 4,ENCRYPTED" in self.pem


def context_of(given: Certificates, properties: Properties) -> ssl.SSLContext:
    """Make the TLS context of a client.

    Raises:
        SettingsError: a file cannot be read or is of another form, or a key does not fit its certificate or password.
    """
    context = ssl.create_default_context(cadata=_authorities(given, properties))
    if given.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif properties.get("ssl.endpoint.identification.algorithm", "https").lower() != "https":
        raise properties.error("ssl.endpoint.identification.algorithm", "write https, or nothing for any name")
    elif _names_are_free(properties):
        context.check_hostname = False
    _limit_versions(context, properties)
    own = _own(given, properties)
    if own is not None:
        _load(context, own, _password(own, given, properties) if own.is_encrypted else "")
    return context


def _load(context: ssl.SSLContext, own: _Own, password: str) -> None:
    files = nullcontext(own.files) if own.files is not None else _as_files(own.pem)
    with files as (cert, key):
        try:
            context.load_cert_chain(cert, key, password)  # without a password OpenSSL would ask for one
        except (ssl.SSLError, ValueError) as error:
            raise SettingsError(f"{own.where}: {_reason(error, own)}") from None


def _names_are_free(properties: Properties) -> bool:
    """True if a broker may have another name than its certificate: the property is there, and empty."""
    name = "ssl.endpoint.identification.algorithm"
    return name in properties.values and not properties.values[name].strip()


def _limit_versions(context: ssl.SSLContext, properties: Properties) -> None:
    name = "ssl.enabled.protocols"
    known = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
    words = [one.strip() for one in properties.get(name).split(",") if one.strip()]
    if not words:
        return
    if unknown := [one for one in words if one not in known]:
        raise properties.error(name, f"{unknown[0]} is not supported; give one or both of {', '.join(known)}")
    versions = [known[one] for one in words]
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _authorities(given: Certificates, properties: Properties) -> str | None:
    """Read the certificates of authorities in PEM; None for the system's own."""
    if given.ca is not None:
        return _certificates(str(given.ca), _pem_file(given.ca))
    if text := properties.get("ssl.truststore.certificates"):
        return _certificates(f"{properties.path}: ssl.truststore.certificates", text)
    path = properties.path_of("ssl.truststore.location")
    return None if path is None else _certificates(str(path), _pem_file(path))


def _certificates(where: str, text: str) -> str:
    found = [_pem_block(*match.groups()) for match in _PEM.finditer(text) if match[1].endswith("CERTIFICATE")]
    if not found:
        raise SettingsError(f"{where}: has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for number, one in enumerate(found, 1):
        try:
            context.load_verify_locations(cadata=one)
        except (ssl.SSLError, ValueError):
            raise SettingsError(f"{where}: certificate {number} of {len(found)} is damaged") from None
    return "".join(found)


def _own(given: Certificates, properties: Properties) -> _Own | None:
    """Read the client's certificate and key; None where it has none."""
    if given.cert is not None:
        return _of_files(given.cert, given.key or given.cert)
    if given.key is not None:
        raise SettingsError("--key needs --cert, the certificate of the key")
    where = f"{properties.path}: ssl.keystore"
    key, chain = properties.get("ssl.keystore.key"), properties.get("ssl.keystore.certificate.chain")
    if key or chain:
        return _Own(where, _pair(where, chain, key))
    path = properties.path_of("ssl.keystore.location")
    return None if path is None else _of_files(path, path)


def _of_files(cert: Path, key: Path) -> _Own:
    chain = _pem_file(cert)
    text = chain if key == cert else _pem_file(key)
    pem = _pair(str(cert), chain, text)
    is_as_is = all(match[0] in chain + text for match in _PEM.finditer(pem)) and cert.is_file() and key.is_file()
    return _Own(str(cert), pem, (cert, key) if is_as_is else None)


def _pair(where: str, chain: str, key: str) -> str:
    """Join a key and a chain of certificates, in PEM, to one text."""
    keys = [_pem_block(*match.groups()) for match in _PEM.finditer(key) if match[1].endswith("PRIVATE KEY")]
    if len(keys) != 1:
        raise SettingsError(
            f"{where}: found {len(keys) or 'no'} private keys in PEM, expected one; if it is in another file, use --key"
        )
    return keys[0] + _certificates(where, chain)


def _pem_block(label: str, content: str) -> str:
    """Format a block of PEM with lines of its own, which Kafka's tools do without."""
    if ":" not in content:  # else it has a head, as encrypted keys of old
        data = "".join(content.split())
        content = "\n".join(["", *(data[at : at + 64] for at in range(0, len(data), 64)), ""])
    return f"-----BEGIN {label}-----{content}-----END {label}-----\n"


def _pem_file(path: Path) -> str:
    """Read a file in PEM.

    Raises:
        SettingsError: the file has another format; the error says how to convert it.
    """
    data = read_small(path)
    if b"-----BEGIN " in data:
        return data.decode("latin-1")
    if data.startswith((_JKS, _DER)):
        is_jks = data.startswith(_JKS)
        store = "a Java keystore (JKS)" if is_jks else "a PKCS12 keystore"
        own = f"openssl pkcs12 -in {'client.p12' if is_jks else path} -out client.pem"
        if is_jks:
            own = f"keytool -importkeystore -srckeystore {path} -destkeystore client.p12 -deststoretype PKCS12; {own}"
        how = f"for authorities: keytool -list -rfc -keystore {path} > ca.pem; for a client's key: {own}"
        raise SettingsError(f"{path}: is {store}, and only PEM can be read; convert it, {how}")
    raise SettingsError(f"{path}: is not in PEM; the file must have certificates or keys that begin with -----BEGIN")


# The password of the key.


def _known_password(given: Certificates, properties: Properties) -> str | None:
    if given.key_password_file is not None:
        return secret_of(given.key_password_file)
    return os.environ.get(KEY_PASSWORD) or properties.get("ssl.key.password") or None


def secret_of(path: Path) -> str:
    """Read the secret in a file: its first line.

    Raises:
        SettingsError: it cannot be read, is empty, or is not text.
    """
    try:
        text = read_small(path).decode()
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: is not text in UTF-8; its first line must be the secret") from None
    secret = text.partition("\n")[0].rstrip("\r")
    if not secret:
        raise SettingsError(f"{path}: is empty; its first line must be the secret")
    return secret


def ask_secret(what: str) -> str | None:
    """Prompt for a secret; None where there is no terminal to ask at."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    with suppress(EOFError):
        return getpass(f"{what}: ", stream=sys.stderr)
    return None


def _password(own: _Own, given: Certificates, properties: Properties) -> str:
    """Return the password of an encrypted key; ask for it if need be."""
    secret = _known_password(given, properties) or ask_secret(f"Password of the key in {own.where}")
    if secret is None:
        ways = f"--key-password-file, the variable {KEY_PASSWORD} or ssl.key.password"
        raise SettingsError(f"{own.where}: the key is encrypted; its password can be in {ways}")
    return secret


def _reason(error: ssl.SSLError | ValueError, own: _Own) -> str:
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return "the private key does not belong to the certificate"
    if own.is_encrypted:
        return "the password of the private key is wrong, or the key is damaged"
    return "the private key is damaged"


@contextmanager
def _as_files(text: str) -> Iterator[tuple[str, str]]:
    """Write certificate and key to one file, which no other user can read; yield its path for both."""
    data = text.encode("latin-1")
    descriptor = _in_memory()
    if descriptor is not None:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{descriptor}", f"/proc/self/fd/{descriptor}"
        return
    descriptor, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        yield name, name
    finally:
        Path(name).unlink()


def _in_memory() -> int | None:
    """Open a file without a place on any disk, which ends with this process; None where there is no such thing."""
    if sys.platform != "linux":
        return None
    with suppress(OSError):
        descriptor = os.memfd_create("pem")
        if os.access(f"/proc/self/fd/{descriptor}", os.R_OK):
            return descriptor
        os.close(descriptor)
    return None
