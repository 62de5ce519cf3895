"""Fetch sessions (KIP-227): which partitions a client asks for, and what it was told of them last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.state.refusals import Refused

MOST_SESSIONS = 1000
"""As in Kafka by default, of `max.incremental.fetch.session.cache.slots`."""
_SECONDS_UNUSED = 120.0
"""After which a session may give way to another one, as in Kafka by default."""
OUTSIDE, BEGINNING = -1, 0
"""Epochs of requests with all their partitions: outside a session, and to begin one."""
_LAST_EPOCH = 2**31 - 1


class Asked(NamedTuple):
    """A partition that a client asks for."""

    topic: Any
    partition: Any

    @property
    def place(self) -> tuple[Any, int]:
        """The topic by name or id, and the partition."""
        return _name(self.topic), self.partition.partition


def all_asked(topics: Iterable[Any]) -> dict[tuple[Any, int], Asked]:
    """The partitions of a request."""
    return {one.place: one for topic in topics for one in (Asked(topic, partition) for partition in topic.partitions)}


def _name(topic: Any) -> Any:
    return topic.topic_id if hasattr(topic, "topic_id") else topic.topic


@dataclass(slots=True)
class FetchSession:
    """A session."""

    has_ids: bool
    """True if its requests have ids of topics, not names."""
    used: float
    asked: dict[tuple[Any, int], Asked]
    """Those without changes come before the others, so that each partition gets its turn."""
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
        """The answers that say anything new, which the client then has been told."""
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


class FetchSessions:
    """All sessions, by id."""

    def __init__(self) -> None:
        self._by_id: dict[int, FetchSession] = {}
        self._last_id = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def clear(self) -> None:
        """Forget all sessions."""
        self._by_id.clear()

    def end(self, session_id: int) -> None:
        """Forget a session, if there is one of this id."""
        self._by_id.pop(session_id, None)

    def begin(self, session: FetchSession) -> int:
        """The id of a new session; 0 if there are as many as there may be, and all are in use."""
        if len(self._by_id) >= MOST_SESSIONS:
            oldest = min(self._by_id, key=lambda one: self._by_id[one].used)
            if session.used - self._by_id[oldest].used <= _SECONDS_UNUSED:
                return 0
            self.end(oldest)
        self._last_id = self._last_id % _LAST_EPOCH + 1
        self._by_id[self._last_id] = session
        session.advance(session.used)
        return self._last_id

    def going_on(self, session_id: int, epoch: int, *, has_ids: bool) -> FetchSession:
        """The session that a request goes on with.

        Raises:
            Refused: there is none, or it expects another request.
        """
        session = self._by_id.get(session_id)
        if session is None:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.has_ids != has_ids:
            raise Refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return session
