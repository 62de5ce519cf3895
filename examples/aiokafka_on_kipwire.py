"""aiokafka on the classes of kipwire, without a fork: its request and response classes are replaced while it runs.

    import aiokafka_on_kipwire

    aiokafka_on_kipwire.install()       # before the first client connects; uninstall() takes it out

aiokafka's classes and ours have the same fields in the order of the wire, under other names. So a function
from tuples to a message and one back, both driven by `FIELDS`, serve all of its requests. Each replacement is a
subclass of what it replaces, and gives aiokafka the same: attributes with aiokafka's names, and tuples. kipwire writes
and reads all bytes, also headers and a group's subscriptions and assignments.

The version is chosen as before. For a broker that has none of aiokafka's versions of a request any more, it is made in
the newest of these and converted to the next one that the broker has; what would be lost is an error.

Not replaced: record batches, which are compiled code of aiokafka, and the user data of its sticky assignor, which is
no message of Kafka's. Made for aiokafka 0.14.0.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from io import BytesIO
from operator import attrgetter
from typing import Any, ClassVar

import aiokafka  # noqa: F401 - which imports every request
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from aiokafka.protocol.api import Request

import kafka_messages
import kipwire
from kipwire import Message

_replaced = ExitStack()
"""Puts everything back."""


def attributes(cls: Any) -> list[str]:
    """Return the attributes of a struct in aiokafka's order: the order of the wire, and the unknown tags at the end."""
    names = [field.name for field in cls.FIELDS if field.tag is None]
    return [*names, "unknown_tagged_fields"] if cls.FLEXIBLE else names


@cache
def maker(cls: Any) -> Callable[[Any], Any]:
    """Return a function that makes a struct of aiokafka's values."""
    names = attributes(cls)
    structs = [(one.name, one.struct) for one in cls.FIELDS if one.tag is None and one.struct is not None]
    inner = [(name, maker(struct), len(attributes(struct)) == 1) for name, struct in structs]
    if not inner and not cls.FLEXIBLE:
        return lambda values: cls(**dict(zip(names, values, strict=True)))

    def make(values: Any) -> Any:
        if len(values) < len(names):  # CreatePartitions: two neighbours are a tuple of their own
            values = [value for one in values for value in (one if isinstance(one, tuple) else (one,))]
        given = dict(zip(names, values, strict=True))
        tags = given.pop("unknown_tagged_fields", None)
        for name, make_one, is_bare in inner:  # a struct of one field is no tuple, such as a topic of Metadata
            if given[name] is not None:
                given[name] = [make_one((value,) if is_bare else value) for value in given[name]]
        made: Any = cls(**given)
        if tags:
            made.unknown_tagged_fields = tags
        return made

    return make


