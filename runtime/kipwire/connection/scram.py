"""SCRAM without I/O (RFC 5802, RFC 7677): both sides prove that they have the password, and neither sends it.

An exchange is a generator: what it yields is sent, and what is sent to it has come. So it has no state but its own
place in the code. Signatures and proofs are compared in a time that does not depend on them, and no reason of an error
has a secret in it. The broker chooses the number of iterations, so it has bounds: with too few, a false broker could
soon guess the password, and with too many it would keep the client computing.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stringprep
import unicodedata
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Generator, Mapping
from typing import NamedTuple

Exchange = Generator[bytes, bytes, None]
"""The client's messages, each of which is sent the broker's next; it ends once there is nothing more to say."""

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The hash of each mechanism, as `hashlib` calls it."""
FEWEST_ITERATIONS = 4096
"""Minimum of RFC 7677 and Kafka's clients; with fewer, an impersonator of a broker could soon guess the password."""
MOST_ITERATIONS = 1_000_000
"""Half a second of computation; Kafka's brokers store 16,384 at most."""
_BYTES_OF_A_NONCE = 24

_GS2_HEADER = "n,,"
"""No channel binding, and no identity besides the user's."""
_CHANNEL = b64encode(_GS2_HEADER.encode()).decode()
_FIRST = re.compile(r"r=([!-+\--~]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9][0-9]{0,9})(?:,.*)?", re.DOTALL)
_CLIENT_FIRST = re.compile(r"n,((?:a=[^,]*)?),(n=([^,]+),r=([!-+\--~]+))")
_FINAL = re.compile(r"([ve])=([^,]+)(?:,.*)?", re.DOTALL)


class Refused(Exception):
    """The reason why an exchange failed.

    `authenticate` makes an `AuthenticationError` of it, so it never leaves kipwire.
    """

    def __init__(self, reason: str, said: str = "", error_code: int = 0, offered: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        """Text by kipwire, which has no secrets."""
        self.said = said
        """Text by the broker, which may have any content."""
        self.error_code = error_code
        self.offered = offered


def new_nonce() -> str:
    """Make a random printable text, which no other exchange has."""
    return b64encode(os.urandom(_BYTES_OF_A_NONCE)).decode()


def exchange(username: str, password: str, hash_name: str, nonce: str, extensions: str = "") -> Exchange:
    """Yield the client's two messages; end once the broker has proved that it has the password, too.

    Args:
        username: as the broker has it.
        password: the same.
        hash_name: as `hashlib` calls it.
        nonce: of this exchange alone; printable ASCII without a comma.
        extensions: of the first message, beginning with a comma.

    Raises:
        Refused: the broker's message is not a message of SCRAM, asks for too few or too many iterations, or proves
            nothing.
    """
    client_first = f"n={_escape(username)},r={nonce}{extensions}"
    server_first = _text((yield f"{_GS2_HEADER}{client_first}".encode()))
    server_nonce, salt, iterations = _read_first(server_first, nonce)

    keys = _keys(hash_name, password, salt, iterations)
    client_final = f"c={_CHANNEL},r={server_nonce}"
    signed = f"{client_first},{server_first},{client_final}".encode()
    proof = _proof(hash_name, keys.client, signed)

    server_final = _text((yield f"{client_final},p={proof}".encode()))
    if not hmac.compare_digest(_read_final(server_final), hmac.digest(keys.server, signed, hash_name)):
        raise Refused("the broker's signature is wrong: it has another password for this user, or none")


def _text(message: bytes) -> str:
    """Decode a message of the broker; one that is not UTF-8 becomes another one, for which no signature is right."""
    return message.decode("utf-8", "replace")


ServerExchange = Generator[bytes, bytes, bytes]
"""The broker's messages: after a `next`, `send` takes a message of the client and gives the answer or returns it."""


def server_exchange(passwords: Mapping[str, str], hash_name: str) -> ServerExchange:
    """Run the broker's side of `exchange`; return its proof once the client has given its own.

    Args:
        passwords: by user.
        hash_name: as `hashlib` calls it.

    Raises:
        Refused: the client's message is not a message of SCRAM, the user is unknown, or the password is wrong.
    """
    first = _CLIENT_FIRST.fullmatch((yield b"").decode("utf-8", "replace"))
    if not first or first[1] not in ("", f"a={first[3]}"):
        raise Refused("the client's first message must be a user name and a nonce, without channel binding")
    username = first[3].replace("=2C", ",").replace("=3D", "=")
    nonce, salt = first[4] + new_nonce(), os.urandom(_BYTES_OF_A_NONCE)
    server_first = f"r={nonce},s={b64encode(salt).decode()},i={FEWEST_ITERATIONS}"
    keys = _keys(hash_name, passwords.get(username, ""), salt, FEWEST_ITERATIONS)

    client_final, _, proof = (yield server_first.encode()).decode("utf-8", "replace").rpartition(",p=")
    channel = b64encode(f"n,{first[1]},".encode()).decode()
    signed = f"{first[2]},{server_first},{client_final}".encode()
    expected = _proof(hash_name, keys.client, signed)
    is_right = client_final == f"c={channel},r={nonce}" and hmac.compare_digest(proof.encode(), expected.encode())
    if username not in passwords or not is_right:
        raise Refused("Authentication failed: Invalid user credentials")  # in Kafka's words
    return b"v=" + b64encode(hmac.digest(keys.server, signed, hash_name))


class _Keys(NamedTuple):
    client: bytes
    server: bytes


def _keys(hash_name: str, password: str, salt: bytes, iterations: int) -> _Keys:
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
    return _Keys(*(hmac.digest(salted, name, hash_name) for name in (b"Client Key", b"Server Key")))


def _proof(hash_name: str, client_key: bytes, signed: bytes) -> str:
    signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), signed, hash_name)
    return b64encode(bytes(key ^ sign for key, sign in zip(client_key, signature, strict=True))).decode()


