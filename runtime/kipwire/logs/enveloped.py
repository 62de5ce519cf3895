"""Messages within records and within other messages: behind an envelope, which says their type or their version.

Keys of coordinators have their type before them, their values and what consumers of the classic protocol say of
themselves have an int16 version, and records of the metadata log have three varints (`internal_topics`).
"""

from __future__ import annotations

from kipwire.logs.internal_topics import ENVELOPES, UnknownRecordError, pack_envelope, unpack_envelope
from kipwire.message.registry import KAFKA_PACKAGE, registry_of
from kipwire.model.errors import DecodeError, unknown_version
from kipwire.tools.text import only_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.messages import Message
    from kipwire.model.structs import Field

SUBSCRIPTION, ASSIGNMENT = "ConsumerProtocolSubscription", "ConsumerProtocolAssignment"
"""The messages that consumers of the classic protocol put into the bytes of their members."""
_VERSION_BYTES = 2
_OF_CONSUMERS = {
    ("describe_groups_response", "member_metadata"): SUBSCRIPTION,
    ("describe_groups_response", "member_assignment"): ASSIGNMENT,
    ("join_group_request", "metadata"): SUBSCRIPTION,
    ("join_group_response", "metadata"): SUBSCRIPTION,
    ("sync_group_request", "assignment"): ASSIGNMENT,
    ("sync_group_response", "assignment"): ASSIGNMENT,
    ("group_metadata_value", "subscription"): SUBSCRIPTION,
    ("group_metadata_value", "assignment"): ASSIGNMENT,
}
"""The fields of bytes that have these messages if the group is one of consumers, by module and attribute."""


def message_in(field: Field) -> str | None:
    """Name the message that the bytes of a field of `kafka_messages` are in a group of consumers; None for others."""
    if field.owner is None:
        return None
    package, _, module = field.owner.__module__.rpartition(".")[0].rpartition(".")
    return _OF_CONSUMERS.get((module, field.name)) if package == KAFKA_PACKAGE else None


def write_enveloped(message: Message) -> bytes:
    """Encode a message behind its envelope: the key or the value of a record, or a consumer's subscription.

    Raises:
        EncodeError: a value does not fit its field.
        ValueError: nothing is before such a message, whose bytes are `message.encode()`.
    """
    cls = type(message)
    if cls.NAME in (SUBSCRIPTION, ASSIGNMENT):
        return cls.VERSION.to_bytes(_VERSION_BYTES, "big") + message.encode()
    envelope = pack_envelope(cls)
    if envelope is None:
        raise ValueError(f"{cls.NAME} has no envelope; its bytes are those of encode()")
    return envelope + message.encode()


def read_enveloped(name: str, data: bytes) -> Message:
    """Decode a message of `kafka_messages` by the envelope before it, the reverse of `write_enveloped`.

    A later version of what consumers say is read as the newest known, and bytes after it are ignored, as Java's
    clients do: later versions only add to the end.

    Args:
        name: the name of the message, such as `OffsetCommitKey` or `ConsumerProtocolSubscription`.
        data: all bytes of the key, the value or the field.

    Raises:
        DecodeError: the bytes are not that message; `UnknownRecordError` if the type or the version is not known.
        UnsupportedVersionError: there is no such message.
        ValueError: nothing is before such a message.
    """
    registry = registry_of(KAFKA_PACKAGE)
    if name in (SUBSCRIPTION, ASSIGNMENT):
        return registry.message(name, consumer_version(name, data)).read(data, _VERSION_BYTES)[0]
    entry = registry.entry(name)
    if entry.type not in ENVELOPES:
        raise ValueError(f"{name} has no envelope; its class decodes it")
    type_id, version, at, size = unpack_envelope(entry.type, data)
    if type_id not in (None, entry.api_key):
        raise DecodeError(name, version, "type", 0, f"is {type_id}, not {entry.api_key}")
    if version not in entry.versions:
        raise UnknownRecordError(name, version, "version", at, unknown_version(version, entry.versions))
    return registry.message(name, version).decode(data[size:])


def consumer_version(name: str, data: bytes) -> int:
    """Read the version of what a consumer says, at most the newest known.

    Args:
        name: `SUBSCRIPTION` or `ASSIGNMENT`.
        data: the bytes.

    Raises:
        DecodeError: the bytes are too few, or the version is negative.
    """
    if len(data) < _VERSION_BYTES:
        raise DecodeError(name, 0, "version", 0, f"need {_VERSION_BYTES} bytes, {only_left(len(data))}")
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    if version < 0:
        raise DecodeError(name, 0, "version", 0, f"is {version}, and must not be negative")
    return min(version, registry_of(KAFKA_PACKAGE).versions(name)[-1])
