"""Requests to a broker over a socket, and the parts of each answer that two brokers must have in common."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Set
from time import monotonic, sleep
from typing import Any

import kafka_messages
from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.connection import ClientConnection
from kipwire.model.errors import DecodeError
from kipwire.records import read_batches
from tests.support.subjects.fake_broker_requests import request

NOT_YET = frozenset(
    (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
)
"""Errors of a Kafka that is not ready; the request is sent again. The fake broker is ready at once."""
STILL = frozenset((ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER))
"""Errors of a topic that Kafka has just created, and that its broker does not know yet."""
ENDING = frozenset((ErrorCode.CONCURRENT_TRANSACTIONS,))
"""The error while Kafka ends a transaction, which it does after it has answered."""
CLOSED, NO_ANSWER = "closed", "no answer"

_SECONDS_TO_BE_READY = 20.0
_SECONDS_TO_ANSWER = 4.0
_CODES = ("error_code", "partition_error_code")
_COMPARED = {
    *("base_offset", "log_start_offset", "high_watermark", "last_stable_offset", "offset", "end_offset"),
    *("committed_offset", "metadata", "leader_epoch", "producer_epoch", "first_offset"),
    *("num_partitions", "group_state", "generation_id", "protocol_name", "protocol_type"),
}
"""Values that are compared beside error codes and records."""


class Talk:
    """Requests to one broker; it keeps the compared parts of each answer, by the name of the case."""

    def __init__(self, host: str, port: int, name: str) -> None:
        """Talk to a broker.

        Args:
            host: where it listens.
            port: where it listens.
            name: what the names of topics, groups and transactional ids begin with.
        """
        self.name = name
        self.answers: dict[str, Any] = {}
        self._address = host, port
        self._socket: socket.socket | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(
        self,
        case: str,
        api: ApiKey,
        version: int,
        retried: frozenset[ErrorCode] = NOT_YET,
        *,
        left_out: tuple[str, ...] = (),
        also: tuple[str, ...] = (),
        until: Callable[[Any], bool] = lambda found: True,
        **values: Any,
    ) -> Any:
        """Send a request, again while Kafka is not ready; return the response, or None if there is none.

        Args:
            case: its name, which no other case has.
            api: such as `ApiKey.PRODUCE`.
            version: of the request.
            retried: error codes that are expected to go away.
            left_out: values of the answer that are not compared.
            also: values that are compared here beside those that always are.
            until: whether the response is whole; Kafka may give a part at first.
            values: of the request; those that its version does not have are left out.
        """
        assert case not in self.answers, case
        latest = monotonic() + _SECONDS_TO_BE_READY
        while True:
            found = self._once(request(api, version, values).body)
            shown = found if isinstance(found, str) else compared(found, (_COMPARED | set(also)) - set(left_out))
            is_ready = not any(f'"{one.name}"' in json.dumps(shown) for one in retried)
            if (is_ready and (isinstance(found, str) or until(found))) or monotonic() > latest:
                self.answers[case] = shown
                return None if isinstance(found, str) else found
            sleep(0.1)

    def _once(self, body: Any) -> Any:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=_SECONDS_TO_ANSWER)
            self._connection = ClientConnection(kafka_messages.REGISTRY, "tests")
        self._socket.sendall(self._connection.send(body))
        try:
            while data := self._socket.recv(65536):
                self._connection.receive_data(data)
                for event in self._connection.events():
                    return kafka_messages.REGISTRY.decode_response(event.raw, type(body)).body
        except TimeoutError:
            self.close()
            return NO_ANSWER
        except ConnectionResetError:
            pass
        self.close()
        return CLOSED


def compared(struct: Any, names: Set[str]) -> dict[str, Any]:
    """Return the compared parts of a message: error codes by name, chosen values, records.

    Elements of arrays are sorted, since Kafka answers some in no order.
    """
    found: dict[str, Any] = {}
    for field in struct.ATTRIBUTES:
        value = getattr(struct, field.name)
        if field.name in _CODES:
            found[field.name] = ErrorCode.text(value).partition(" ")[2] or str(value)
        elif field.name in names:
            plain = value.hex() if isinstance(value, bytes) else value
            found[field.name] = sorted(plain) if isinstance(plain, list) else plain
        elif field.name == "records":
            found[field.name] = _values(value)
        elif field.struct is not None and value is not None:
            below = [compared(one, names) for one in (value if field.array else [value])]
            if any(below):
                found[field.name] = sorted(below, key=json.dumps)
    return found


def _values(data: Any) -> list[str]:
    """Return the records of a response: their values, or the kind of batch that they are in."""
    try:
        batches = list(read_batches(bytes(data or b"")))
        return [
            "control" if batch.is_control else (record.value or b"null").decode()
            for batch in batches
            for record in batch.records
        ]
    except DecodeError as error:
        return [f"broken: {error.reason}"]
