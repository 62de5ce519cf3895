"""The side that must be upgraded first, where a change breaks only one of the two ways between old and new peers.

Readers are those who decode the message, writers those who encode it: of a request the server reads, of a response the
client. Most changes of bytes break both ways, and then no order of upgrades helps. Here is what follows from a rule and
the two specs; where it takes the two values of a property, `compare` gives the side with the change.
"""

from __future__ import annotations

from typing import Literal

from kipgen.language.spec import MessageSpec

Side = Literal["readers", "writers"]
"""Old readers cannot read what new writers write, or new readers cannot read what old writers write."""

REASONS: dict[Side, str] = {
    "readers": "upgrade readers, since old ones cannot read what new writers write",
    "writers": "upgrade writers, since new readers cannot read what old ones write",
}
CONDITIONS = frozenset({"checksum", "constant", "requiredIf", "sameLengthAs", "sorted"})
"""The properties of layouts that only demand something of the bytes; without them the same bytes can be read."""

_NEGOTIATED = ("request", "response")


def narrowed(is_narrower: bool) -> Side:
    """Name the side for a change after which fewer bytes are valid than before, or more."""
    return "writers" if is_narrower else "readers"


def first_side(rule: str, old: MessageSpec, new: MessageSpec | None) -> Side | None:
    """Name the side that a change of a whole message asks for; None if both ways break, or neither.

    Args:
        rule: the id of the rule that judges the change.
        old: the message before.
        new: the message after; None if it was removed.
    """
    match rule:
        case "message-removed" | "message-retired" | "listeners-narrowed":
            # A response is only sent to those who asked for it.
            return None if old.type == "response" else "writers"
        case "served-versions-narrowed":
            is_refused = new is not None and new.served_versions.is_empty
            return "writers" if is_refused and old.type != "response" else None
        case "highest-version-lowered" | "lowest-version-raised":
            # Peers that negotiate take a version that both have.
            return None if old.type in _NEGOTIATED else "writers"
        case "version-not-agreed":
            # A server reads requests and writes responses.
            return {"request": "readers", "response": "writers"}.get(old.type)  # type: ignore[return-value]
        case "version-not-negotiated" | "new-version-refused":
            return "readers"
    return None
