"""The bodies that are decoded and encoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kafka_messages

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Sample:
    """One body to time."""

    api: str
    """The API's name in snake case, which kio's modules have too."""
    name: str
    """The message's name in its spec."""
    version: int
    what: str = ""
    """Difference from another body of the same message and version, in a few words."""
    make: Callable[[], bytes] | None = None
    """Makes a body that is too large to be stored; None for one in `data`."""

    @property
    def key(self) -> str:
        """Message and version, as named in programs in other languages."""
        return f"{self.api}_v{self.version}"

    @property
    def file(self) -> str:
        """Name of its file, without `.bin`."""
        return "_".join(filter(None, (self.key, self.what.replace(" ", "_"))))

    @property
    def title(self) -> str:
        """Name in the tables."""
        return f"{self.name} v{self.version}" + (f", {self.what}" if self.what else "")

    @property
    def golden(self) -> bytes:
        """Return the body; `data/README.md` has its origin."""
        return self.make() if self.make else (DATA / f"{self.file}.bin").read_bytes()


def metadata(partitions: int) -> bytes:
    """Make a MetadataResponse v12 of one topic with `partitions` copies of the last partition of `metadata_v12.bin`."""
    message: Any = kafka_messages.message("MetadataResponse", 12).decode((DATA / "metadata_v12.bin").read_bytes())
    message.topics[0].partitions = message.topics[0].partitions[-1:] * partitions
    return bytes(message.encode())


def _large_fetch() -> bytes:
    message = _fetch()
    partition = message.responses[0].partitions[0]
    partition.records *= 2**20 // len(partition.records)
    message.responses[0].partitions = [partition]
    return bytes(message.encode())


def _wide_fetch() -> bytes:
    message = _fetch()
    partition = message.responses[0].partitions[0]
    partition.records = b""
    message.responses[0].partitions = [partition] * 1000
    return bytes(message.encode())


def _fetch() -> Any:
    return kafka_messages.message("FetchResponse", 12).decode((DATA / "fetch_v12.bin").read_bytes())


METADATA = Sample("metadata", "MetadataResponse", 12)

SIX = (
    METADATA,
    Sample("produce", "ProduceRequest", 9),
    Sample("fetch", "FetchResponse", 12),
    Sample("api_versions", "ApiVersionsResponse", 3),
    Sample("offset_commit", "OffsetCommitRequest", 8),
    Sample("heartbeat", "HeartbeatRequest", 4),
)
"""One of each message; most targets are about these."""

ALIKE = Sample("metadata", "MetadataResponse", 12, "alike")

SAMPLES = (
    *SIX,
    ALIKE,
    Sample("metadata", "MetadataResponse", 12, "mixed"),
    Sample("fetch", "FetchResponse", 12, "1 MiB of records", _large_fetch),
    Sample("fetch", "FetchResponse", 12, "1000 partitions", _wide_fetch),
)
