"""TLS of a command that clients connect to: the certificate that it shows, and whether it wants one of theirs."""

from __future__ import annotations

import ssl
from pathlib import Path

from kipwire.console.command_line import fail
from kipwire.tools.files import read_regular


def listener_context(cert: Path | None, key: Path | None, ca: Path | None) -> ssl.SSLContext | None:
    """The context of `--listen-cert`, `--listen-key` and `--listen-ca`; None where no certificate is given.

    What is wrong with the files ends the program.
    """
    if cert is None:
        if key is not None or ca is not None:
            fail("--listen-key and --listen-ca are for TLS; give the certificate, too, as --listen-cert")
        return None
    files = [one for one in (cert, key, ca) if one is not None]
    for path in files:
        read_regular(path, 0)  # whose errors name the file
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, password=lambda: "")
        if ca is not None:
            context.load_verify_locations(ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except ssl.SSLError as error:
        names = ", ".join(map(str, files))
        fail(f"{names}: of no use for TLS ({error.reason or error}); give certificates, and a key without a password")
    return context
