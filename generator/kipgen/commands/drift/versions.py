"""Versions that a release no longer has: they stay in our specs, and what is said of them alone is no difference."""

from __future__ import annotations

from kipgen.commands.drift.facts import Value
from kipgen.language.versions import MAX_VERSION, Versions
from kipgen.reading.draft import Draft

RANGES = frozenset({"versions", "taggedVersions", "nullableVersions", "flexibleVersions", "deprecatedVersions"})
"""Properties of messages, structs and fields that are version ranges; validVersions are a fact of their own."""


OF_SERVED = frozenset({"listeners", "latestVersionUnstable"})
"""Properties that say nothing where no version is served."""


def oldest_version(kafka: Draft | None) -> int:
    """The lowest version of a message that a release has; beyond all if it has none, 0 if it lacks the message."""
    if kafka is None:
        return 0
    valid = kafka.message.valid_versions
    return MAX_VERSION + 1 if valid.is_empty else valid.lowest


def since(name: str, value: Value | None, oldest: int) -> Value | None:
    """What a fact says of a version and all later ones; None if it says nothing of them."""
    if name in OF_SERVED and oldest > MAX_VERSION:
        return None
    if name not in RANGES or value is None:
        return value
    versions = Versions.parse(str(value))
    later = versions.intersect(Versions(oldest, MAX_VERSION))
    return value if versions.is_empty else None if later.is_empty else str(later)


def with_older(name: str, ours: Value | None, kafka: Value | None, oldest: int) -> Value | None:
    """What to write: what Kafka says from its oldest version on, and what our spec says of older versions.

    Args:
        name: the property.
        ours: what our spec says.
        kafka: what Kafka says.
        oldest: the lowest version that Kafka has.
    """
    if name not in RANGES or ours is None:
        return kafka
    older = Versions.parse(str(ours)).intersect(Versions(0, oldest - 1))
    if older.is_empty:
        return kafka
    if kafka is None:
        return str(older)
    newer = Versions.parse(str(kafka))
    return str(Versions(older.lowest, newer.highest)) if newer.lowest <= oldest else kafka


def served_and_valid(ours: Versions, kafka: Versions) -> tuple[str | None, Versions]:
    """What a spec says once a release serves other versions: servedVersions, None if all are served; validVersions.

    Args:
        ours: the valid versions of our spec.
        kafka: those of Kafka's.
    """
    if kafka.is_empty:
        return (None if ours.is_empty else "none"), ours
    if ours.is_empty or kafka.lowest <= ours.lowest:
        return None, kafka
    return f"{kafka.lowest}+", Versions(ours.lowest, kafka.highest)
