"""Facts about single frames: the name of the API, and what is in a body: error codes, topics, unknown tagged fields.

`look_at` finds what one asks of every frame, and makes no object of the rest; `facts_of` goes through a whole message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
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
    topics: frozenset[str] = frozenset()
    """The names of topics, if they were asked for."""
    topic_ids: frozenset[UUID] = frozenset()
    names_of_ids: tuple[tuple[UUID, str], ...] = ()
    """Topics of which it has both."""
    is_answered: bool = True
    """True if a request has a response; Produce with `acks` of 0 has none."""
    note: str | None = None
    """Oddity that is no error."""

    @property
    def cost(self) -> int:
        """About how many bytes of memory it takes."""
        return sum(len(name) + _COST for name in self.topics) + _COST * (
            len(self.error_codes) + len(self.topic_ids) + len(self.names_of_ids)
        )


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
    for path, field in chosen.codes.items():
        value = next(found)
        if value:
            codes += [(path, code, count, _name(registry, field, code)) for code, count in _counts(value).items()]
    software = (next(found), next(found)) if chosen.has_software else None
    if not with_topics:
        return Look(tuple(codes), software) if codes or software else NOTHING
    names = {path: list(_flat(next(found))) for path in chosen.names}
    ids = {path: list(_flat(next(found))) for path in chosen.ids}
    both = [
        (id_, name)
        for path, of_path in ids.items()
        for id_, name in zip(of_path, names.get(chosen.ids[path], ()), strict=False)
        if name and id_.int
    ]
    return Look(
        tuple(codes),
        software,
        frozenset(name for of_path in names.values() for name in of_path if name),
        frozenset(id_ for of_path in ids.values() for id_ in of_path if id_.int),
        tuple(both),
    )


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
    codes: dict[str, Field]
    """The fields of error codes, which come first, by path."""
    has_software: bool
    """True if the name and the version of the client's library are next."""
    names: tuple[str, ...]
    """The paths of names of topics, which are next."""
    ids: dict[str, str]
    """Paths of ids of topics, which are last; for each, the path of the name in the same struct, or ""."""


@lru_cache(maxsize=4096)
def _choose(cls: type[Message], with_topics: bool) -> _Chosen:
    fields = dict(_fields(cls, ""))
    codes = {path: field for path, field in fields.items() if _is_error_code(field)}
    software = [path for path in _SOFTWARE if path in fields]
    names = {path for path, field in fields.items() if field.entity_type == "topicName"} if with_topics else set()
    ids = {}
    for path in fields if with_topics else ():
        struct, _, name = path.rpartition(".")
        if name == "topic_id":
            beside = [one for one in names if one.rpartition(".")[0] == struct and not fields[one].array]
            ids[path] = beside[0] if len(beside) == 1 else ""
    ordered = tuple(path for path in fields if path in names)
    projection = Projection(cls, *codes, *software, *ordered, *ids)
    return _Chosen(projection, codes, len(software) == len(_SOFTWARE), ordered, ids)


_SOFTWARE = ("client_software_name", "client_software_version")


def _fields(cls: type[Struct], path: str) -> Iterator[tuple[str, Field]]:
    """Yield the fields of a struct and of all structs in it, each with its path."""
    for field in cls.ATTRIBUTES:
        where = f"{path}.{field.name}" if path else field.name
        if field.struct is None:
            yield where, field
        else:
            yield from _fields(field.struct, where)


def _counts(value: Any) -> Counter[int]:
    """Count the codes other than 0 in the values at a path."""
    if isinstance(value, int):
        return Counter({value: 1})
    if value and isinstance(value[0], int):
        return Counter(filter(None, value)) if any(value) else Counter()
    counts = Counter[int]()
    for inner in filter(None, value):
        counts += _counts(inner)
    return counts


def _flat(value: Any) -> Iterator[Any]:
    """Yield the values that a path leads to, without the lists of the arrays on its way."""
    if not isinstance(value, list):
        if value is not None:
            yield value
        return
    for inner in value:
        yield from _flat(inner)


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
