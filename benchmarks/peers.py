"""The Python codecs that are compared, each with the same small interface.

To add one, write a function that makes its `Codec` from a sample, and put its `Peer` into `PEERS`; its `encode` must
reproduce the golden bytes, unless it is for another format.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import kafka_messages
from benchmarks import msgpack
from benchmarks.bodies import Sample
from kipwire import native
from kipwire.message.messages import Message


@dataclass(frozen=True)
class Codec:
    """A peer's operations on one message, ready to be called many times."""

    decode: Callable[[], object]
    """Decodes the golden bytes."""
    encode: Callable[[], bytes | bytearray | memoryview]
    """Encodes the message that was decoded from the golden bytes."""


@dataclass(frozen=True)
class Peer:
    """A library that decodes and encodes the samples."""

    name: str
    """Name in the tables."""
    distribution: str
    """Name of the installed distribution, whose version is printed."""
    codec: Callable[[Sample], Codec]
    same_bytes: bool = True
    """True if it writes the golden bytes; False for another format of equal content."""


class WrongBytesError(Exception):
    """A codec does not give the golden bytes back."""


def codec_of(cls: type[Message], data: bytes) -> Codec:
    """Return kipwire's methods, compiled if the kernel is in use."""
    return Codec(decode=partial(cls.decode, data), encode=cls.decode(data).encode)


def interpreted_codec_of(cls: type[Message], data: bytes) -> Codec:
    """Return the Python functions of kipwire's methods, as without the kernel."""
    decode, encode = native.PYTHON["decode"], native.PYTHON["encode"]
    return Codec(decode=partial(decode, cls, data), encode=partial(encode, cls.decode(data)))


def _kipwire(sample: Sample) -> Codec:
    return codec_of(kafka_messages.message(sample.name, sample.version), sample.golden)


def _interpreted(sample: Sample) -> Codec:
    return interpreted_codec_of(kafka_messages.message(sample.name, sample.version), sample.golden)


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


def _msgpack(sample: Sample) -> Codec:
    message = kafka_messages.message(sample.name, sample.version).decode(sample.golden)
    decode, encode = msgpack.codec(message)
    return Codec(decode=decode, encode=encode)


OURS = Peer("kipwire", "kipwire", _kipwire)
INTERPRETED = Peer("interpreted", "kipwire", _interpreted)
NATIVE = Peer("native", "kipwire", _kipwire)
KIO = Peer("kio", "kio", _kio)
KAFKA_PYTHON = Peer("kafka-python", "kafka-python", _kafka_python)
MSGPACK = Peer("msgspec", "msgspec", _msgpack, same_bytes=False)
PEERS = (INTERPRETED, *([NATIVE] if native.in_use else []), KIO, KAFKA_PYTHON, MSGPACK)
"""kipwire, compiled only if the kernel is built, and the other libraries."""
FLOOR = "floor"
"""Not a codec: benchmarks/floor copies the decoded message. Native decode cannot be faster."""


def checked_codec(peer: Peer, sample: Sample) -> Codec:
    """Return the peer's codec of a sample, after a check of its bytes.

    Raises:
        WrongBytesError: it does not give the golden bytes back.
    """
    codec = peer.codec(sample)
    if peer.same_bytes and bytes(codec.encode()) != sample.golden:
        raise WrongBytesError(f"{peer.name}: {sample.file} does not come back byte for byte")
    return codec
