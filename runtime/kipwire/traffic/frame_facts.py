"""Facts about single frames: the name of the API, and what is in a body: error codes, topics, unknown tagged fields.

`look_at` finds what one asks of every frame, and makes no object of the rest; `facts_of` goes through a whole message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple
from uuid import UUID

from kafka_messages.enums import ErrorCode
from kipwire import KipwireError, Message
from kipwire.connection.events import HEAD
from kipwire.message.frames import class_of_answer, may_answer_in_version_0
from kipwire.message.registry import Registry
from kipwire.model.api_keys import API_VERSIONS_KEY, PRODUCE_KEY
from kipwire.model.structs import Field, Struct
from kipwire.projection import Projection
from kipwire.traffic.requests import kafka


class UnknownTag(NamedTuple):
    """An unknown tagged field."""

    path: str
    """Path of the struct that has it."""
    tag: int
    bytes: int
    """Number of its bytes."""


class Facts(NamedTuple):
    """Facts found in a body."""

    error_codes: dict[tuple[str, int, str | None], int]
    """Counts of the codes other than 0, by path, without the indexes of arrays, code and name, if it has one."""
    unknown_tags: list[UnknownTag]


class Look(NamedTuple):
    """Result of `look_at` for a frame."""

    error_codes: tuple[tuple[str, int, int, str | None], ...] = ()
    """Path without indexes, code other than 0, how often it is there, and the name of the error, if it has one."""
    software: tuple[str, str] | None = None
    """Name and version of the client's library, which ApiVersions has from version 3 on."""
    topics: tuple[str | UUID, ...] = ()
    """Topics in their order, each once, if they were asked for: the name, or the id of a topic that has only an id."""
    names_of_ids: tuple[tuple[UUID, str], ...] = ()
    """Topics of which it has both."""
    is_answered: bool = True
    """True if a request has a response; Produce with `acks` of 0 has none."""
    note: str | None = None
    """Oddity that is no error."""

    @property
    def cost(self) -> int:
        """About how many bytes of memory it takes."""
        names = sum(len(topic) for topic in self.topics if isinstance(topic, str))
        return names + _COST * (len(self.error_codes) + len(self.topics) + len(self.names_of_ids))


NOTHING = Look()
"""Result for a frame that cannot be decoded."""
_API_VERSIONS, _OF_VERSIONS = API_VERSIONS_KEY.to_bytes(2), "ApiVersionsRequest"
_OF_PRODUCE = "ProduceRequest"
_SURPLUS = 4
_NOTE = f"{_SURPLUS} bytes too many, as old librdkafka sends and Kafka takes"
_COST = 128
"""About how many bytes each thing that was found takes in addition to its text."""


def decode_frame(messages: Registry, direction: str, api_key: int, version: int, frame: bytes) -> Message:
    """Decode the body of a frame, without the surplus that old clients send.

    Raises:
        KipwireError: it is broken, or there is no class for it.
    """
    if direction == "request":
        return messages.decode_request(frame[: len(frame) - surplus_of(frame, messages)])[1]
    return messages.decode_response(frame, api_key, version)[1]


def surplus_of(request: bytes, registry: Registry) -> int:
    """Return the number of bytes after a request that old releases of librdkafka send, and Kafka passes over.

    They end ApiVersions with an empty array, before version 3.
    """
    if request[:2] != _API_VERSIONS or registry.request_name(API_VERSIONS_KEY) != _OF_VERSIONS:
        return 0
    if len(request) < HEAD.size + _SURPLUS or request[-_SURPLUS:] != bytes(_SURPLUS):
        return 0
    header = HEAD.size + 2 + max(int.from_bytes(request[HEAD.size : HEAD.size + 2], signed=True), 0)
    return _SURPLUS if request[2] == 0 and request[3] < 3 and len(request) == header + _SURPLUS else 0


@cache
def api_name(api_key: int, registry: Registry | None = None) -> str:
    """Return the name of an API, such as `Fetch`; `API 99` for a key that the registry, by default Kafka's, lacks."""
    for entry in (registry or kafka()).entries():
        if entry.versions and entry.type == "request" and entry.api_key == api_key:
            return entry.name.removesuffix("Request")
    return f"API {api_key}"


def error_text(code: int, name: str | None, count: int) -> str:
    """Format a code that a message has, and how often if more than once: `UNKNOWN_MEMBER_ID`, `NONE*3`, `error 999`."""
    name = name or f"error {code}"
    return name if count == 1 else f"{name}*{count}"


