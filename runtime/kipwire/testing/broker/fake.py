"""A fake broker, or a cluster of them, as tests hold it: methods, which act on the state by `lifecycle` alone.

What a wrong argument refuses is a `ValueError` here, whatever code of Kafka it has below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import kafka_messages
from kafka_messages.enums import ApiKey, CoordinatorType
from kipwire import combine
from kipwire.records import Record, RecordBatch, write_batch
from kipwire.testing.broker import interceptors
from kipwire.testing.broker.apis import served
from kipwire.testing.broker.apis.api import api_key_of
from kipwire.testing.broker.interceptors import Condition, Interceptor, Interceptors
from kipwire.testing.broker.lifecycle import Lifecycle
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.server import Asked, Security, Server
from kipwire.testing.broker.state import TopicPartition
from kipwire.testing.broker.state.classic_groups import Group
from kipwire.testing.broker.state.groups import GroupState
from kipwire.testing.broker.state.nodes import Nodes, host_to_tell
from kipwire.testing.broker.state.topics import Topics

if TYPE_CHECKING:
    from ssl import SSLContext
    from typing import Self

    from kipwire.connection import Request
    from kipwire.message.frames import AnsweredBy
    from kipwire.message.registry import Registry
    from kipwire.records.compression import Compression
    from kipwire.records.model import Header

    AnyApi = ApiKey | int | type[AnsweredBy[Any]]
    When = Condition | None

Q = TypeVar("Q")


class FakeBroker:
    """A Kafka broker in this process, or several, for tests: real clients produce and consume, and tests look inside.

    As a context manager it runs in a thread of its own; with `async with` in the event loop that runs. What it has
    stays when it is stopped, and is there again when it is started again, at the same port. Methods raise ValueError if
    they cannot do what they are asked for: there is no such topic, partition, API or node, or an argument is wrong.

    Example:
        with FakeBroker(topics={"orders": 3}) as broker:
            producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
            producer.send("orders", b"first").get()
            assert [record.value for record in broker.records("orders")] == [b"first"]
    """

    def __init__(
        self,
        topics: Mapping[str, int] | Iterable[str] = (),
        *,
        nodes: int = 1,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised_host: str | None = None,
        advertised_port: int | None = None,
        ssl: SSLContext | None = None,
        users: Mapping[str, str] | None = None,
        auto_create_topics: bool = True,
        default_partitions: int = 1,
        versions: Mapping[ApiKey, range] | Mapping[int, range] | None = None,
        registry: Registry = kafka_messages.REGISTRY,
    ) -> None:
        """Create topics; the broker does not listen yet.

        Args:
            topics: how many partitions each has, by name; or names alone.
            nodes: how many brokers the cluster has; their ids are 1, 2 and so on.
            host: where it listens.
            port: where it listens; 0 is a free port. Each further node has the next port, or a free one, too.
            advertised_host: what it says its host is; by default `host`.
            advertised_port: what it says its port is, such as the one that a container maps to `port`; each further
                node has the next.
            ssl: with a certificate of the server, for connections with TLS.
            users: passwords by user, for connections with SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
            auto_create_topics: whether a topic is created when a client asks for it.
            default_partitions: of a topic created without a count.
            versions: serve fewer versions of some APIs; an empty range serves none.
            registry: of a package with more APIs, such as a vendor's; one is served while `intercept` has a function.
        """
        if isinstance(topics, str):
            raise TypeError(f"topics are names, or partitions by name, as in [{topics!r}]; not a text")
        if nodes < 1:
            raise ValueError(f"nodes must be 1 or more, not {nodes}")
        shown = host_to_tell(advertised_host or host, advertised_port, nodes)
        layout = Nodes(shown, [port and port + more for more in range(nodes)], advertised_port)
        self._node = node = Node(
            served(versions or {}),
            layout,
            Topics(layout.leader_of_new),
            combine(kafka_messages.REGISTRY, registry),
            auto_create_topics,
            default_partitions,
        )
        security = Security(ssl, None if users is None else dict(users))
        self._interceptors, self._asked = Interceptors(node), Asked()
        self._life = Lifecycle(node, lambda: Server(node, self._interceptors, self._asked, security, host))
        self._call = self._life.call
        counts = topics if isinstance(topics, Mapping) else dict.fromkeys(topics, default_partitions)
        for name, count in counts.items():
            self.create_topic(name, count)

    # Its life.

    @property
    def host(self) -> str:
        """The host of the first node, as clients are told."""
        return self._node.listener.host

    @property
    def port(self) -> int:
        """The port of the first node, as clients are told; known once it has started."""
        return self._node.listener.port

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of each node, as clients take them; a RuntimeError before they are known."""
        if not all(one.port for one in self._node.nodes.by_id.values()):
            raise RuntimeError("the fake broker is not running, so its port is not known yet")
        return self._node.nodes.bootstrap_servers

    def __repr__(self) -> str:
        return f"<FakeBroker {f'at {self.bootstrap_servers}' if self._life.is_running else 'not running'}>"

    def start(self) -> None:
        """Listen, in a thread of its own.

        Raises:
            RuntimeError: it has started already.
            OSError: it cannot listen there.
        """
        self._life.start()

    def stop(self) -> None:
        """Close all connections, listen no more, and end the thread.

        Raises:
            Exception: the first error of the fake broker itself, if there was one: its answers were then incomplete.
        """
        self._life.stop(None)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        self._life.stop(error)

    async def __aenter__(self) -> Self:
        await self._life.open()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, at: object) -> None:
        await self._life.close(error)

    def wait_until(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait until something holds, such as `lambda: len(broker.records("orders")) == 5`.

        The condition is called in the broker's thread, after each request. `timeout` is in seconds.

        Raises:
            TimeoutError: it does not hold in time.
            RuntimeError: the broker is not running, or this is the thread of its event loop.
        """
        self._life.wait_until(condition, timeout)

    # Topics and records.

    def create_topic(self, name: str, partitions: int | None = None) -> None:
        """Create a topic, by default with `default_partitions`."""
        count = self._node.default_partitions if partitions is None else partitions
        self._call(lambda: self._node.topics.create(name, count))

    def delete_topic(self, name: str) -> None:
        """Delete a topic, its records and the offsets that groups have of it."""
        self._call(lambda: self._node.delete_topic(self._node.topics.named(name)))

    def topics(self) -> dict[str, int]:
        """Count the partitions of each topic, by name."""
        return self._call(lambda: {name: len(one.partitions) for name, one in self._node.topics.by_name.items()})

    def append(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Iterable[Header] = (),
        timestamp: int | None = None,
        partition: int = 0,
        compression: Compression = "none",
    ) -> int:
        """Append a record to a partition, as if a producer had sent it, and return its offset.

        The topic is created if the settings allow it. `timestamp` is in milliseconds since 1970, by default now.
        """
        when = self._node.milliseconds() if timestamp is None else timestamp
        record = Record(offset=0, timestamp=when, key=key, value=value, headers=headers)
        batch = write_batch([record], compression=compression)

        def append() -> int:
            node = self._node
            if node.auto_create_topics:
                node.create_missing(topic)
            offset = node.topics.log(topic, partition).append(batch)
            node.changes.notify()
            return offset

        return self._call(append)

    def records(self, topic: str, partition: int | None = None, *, committed: bool = False) -> list[Record]:
        """Return the records of a topic, or of a partition of it, by partition and offset, without control records.

        With `committed`, records of transactions that are open or were aborted are left out.
        """

        def read() -> list[Record]:
            found = self._node.topics.named(topic)
            logs = found.partitions if partition is None else [found.partition(partition)]
            return [record for log in logs for record in log.records(is_committed=committed)]

        return self._call(read)

    def batches(self, topic: str, partition: int = 0) -> list[RecordBatch]:
        """Return the batches of a partition, control batches too: their compression, producer and sequence numbers."""
        return self._call(lambda: self._node.topics.log(topic, partition).batches)

    # Requests and groups.

    def requests(self, api: AnyApi | None = None, node: int | None = None) -> list[Request]:
        """Return the requests that have come, of an API or to a node, in their order; the newest 64 MiB of them."""
        key = None if api is None else api_key_of(api, self._node.registry)
        return self._call(lambda: self._asked.found(key, node))

    def clear_requests(self) -> list[Request]:
        """Forget the requests that have come, and return them."""
        return self._call(self._asked.clear)

    def check(self) -> None:
        """Fail the test if a request had no answer, since `clear_requests` or the start: clients only try again.

        Such are APIs and versions that are not served, broken frames, and SASL out of order; not the faults of a test.

        Raises:
            AssertionError: names each of them, with how often it came.
        """
        unanswered = self._call(lambda: dict(self._asked.unanswered))
        if unanswered:
            lines = [f"{reason} ({count:,} times)" if count > 1 else reason for reason, count in unanswered.items()]
            raise AssertionError("\n  ".join(["the fake broker closed connections without an answer:", *lines]))

    def committed_offsets(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offsets of a group, by topic and partition; empty if there is no such group."""
        found = self._call(lambda: dict(self._node.groups.get(group, Group(group)).offsets.committed))
        return {place: one.offset for place, one in sorted(found.items())}

    def group(self, name: str) -> GroupState:
        """Return the state and the members of a group; one without members is `Empty`."""
        return self._call(lambda: (self._node.present_group(name) or Group(name)).view())

    # Functions and faults.

    def intercept(
        self,
        api: type[Q] | ApiKey | int,
        function: Interceptor[Q],
        *,
        times: int | None = None,
        when: When = None,
        node: int | None = None,
    ) -> None:
        """Give requests of an API to a function, which answers, changes, delays, drops or counts them.

        The function gets the request, and `await handle()` gives the response that there would be otherwise. It returns
        a response, of any version, or None for that one, or raises `kipwire.aio.ClosedByHandler`. It may be a coroutine
        function, and runs in the broker's thread. Functions go around each other in their order, with faults between.

        Args:
            api: the class in which the function gets requests, whichever version clients send, and in whose version it
                gets responses; or a key, for requests and responses as they are.
            function: `def function(request, handle)`.
            times: how many requests; None for all, until `clear_faults`.
            when: which requests, as the broker's thread asks; by default any.
            node: requests of one node alone.
        """
        interceptors.expect_function(function)
        step = partial(interceptors.call_function, None if isinstance(api, int) else api, function)
        self._call(lambda: self._interceptors.add(api, step, times, when, node))

    def fail(
        self, api: AnyApi, error: int, *, times: int | None = 1, when: When = None, node: int | None = None
    ) -> None:
        """Answer the next requests of an API with an error code, without doing what they ask for.

        Responses with a code for each topic, partition or group have it in each. `times`, `when` and `node` are as in
        `intercept`, here and below.
        """
        self._call(lambda: self._interceptors.add(api, partial(interceptors.fail, error), times, when, node))

    def delay(
        self, api: AnyApi, seconds: float, *, times: int | None = 1, when: When = None, node: int | None = None
    ) -> None:
        """Handle the next requests of an API later; those after them on the same connection wait."""
        self._call(lambda: self._interceptors.add(api, partial(interceptors.delay, seconds), times, when, node))

    def disconnect(
        self,
        api: AnyApi,
        *,
        handled: bool = False,
        after: int = 0,
        received: int | None = None,
        times: int | None = 1,
        when: When = None,
        node: int | None = None,
    ) -> None:
        """Close the connection instead of answering the next requests of an API.

        With `handled` they take effect before, so that only the answer is lost. So they do with `after`, the number of
        bytes of the answer that are sent. `received` is the number of bytes of the request that come before; the rest
        is not read. The first six say the API. The size of a message counts, too.
        """
        if received is not None and (received < 1 or handled or after or when is not None):
            raise ValueError(
                "received= must be 1 or more, without handled=, after= and when=, which need the whole request"
            )
        step = partial(interceptors.disconnect, handled, after)
        self._call(lambda: self._interceptors.add(api, step, times, when, node, received))

    def clear_faults(self) -> None:
        """Let no fault happen any more, and remove all functions."""
        self._call(self._interceptors.clear)

    # Nodes and time.

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of the nodes."""
        return tuple(self._node.nodes.by_id)

    def advance(self, seconds: float) -> None:
        """Move the clock of sessions, rebalances and transactions forward; it goes on as usual, too."""
        if seconds < 0:
            raise ValueError(f"seconds must be 0 or more, not {seconds}")
        self._call(lambda: self._node.advance(seconds))

    def leader(self, topic: str, partition: int = 0) -> int:
        """Return the id of the node that leads a partition."""
        return self._call(lambda: self._node.topics.log(topic, partition).leader)

    def move_leader(self, topic: str, partition: int = 0, *, to: int) -> None:
        """Let another node that runs lead a partition, in its next epoch. A Fetch that waits gets an error."""

        def move() -> None:
            self._node.nodes.expect_running(to)
            self._node.topics.log(topic, partition).move(to)

        self._life.change(move)

    def coordinator(self, *, group: str | None = None, transactional_id: str | None = None) -> int:
        """Return the id of the node that coordinates a group or a transactional id, one of which is given."""
        kind, key = _coordinated(group, transactional_id)
        return self._call(lambda: self._node.nodes.coordinator(kind, key))

    def move_coordinator(self, *, group: str | None = None, transactional_id: str | None = None, to: int) -> None:
        """Let another node that runs coordinate a group or a transactional id, and all that have its hash in Kafka."""
        kind, key = _coordinated(group, transactional_id)
        self._life.change(lambda: self._node.nodes.move_coordinator(kind, key, to))

    @property
    def controller(self) -> int:
        """The id of the node that creates and deletes topics."""
        return self._call(lambda: self._node.nodes.controller)

    def move_controller(self, *, to: int) -> None:
        """Let another node that runs be the controller."""
        self._life.change(lambda: self._node.nodes.move_controller(to))

    def stop_node(self, node: int) -> None:
        """Close the connections of a node, and listen there no more. What it did goes to the next node that runs.

        With `async with`, connections are closed when the event loop goes on.
        """
        self._call(lambda: self._node.stop(node))
        self._life.update(node)

    def is_running(self, node: int) -> bool:
        """Tell whether a node has not been stopped."""
        return self._call(lambda: self._node.nodes[node].is_running)

    def start_node(self, node: int) -> None:
        """Let a node that was stopped or paused go on. It leads nothing until it is given something.

        Raises:
            OSError: it cannot listen at its port any more.
        """
        self._life.change(lambda: self._node.nodes.start(node))
        self._life.update(node)

    def pause_node(self, node: int) -> None:
        """Let a node take connections and requests without answering, until `start_node`. It stays what it is."""
        self._life.change(lambda: self._node.nodes.pause(node))


def _coordinated(group: str | None, transactional_id: str | None) -> tuple[CoordinatorType, str]:
    """Return the kind and the name of what is coordinated; one of two names is given."""
    if group is not None and transactional_id is None:
        return CoordinatorType.GROUP, group
    if transactional_id is not None and group is None:
        return CoordinatorType.TRANSACTION, transactional_id
    raise ValueError("give either a group or a transactional id")
