"""The codecs that are compared, each behind the same small shape.

To add one, write a function that makes its `Codec` of a message and put it into `PEERS`; its `encode` must give the
golden bytes back.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import kafka_messages

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Sample:
    """One message to time."""

    api: str
    """The API's name in snake case, which kio's modules have too."""
    name: str
    """The message's name in its spec."""
    version: int
    what: str = ""
    """What tells it from another body of the same message and version, in one word."""

    @property
    def file(self) -> str:
        """Name of its file in `data`, without `.bin`."""
        return "_".join(filter(None, (self.api, f"v{self.version}", self.what)))

    @property
    def title(self) -> str:
        """How tables call it."""
        return f"{self.name} v{self.version}" + (f", {self.what}" if self.what else "")

    @property
    def golden(self) -> bytes:
        """The body; `data/README.md` tells who wrote it."""
        return (DATA / f"{self.file}.bin").read_bytes()


SAMPLES = (
    Sample("metadata", "MetadataResponse", 12),
    Sample("metadata", "MetadataResponse", 12, "alike"),
    Sample("metadata", "MetadataResponse", 12, "mixed"),
    Sample("produce", "ProduceRequest", 9),
    Sample("fetch", "FetchResponse", 12),
    Sample("api_versions", "ApiVersionsResponse", 3),
    Sample("offset_commit", "OffsetCommitRequest", 8),
    Sample("heartbeat", "HeartbeatRequest", 4),
)


@dataclass(frozen=True)
class Codec:
    """What a peer does with one message, ready to be called many times."""

    decode: Callable[[], object]
    """Decodes the golden bytes."""
    encode: Callable[[], bytes | bytearray | memoryview]
    """Encodes the message that was decoded from the golden bytes."""


@dataclass(frozen=True)
class Peer:
    """A library that decodes and encodes the samples."""

    name: str
    """As in the tables."""
    distribution: str
    """Under which it is installed; its version is printed."""
    codec: Callable[[Sample], Codec]


class WrongBytesError(Exception):
    """A codec does not give the golden bytes back."""


def _kipwire(sample: Sample) -> Codec:
    cls, data = kafka_messages.message(sample.name, sample.version), sample.golden
    return Codec(decode=lambda: cls.decode(data), encode=cls.decode(data).encode)


def _kio(sample: Sample) -> Codec:
    serial = import_module("kio.serial")
    entity = getattr(import_module(f"kio.schema.{sample.api}.v{sample.version}"), sample.name)
    read, write, data = serial.entity_reader(entity), serial.entity_writer(entity), sample.golden
    message, _ = read(data, 0)

    def encode() -> bytes:
        buffer = io.BytesIO()
        write(buffer, message)
        return buffer.getvalue()

    return Codec(decode=lambda: read(data, 0), encode=encode)


_KAFKA_PYTHON_MODULES = {
    "MetadataResponse": "metadata",
    "ProduceRequest": "producer",
    "FetchResponse": "consumer",
    "ApiVersionsResponse": "metadata",
    "OffsetCommitRequest": "consumer",
    "HeartbeatRequest": "consumer",
}


def _kafka_python(sample: Sample) -> Codec:
    cls = getattr(import_module(f"kafka.protocol.{_KAFKA_PYTHON_MODULES[sample.name]}"), sample.name)
    data, version = sample.golden, sample.version
    message = cls.decode(data, version=version)
    message._header = None  # 3.0.12 reads it on encode, but does not set it when it decodes a body without header
    return Codec(decode=lambda: cls.decode(data, version=version), encode=lambda: message.encode(version=version))


OURS = Peer("kipwire", "kipwire", _kipwire)
KIO = Peer("kio", "kio", _kio)
KAFKA_PYTHON = Peer("kafka-python", "kafka-python", _kafka_python)
PEERS = (KIO, KAFKA_PYTHON)


def checked_codec(peer: Peer, sample: Sample) -> Codec:
    """The peer's codec of a sample.

    Raises:
        WrongBytesError: it does not give the golden bytes back.
    """
    codec = peer.codec(sample)
    if bytes(codec.encode()) != sample.golden:
        raise WrongBytesError(f"{peer.name}: {sample.file} does not come back byte for byte")
    return codec
