"""The nodes of a fake cluster: where each is reached, whether it runs, what it coordinates, and its fetch sessions.

No data is copied: that another node leads or coordinates is a number. What a node did goes to the next that runs when
it stops, and stays there, so that who answers follows from the test alone. A coordinator has slots of Kafka's hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.aio.failures import parse_host, shown_address
from kipwire.testing.broker.state import Refused

_SLOTS = 50
"""Kafka's default number of partitions of its internal topics, whose leaders coordinate what is hashed to them."""


@dataclass(slots=True)
class Listener:
    """A node's id and advertised address."""

    node_id: int
    host: str
    """The one that clients are told."""
    listens_at: int
    """Its port; 0 until it listens for the first time, if the system chooses one."""
    advertised_port: int | None = None
    """The port that clients are told; None if it is its own."""
    is_running: bool = True
    is_paused: bool = False
    """True if it takes requests without answering them."""

    @property
    def port(self) -> int:
        """The port that clients are told; 0 until it is known."""
        return self.listens_at if self.advertised_port is None else self.advertised_port

    @property
    def address(self) -> dict[str, Any]:
        """The node, as responses have it."""
        return {"node_id": self.node_id, "host": self.host, "port": self.port}


def host_to_tell(host: str, port: int | None, nodes: int) -> str:
    """Return the host that clients are told; refuse one, or a port, to which none could connect."""
    shown, more = parse_host(host)
    if more is not None:
        raise ValueError(f"advertised_host is a host, not {host!r}; give the port as advertised_port")
    if port is not None and not 0 < port <= 65536 - nodes:
        raise ValueError(f"advertised_port must be from 1 to {65536 - nodes:,} for {nodes:,} nodes, not {port:,}")
    return shown


class Nodes:
    """All nodes. Everything that a node did goes to the next one that runs when it stops, and stays there."""

    def __init__(self, host: str, ports: Sequence[int], advertised_port: int | None = None) -> None:
        """Number nodes from 1 on; clients are told that the first is at the advertised port, and others at the next."""
        told = [None if advertised_port is None else advertised_port + more for more in range(len(ports))]
        self.by_id = {at: Listener(at, host, *ports) for at, ports in enumerate(zip(ports, told, strict=True), 1)}
        self.controller = 1
        self._coordinators = {
            kind: [self.leader_of_new(slot) for slot in range(_SLOTS)]
            for kind in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION)
        }

    @property
    def running(self) -> list[Listener]:
        """Nodes that have not been stopped."""
        return [one for one in self.by_id.values() if one.is_running]

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of each, as clients take them."""
        return ",".join(shown_address((one.host, one.port)) for one in self.by_id.values())

    def __getitem__(self, node_id: int) -> Listener:
        """Return a node; refuse an id that none has."""
        if node_id not in self.by_id:
            reason = f"there is no node {node_id}; the nodes are 1 to {len(self.by_id)}"
            raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, reason)
        return self.by_id[node_id]

    def expect_running(self, node_id: int) -> None:
        """Refuse a node that is stopped, or not there."""
        if not self[node_id].is_running:
            raise Refused(ErrorCode.BROKER_NOT_AVAILABLE, f"node {node_id} is stopped")

    def leader_of_new(self, index: int) -> int:
        """Choose the node that leads a new partition: they are dealt out, beginning with the first node."""
        return self.or_next(index % len(self.by_id) + 1)

    def or_next(self, node_id: int) -> int:
        """Return a node, or the next one that runs; itself if none does."""
        after = [*range(node_id, len(self.by_id) + 1), *range(1, node_id)]
        return next((one for one in after if self.by_id[one].is_running), node_id)

    def coordinator(self, kind: CoordinatorType, key: str) -> int:
        """Find the node that coordinates a group or a transactional id, by Kafka's hash of it."""
        return self._coordinators[kind][_slot(key)]

    def move_coordinator(self, kind: CoordinatorType, key: str, to: int) -> None:
        """Let another node coordinate a group or a transactional id, and all others with its hash."""
        self.expect_running(to)
        self._coordinators[kind][_slot(key)] = to

    def move_controller(self, to: int) -> None:
        """Let another node be the controller."""
        self.expect_running(to)
        self.controller = to

    def start(self, node_id: int) -> None:
        """Let a node go on that was stopped or paused."""
        self[node_id].is_running, self[node_id].is_paused = True, False

    def pause(self, node_id: int) -> None:
        """Let a node answer nothing."""
        self[node_id].is_paused = True

    def stop(self, node_id: int) -> None:
        """Let a node end; the next one coordinates and controls instead."""
        self[node_id].is_running = False
        self.controller = self.or_next(self.controller)
        for nodes in self._coordinators.values():
            nodes[:] = [self.or_next(one) for one in nodes]