def facts_of(body: Message, registry: Registry | None = None) -> Facts:
    """Collect the error codes other than 0 and the unknown tagged fields of a message and of all structs in it."""
    facts = Facts({}, [])
    _look(registry or kafka(), body, "", facts)
    return facts


def look_at(
    direction: str,
    api_key: int,
    version: int,
    frame: bytes,
    registry: Registry | None = None,
    *,
    with_topics: bool = False,
) -> Look:
    """Find what one asks of every frame; all of its bytes are checked.

    Args:
        direction: of the frame.
        api_key: of the request, or of the one that a response answers.
        version: the same.
        frame: the bytes, without the size before them.
        registry: of the protocol; by default Kafka's.
        with_topics: whether to find topics.

    Raises:
        KipwireError: the frame is broken, or there is no class for it.
    """
    registry = registry or kafka()
    read = _read(registry, direction, api_key, version, frame, with_topics)
    if read is None and direction == "request" and surplus_of(frame, registry):
        return look_at(direction, api_key, version, frame[:-_SURPLUS], registry)._replace(note=_NOTE)
    if read is None:
        decode_frame(registry, direction, api_key, version, frame)  # which says what is wrong, and where
        return NOTHING
    chosen, values = read
    found = iter(values)
    codes = []
    for path, (field, depth) in chosen.codes.items():
        value = next(found)
        if value and any(numbers := _flat(value, depth)):
            counts = Counter(filter(None, numbers))
            codes += [(path, code, count, _name(registry, field, code)) for code, count in counts.items()]
    software = (next(found), next(found)) if chosen.has_software else None
    if not chosen.topics:
        return Look(tuple(codes), software) if codes or software else NOTHING
    topics, both = _topics(chosen.topics, found)
    return Look(tuple(codes), software, topics, both) if topics or codes or software else NOTHING


def _topics(
    fields: tuple[_TopicFields, ...], values: Iterator[Any]
) -> tuple[tuple[str | UUID, ...], tuple[tuple[UUID, str], ...]]:
    """Take the topics from the values of their fields, and the pairs of id and name."""
    topics: list[str | UUID] = []
    both: list[tuple[UUID, str]] = []
    for has_name, has_id, depth in fields:
        names = _flat(next(values), depth) if has_name else ()
        if not has_id:
            topics += filter(None, names)
            continue
        # Values at the same places belong together, so none is left out before they are paired.
        for id_, name in zip_longest(_flat(next(values), depth), names):
            if name:
                topics.append(name)
                if id_ is not None and id_.int:
                    both.append((id_, name))
            elif id_ is not None and id_.int:
                topics.append(id_)
    return tuple(topics if len(topics) < 2 else dict.fromkeys(topics)), tuple(both)


def _read(
    registry: Registry, direction: str, api_key: int, version: int, frame: bytes, with_topics: bool
) -> tuple[_Chosen, tuple[Any, ...]] | None:
    """Read the chosen values of a body; None if the frame is broken, or there is no class for it."""
    if direction == "request" and len(frame) >= HEAD.size:
        api_key, version, _ = HEAD.unpack_from(frame)
    try:
        header, cls, may_differ = _way(registry, direction, api_key, version)
        _, at = header.read(frame)
        if may_differ:
            cls = class_of_answer(cls, frame, at)
        chosen = _choose(cls, with_topics)  # type: ignore[arg-type]  # the class is hashable
        values, end = chosen.projection.read(frame, at)
    except KipwireError:
        return None
    return (chosen, values) if end == len(frame) else None


@lru_cache(maxsize=4096)
def _way(messages: Registry, direction: str, api_key: int, version: int) -> tuple[Projection, type[Message], bool]:
    """Find what locates the body of a frame: header, class, and True if a response may be of version 0 instead.

    Raises:
        UnsupportedVersionError: there is no class for the API key and version.
    """
    cls = (messages.request if direction == "request" else messages.response)(api_key, version)
    header = messages.header_class("RequestHeader" if direction == "request" else "ResponseHeader", cls)
    return Projection(header), cls, may_answer_in_version_0(cls)


class _Chosen(NamedTuple):
    """The fields of a class that `look_at` reads."""

    projection: Projection
    codes: dict[str, tuple[Field, int]]
    """The fields of error codes, which come first, by path, with the number of arrays on it."""
    has_software: bool
    """True if the name and the version of the client's library are next."""
    topics: tuple[_TopicFields, ...]
    """The fields of topics, which are last."""


