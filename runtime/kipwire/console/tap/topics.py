"""Topics of exchanges, by name where it is known: newer requests have the ids of topics alone."""

from __future__ import annotations

from collections import OrderedDict
from uuid import UUID

from kipwire.description.json_codec import uuid_to_json
from kipwire.traffic.exchanges import Exchange

_MOST_TOPICS = 65536
"""The most topics whose ids are known; names have at most 249 characters in Kafka."""
_LONGEST_NAME = 249
_OF_METADATA = UUID(int=1), "__cluster_metadata"
"""The id that Kafka reserves for the topic of its metadata, which no response names."""


class TopicNames:
    """Names of topics by id, learned from messages with both, such as Metadata responses."""

    def __init__(self) -> None:
        self._names: OrderedDict[UUID, str] = OrderedDict([_OF_METADATA])

    def learn(self, exchange: Exchange) -> None:
        """Note the names that an exchange has beside ids; the name noted longest ago is dropped beyond the limit."""
        for row in exchange:
            for id_, name in () if row is None else row.look.names_of_ids:
                self._names[id_] = name[:_LONGEST_NAME]
                self._names.move_to_end(id_)
                if len(self._names) > _MOST_TOPICS:
                    self._names.popitem(last=False)

    def of(self, topic: str | UUID) -> str | None:
        """Return the name of a topic; None for an id whose name is not known."""
        return topic if isinstance(topic, str) else self._names.get(topic)

    def shown(self, exchange: Exchange) -> list[str]:
        """List the topics of the request, or of the response if the request names none, as in sessions of Fetch.

        An id without a known name is in the form of JSON, such as `rnNOZ-0XRK2ojrbS3GDUwA`.
        """
        request, response = exchange
        topics = request.look.topics if request is not None else ()
        if not topics and response is not None:
            topics = response.look.topics
        return [topic if isinstance(topic, str) else self._names.get(topic) or uuid_to_json(topic) for topic in topics]
