"""Which message a column holds, and in which versions."""

from __future__ import annotations

from dataclasses import dataclass

from kipspark.errors import JobError
from kipwire import Message
from kipwire.registry import registry_of

KAFKA = "kafka_messages"


@dataclass(frozen=True)
class Selection:
    """A message of a generated package, in one version or in all."""

    package: str
    message: str
    version: int | None = None
    """None: the bytes tell it, each for itself."""
    fields: tuple[str, ...] | None = None
    """Paths of attributes such as `topics.partitions.leader_id`; None for all."""

    @property
    def classes(self) -> tuple[type[Message], ...]:
        """The classes of the versions, the highest first.

        Raises:
            PackageError: the package cannot be imported, or is none of kipgen's.
            JobError: the message is retired.
            UnsupportedVersionError: it does not have the message, or not in that version.
        """
        found = registry_of(self.package)
        versions = found.versions(self.message) if self.version is None else (self.version,)
        if not versions:
            raise JobError(f"{self.message} is retired: {self.package} has no version of it")
        return tuple(found.message(self.message, version) for version in sorted(versions, reverse=True))
