"""Links from a page of a message: the message that belongs to it, and the KIPs that its texts name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from markupsafe import Markup, escape

from kipgen.language.spec import MessageSpec

_OTHER_HALF = {
    "request": "response",
    "response": "request",
    "coordinator-key": "coordinator-value",
    "coordinator-value": "coordinator-key",
}
_KIP = re.compile(r"\bKIP-\d+\b")


def pairs(specs: Iterable[tuple[str, MessageSpec]]) -> dict[str, str]:
    """Pair messages by name: request and response, key and value of a record.

    A former name of an API has the same API key, but none of its versions is served.

    Args:
        specs: the folder and the spec of every message; API keys start again in each coordinator's folder.
    """
    by_key = {
        (folder, spec.type, spec.api_key, spec.served_versions.is_empty): spec.name
        for folder, spec in specs
        if spec.api_key is not None
    }
    found = {}
    for (folder, type_, api_key, is_former), name in by_key.items():
        other = by_key.get((folder, _OTHER_HALF.get(type_, ""), api_key, is_former))
        if other is not None:
            found[name] = other
    return found


def kip_address(name: str) -> str:
    """Make an address that finds a KIP by its number alone: the address of its page has its whole title.

    Args:
        name: such as `KIP-482`.
    """
    query = quote(f'space = KAFKA and type = page and title ~ "{name}"')
    return f"https://cwiki.apache.org/confluence/dosearchsite.action?cql={query}"


def with_kip_links(text: str) -> Markup:
    """Return the text as HTML, with a link for each KIP that it names.

    Args:
        text: plain text.
    """
    return Markup(
        _KIP.sub(lambda found: f'<a href="{escape(kip_address(found[0]))}">{found[0]}</a>', str(escape(text)))
    )
