"""Which message a column holds, and in which versions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

from kipspark.errors import JobError
from kipwire import Message
from kipwire.registry import Registry

KAFKA = "kafka_messages"


@dataclass(frozen=True)
class Choice:
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
            JobError: the package cannot be imported, or is none of kipgen's.
            UnsupportedVersionError: it does not have the message, or not in that version.
        """
        found = registry(self.package)
        versions = found.versions(self.message) if self.version is None else (self.version,)
        if not versions:
            raise JobError(f"{self.message} is retired: {self.package} has no version of it")
        return tuple(found.message(self.message, version) for version in sorted(versions, reverse=True))


@lru_cache
def registry(package: str) -> Registry:
    """The registry of a generated package.

    Raises:
        JobError: the package cannot be imported, or is none of kipgen's.
    """
    try:
        found = import_module(package).REGISTRY
    except (ImportError, ValueError) as error:
        raise JobError(f"{package}: cannot be imported ({error}); is its folder on PYTHONPATH?") from None
    except AttributeError:
        raise JobError(f"{package}: is no package that kipgen generated") from None
    assert isinstance(found, Registry)
    return found