def _read_first(message: str, nonce: str) -> tuple[str, bytes, int]:
    """Read the nonce of both sides, the salt and the number of iterations."""
    if message.startswith("m="):
        raise Refused("the broker's first message requires a SCRAM extension, and none is supported")
    found = _FIRST.fullmatch(message)
    salt = _decode_base64(found[2]) if found else b""
    if not found or not salt:
        raise Refused("the broker's first message must be a nonce, a salt and an iteration count")
    if not found[1].startswith(nonce) or found[1] == nonce:
        raise Refused("the broker's nonce must begin with the client's nonce and be longer")
    iterations = int(found[3])
    if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        allowed = f"it must be {FEWEST_ITERATIONS:,} to {MOST_ITERATIONS:,}"
        raise Refused(f"the broker's iteration count is {iterations:,}; {allowed}")
    return found[1], salt, iterations


def _read_final(message: str) -> bytes:
    """Read the broker's signature."""
    found = _FINAL.fullmatch(message)
    if found and found[1] == "e":
        raise Refused("the broker rejected the proof", found[2])
    signature = _decode_base64(found[2]) if found else b""
    if not signature:
        raise Refused("the broker's last message must be a signature or an error")
    return signature


def _decode_base64(base64: str) -> bytes:
    """Decode strict Base64; no bytes where it is something else."""
    try:
        return a2b_base64(base64, strict_mode=True)
    except ValueError:
        return b""


def _escape(username: str) -> str:
    return username.replace("=", "=3D").replace(",", "=2C")


def saslprep(text: str) -> str:
    """Convert a user name or a password to the form in which all ways to type it are the same (RFC 4013).

    Kafka's brokers and tools take texts as they are, and so do `Plain` and `Scram`. This is for brokers of others that
    prepare what they store: `Scram(saslprep(username), saslprep(password), "SCRAM-SHA-256")`.

    Raises:
        ValueError: the text has a character that must not be in it, or one of both directions of writing in a wrong
            place.
    """
    kept = "".join(" " if stringprep.in_table_c12(one) else one for one in text if not stringprep.in_table_b1(one))
    prepared = unicodedata.ucd_3_2_0.normalize("NFKC", kept)
    if any(table(one) for one in prepared for table in _PROHIBITED):
        raise ValueError("the text contains a character that RFC 4013 prohibits, such as a control character")
    right_to_left = [stringprep.in_table_d1(one) for one in prepared]
    if any(right_to_left):
        has_left_to_right = any(stringprep.in_table_d2(one) for one in prepared)
        if has_left_to_right or not (right_to_left[0] and right_to_left[-1]):
            raise ValueError(
                "the text must begin and end with right-to-left characters, and contain no left-to-right ones"
            )
    return prepared


_PROHIBITED = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)
"""The tables of RFC 3454 with the characters that RFC 4013 prohibits."""