def _slot(key: str) -> int:
    """Compute the partition of an internal topic for a key: the absolute value of Java's hash, as Kafka takes it."""
    units = key.encode("utf-16-be", "surrogatepass")
    found = 0
    for at in range(0, len(units), 2):
        found = (31 * found + int.from_bytes(units[at : at + 2])) & 0xFFFF_FFFF
    return (2**32 - found if found > 2**31 else found % 2**31) % _SLOTS


# Fetch sessions (KIP-227): which partitions a client asks for, and what it was told of them last.

MOST_SESSIONS = 1000
"""Highest number of sessions: Kafka's default of `max.incremental.fetch.session.cache.slots`."""
_SECONDS_UNUSED = 120.0
"""After which a session may give way to another one, as in Kafka by default."""
OUTSIDE, BEGINNING = -1, 0
"""Epochs of requests with all their partitions: outside a session, and to begin one."""
_LAST_EPOCH = 2**31 - 1


class Asked(NamedTuple):
    """A partition that a client asks for."""

    topic: Any
    partition: Any


def all_asked(topics: Iterable[Any]) -> dict[tuple[Any, int], Asked]:
    """Collect the partitions of a request, by the name or id of the topic and their number."""
    return {(_name(topic), one.partition): Asked(topic, one) for topic in topics for one in topic.partitions}


def _name(topic: Any) -> Any:
    return topic.topic_id if hasattr(topic, "topic_id") else topic.topic


@dataclass(slots=True)
class FetchSession:
    """A session."""

    has_ids: bool
    """True if its requests have ids of topics, not names."""
    used: float
    asked: dict[tuple[Any, int], Asked]
    """Requested partitions; ones without changes come first, so that each partition gets its turn."""
    epoch: int = BEGINNING
    known: dict[tuple[Any, int], tuple[int, int]] = field(default_factory=dict)
    """The high watermark and the first offset that the client was told."""

    def update(self, topics: Iterable[Any], forgotten: Iterable[Any]) -> None:
        """Take in what a request adds, changes and takes away."""
        self.asked.update(all_asked(topics))
        for topic in forgotten:
            for index in topic.partitions:
                self.asked.pop((_name(topic), index), None)
                self.known.pop((_name(topic), index), None)

    def changes(self, found: dict[tuple[Any, int], dict[str, Any]]) -> dict[tuple[Any, int], dict[str, Any]]:
        """Choose the answers that are new to the client, and note that it has got them."""
        changed = {}
        for place, values in found.items():
            told = (values["high_watermark"], values.get("log_start_offset", -1))
            if values["records"] or values.get("error_code") or self.known.get(place) != told:
                changed[place], self.known[place] = values, told
            if values["records"]:
                self.asked[place] = self.asked.pop(place)
        return changed

    def advance(self, now: float) -> None:
        """Expect the next request."""
        self.used, self.epoch = now, 1 if self.epoch == _LAST_EPOCH else self.epoch + 1


class FetchSessions(dict[int, FetchSession]):
    """All sessions of a node, by id."""

    _last_id = 0

    def begin(self, session: FetchSession) -> int:
        """Add a session and return its id; 0 if there are as many as there may be, and all are in use."""
        if len(self) >= MOST_SESSIONS:
            oldest = min(self, key=lambda one: self[one].used)
            if session.used - self[oldest].used <= _SECONDS_UNUSED:
                return 0
            del self[oldest]
        self._last_id = self._last_id % _LAST_EPOCH + 1
        self[self._last_id] = session
        session.advance(session.used)
        return self._last_id

    def going_on(self, session_id: int, epoch: int, *, has_ids: bool) -> FetchSession:
        """Find the session that a request goes on with; refuse one that is not there, or expects another request."""
        if session_id not in self:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        session = self[session_id]
        if session.epoch != epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.has_ids != has_ids:
            raise Refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return session