class _TopicFields(NamedTuple):
    """The fields of a struct that tell a topic: the name, which is read first, the id, or both."""

    has_name: bool
    has_id: bool
    depth: int
    """Number of arrays on the way to the fields, and in them."""


@lru_cache(maxsize=4096)
def _choose(cls: type[Message], with_topics: bool) -> _Chosen:
    fields = {path: (field, depth) for path, field, depth in _fields(cls, "", 0)}
    codes = {path: (field, depth) for path, (field, depth) in fields.items() if _is_error_code(field)}
    software = [path for path in _SOFTWARE if path in fields]
    paths, topics = _topic_fields(cls) if with_topics else ([], ())
    projection = Projection(cls, *codes, *software, *paths)
    return _Chosen(projection, codes, len(software) == len(_SOFTWARE), topics)


def _topic_fields(cls: type[Message]) -> tuple[list[str], tuple[_TopicFields, ...]]:
    """Find the fields of topics by their entity type, and by the name of ids, which have none; their paths first."""
    ids = {path.rpartition(".")[0]: path for path, field, _ in _fields(cls, "", 0) if _is_topic_id(field)}
    paths, found = [], []
    for path, field, depth in _fields(cls, "", 0):
        struct = path.rpartition(".")[0]
        if field.entity_type == "topicName":
            id_ = None if field.array else ids.pop(struct, None)
            paths += [path] if id_ is None else [path, id_]
            found.append(_TopicFields(True, id_ is not None, depth))
    for path, _, depth in _fields(cls, "", 0):
        if path in ids.values():
            paths.append(path)
            found.append(_TopicFields(False, True, depth))
    return paths, tuple(found)


def _is_topic_id(field: Field) -> bool:
    return field.name == "topic_id" and field.type == "uuid"


_SOFTWARE = ("client_software_name", "client_software_version")


def _fields(cls: type[Struct], path: str, depth: int) -> Iterator[tuple[str, Field, int]]:
    """Yield the fields of a struct and of all structs in it, each with its path and the number of arrays on it."""
    for field in cls.ATTRIBUTES:
        where = f"{path}.{field.name}" if path else field.name
        if field.struct is None:
            yield where, field, depth + field.array
        else:
            yield from _fields(field.struct, where, depth + field.array)


def _flat(value: Any, depth: int) -> Sequence[Any]:
    """List the values that a path leads to, without the lists of the arrays on its way."""
    if not depth:
        return (value,)
    for _ in range(depth - 1):
        value = [one for inner in value or () for one in inner or ()]
    return value or ()


def _look(registry: Registry, item: Struct, path: str, facts: Facts) -> None:
    if item.FLEXIBLE and item._unknown_tagged_fields:
        tags = item._unknown_tagged_fields.items()
        facts.unknown_tags.extend(UnknownTag(path, tag, len(data)) for tag, data in tags)
    for name, is_struct, is_array, field in _inspected_fields(type(item)):  # type: ignore[arg-type]  # the class is hashable
        value = getattr(item, name)
        if not value:  # nearly always: no error, no element, no struct
            continue
        where = f"{path}.{name}" if path else name
        if not is_struct:
            key = where, value, _name(registry, field, value)
            facts.error_codes[key] = facts.error_codes.get(key, 0) + 1
        else:
            for inner in value if is_array else (value,):
                _look(registry, inner, where, facts)


@cache
def _inspected_fields(cls: type[Struct]) -> tuple[tuple[str, bool, bool, Field], ...]:
    """Find the fields that are error codes, or structs that may have some: name, is it a struct, is it an array."""
    return tuple(
        (field.name, field.struct is not None, field.array, field)
        for field in cls.ATTRIBUTES
        if field.struct is not None or _is_error_code(field)
    )


@lru_cache(maxsize=4096)
def _name(registry: Registry, field: Field, code: int) -> str | None:
    """Name a code by the enum of its field, or by Kafka's in packages that extend Kafka."""
    enum = field.enum or (ErrorCode if registry.request_name(PRODUCE_KEY) == _OF_PRODUCE else None)
    error = None if enum is None else enum.find(code)
    return None if error is None else error.name


def _is_error_code(field: Field) -> bool:
    return field.name.endswith("error_code") and field.type == "int16"