@cache
def shaper(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that makes the tuple that aiokafka unpacks of a struct."""
    names = attributes(cls)
    positional = [one for one in cls.FIELDS if one.tag is None]
    inner = [(at, shaper(one.struct)) for at, one in enumerate(positional) if one.struct is not None]
    get: Callable[[Any], Any] = attrgetter(*names)
    if not inner and len(names) > 1:
        return get

    def shape(struct: Any) -> tuple[Any, ...]:
        values: list[Any] = [*get(struct)] if len(names) > 1 else [get(struct)]
        for at, shape_one in inner:
            if values[at] is not None:
                values[at] = [*map(shape_one, values[at])]
        return tuple(values)

    return shape


class OwnRequest:
    """Methods of a request of aiokafka that kipwire writes."""

    API_KEY: ClassVar[int]
    SCHEMA: ClassVar[Any]
    MADE_IN: ClassVar[int]
    """The version that aiokafka has the class for."""
    SENT_IN: ClassVar[int]
    """The version on the wire."""

    def message(self) -> Message:
        """Return the request as it is sent.

        Raises:
            ConversionError: the version on the wire cannot carry it.
        """
        own: Any = kafka_messages.request(self.API_KEY, self.MADE_IN)
        made: Message = maker(own)([getattr(self, name) for name in self.SCHEMA.names])
        lost: list[kipwire.Loss] = []
        sent = made if self.MADE_IN == self.SENT_IN else kipwire.convert(made, self.SENT_IN, lost=lost)
        if dropped := [one for one in lost if one.is_dropped]:
            raise kipwire.ConversionError(made.NAME, made.VERSION, dropped[0].path, "; ".join(map(str, dropped)))
        return sent

    def encode(self) -> bytes:
        return self.message().encode()

    def build_request_header(self, correlation_id: int, client_id: str) -> Any:
        header_version = kafka_messages.request(self.API_KEY, self.SENT_IN).HEADER_VERSION
        header: Any = kafka_messages.message("RequestHeader", header_version)
        values = (self.API_KEY, self.SENT_IN, correlation_id, client_id, None)
        return maker(header)(values[: 4 + header.FLEXIBLE])

    def parse_response_header(self, frame: BytesIO) -> Message:
        header_version = kafka_messages.response(self.API_KEY, self.SENT_IN).HEADER_VERSION
        header, _ = kafka_messages.message("ResponseHeader", header_version).read(frame.getvalue())
        return header


class OwnResponse:
    """Methods of a response of aiokafka that kipwire reads."""

    API_KEY: ClassVar[int]
    MADE_IN: ClassVar[int]
    SENT_IN: ClassVar[int]

    @classmethod
    def decode(cls, frame: BytesIO) -> Any:
        """Decode the response in a frame, whose header has been read before."""
        own: Any = kafka_messages.response(cls.API_KEY, cls.MADE_IN)
        message = kafka_messages.decode_response(frame.getvalue(), cls.API_KEY, cls.SENT_IN).body
        return cls(*shaper(own)(message))  # a later version has these fields, too, and more


def own_class(theirs: Any, sent_in: int) -> Any:
    """Make the class that replaces a request's class; it has the class that replaces the response's."""
    versions = {"MADE_IN": theirs.API_VERSION, "SENT_IN": sent_in}
    response = type(theirs.RESPONSE_TYPE.__name__, (OwnResponse, theirs.RESPONSE_TYPE), versions)
    members = {**versions, "API_VERSION": sent_in, "RESPONSE_TYPE": response}
    return type(theirs.__name__, (OwnRequest, theirs), members)


def own_classes(builder: Any) -> tuple[Any, ...]:
    """Make replacements of the classes of a request's builder, which takes the last one that the broker has.

    So before them are classes of versions that aiokafka does not have, the next one last; not of ApiVersions, which is
    sent before anything is known of the broker, and then by the first class.
    """
    *_, newest = builder._CLASSES
    known = kafka_messages.REGISTRY.request_versions(builder.API_KEY)
    later = () if builder.ALLOW_UNKNOWN_API_VERSION else range(newest.API_VERSION + 1, known.stop)
    own = [own_class(theirs, theirs.API_VERSION) for theirs in builder._CLASSES]
    return (*[own_class(newest, version) for version in reversed(later)], *own)


STORED = {
    ConsumerProtocolMemberMetadata: "ConsumerProtocolSubscription",
    ConsumerProtocolMemberAssignment: "ConsumerProtocolAssignment",
}
"""The messages between members of a group, without a header: two bytes of version, and a message."""


def encode_stored(stored: Any) -> bytes:
    own: Any = kafka_messages.message(STORED[type(stored)], 0)
    made = maker(own)([getattr(stored, name) for name in stored.SCHEMA.names[1:]])
    return bytes(int(stored.version).to_bytes(2, "big") + kipwire.convert(made, stored.version).encode())


def decode_stored(cls: Any, data: bytes) -> Any:
    name, version = STORED[cls], int.from_bytes(data[:2], "big")
    own: Any = kafka_messages.message(name, 0)
    known = min(version, own.MAX_VERSION)  # a later version only adds something at the end
    message, _ = kafka_messages.message(name, known).read(data, 2)
    return cls(version, *shaper(own)(kipwire.convert(message, own)))


def install() -> None:
    """Replace the classes, for all clients of this process."""
    uninstall()
    for builder in Request.__subclasses__():
        _replaced.callback(setattr, builder, "_CLASSES", builder._CLASSES)
        builder._CLASSES = own_classes(builder)
    for cls in STORED:
        for name, own in (("encode", encode_stored), ("decode", classmethod(decode_stored))):
            setattr(cls, name, own)
            _replaced.callback(delattr, cls, name)  # they inherit their own


uninstall = _replaced.close
"""Gives aiokafka its own classes again."""
