"""What tests hold of a fake broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.records import Record, RecordBatch, write_batch
from kipwire.testing.broker import faults
from kipwire.testing.broker.apis import SERVED
from kipwire.testing.broker.node import Node, Settings
from kipwire.testing.broker.server import Running, Server, start_thread
from kipwire.testing.broker.state.groups import Group, GroupState, view_of
from kipwire.testing.broker.state.offsets import TopicPartition
from kipwire.testing.broker.state.refusals import Refused

if TYPE_CHECKING:
    from typing import Self

    from kipwire.connection import Request
    from kipwire.records.compression import Compression
    from kipwire.records.model import Header

T = TypeVar("T")

_SECONDS_BETWEEN_LOOKS = 0.05
"""Of `wait_until`, since time passes without a request."""


class FakeBroker:
    """A Kafka broker in this process, for tests: real clients produce and consume, and tests look inside.

    As a context manager it runs in a thread of its own; with `async with` in the event loop that runs. What it has
    stays when it is stopped, and is there again when it is started again, at the same port.

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
        host: str = "127.0.0.1",
        port: int = 0,
        auto_create_topics: bool = True,
        default_partitions: int = 1,
        versions: Mapping[ApiKey, range] | Mapping[int, range] | None = None,
    ) -> None:
        """Create topics; the broker does not listen yet.

        Args:
            topics: how many partitions each has, by name; or names alone.
            host: where it listens, and what it says its address is.
            port: where it listens; 0 is a free port.
            auto_create_topics: whether a topic is created when a client asks for it.
            default_partitions: of a topic for which nobody says how many.
            versions: serve fewer versions of some APIs, by `ApiKey`; an empty range serves none.

        Raises:
            ValueError: a topic cannot be created, or an API is not served in such versions.
        """
        served = SERVED | {int(key): _expect_served(key, some) for key, some in (versions or {}).items()}
        settings = Settings(auto_create_topics, default_partitions)
        self._node = Node(settings, {key: some for key, some in served.items() if some}, host, port)
        self._faults = faults.Faults()
        self._requests: list[Request] = []
        self._running: Running | None = None
        counts = topics if isinstance(topics, Mapping) else dict.fromkeys(topics, default_partitions)
        for name, count in counts.items():
            self.create_topic(name, count)

    @property
    def host(self) -> str:
        """Where the broker listens."""
        return self._node.host

    @property
    def port(self) -> int:
        """The port that it listens at; known once it has started."""
        return self._node.port

    @property
    def bootstrap_servers(self) -> str:
        """Host and port, as clients take them."""
        return f"{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"<FakeBroker {'not running' if self._running is None else f'at {self.bootstrap_servers}'}>"

    def start(self) -> None:
        """Listen, in a thread of its own.

        Raises:
            RuntimeError: it has started already.
            OSError: it cannot listen there.
        """
        self._expect_stopped()
        self._running = start_thread(Server(self._node, self._faults, self._requests))

    def stop(self) -> None:
        """Close all connections, listen no more, and end the thread.

        Raises:
            Exception: the first error of the fake broker itself, if there was one: its answers were then incomplete.
        """
        failure = self._stop()
        if failure is not None:
            raise failure

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        failure = self._stop()
        if failure is not None and error is None:  # the test's own error says more
            raise failure

    async def __aenter__(self) -> Self:
        self._expect_stopped()
        server = Server(self._node, self._faults, self._requests)
        await server.open()
        self._running = Running(server)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, at: object) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.server.close()
            if running.server.failure is not None and error is None:
                raise running.server.failure

    def create_topic(self, name: str, partitions: int | None = None) -> None:
        """Create a topic.

        Args:
            name: of the topic.
            partitions: how many; by default `default_partitions`.

        Raises:
            ValueError: there is such a topic, or the name is not valid.
        """
        count = self._node.settings.default_partitions if partitions is None else partitions
        self._call(lambda: self._node.topics.create(name, count))

    def delete_topic(self, name: str) -> None:
        """Delete a topic, its records and the offsets that groups have of it.

        Raises:
            ValueError: there is no such topic.
        """
        self._call(lambda: self._node.delete_topic(self._node.topics.named(name)))

    def topics(self) -> dict[str, int]:
        """How many partitions each topic has, by name."""
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
        """The offset of a record that is now in a partition, as if a producer had sent it.

        Args:
            topic: created, if the settings allow it.
            value: of the record.
            key: of the record.
            headers: of the record.
            timestamp: milliseconds since 1970; by default the time now.
            partition: of the topic.
            compression: of the batch.

        Raises:
            ValueError: there is no such topic or partition.
        """
        when = time.time_ns() // 1_000_000 if timestamp is None else timestamp
        record = Record(offset=0, timestamp=when, key=key, value=value, headers=headers)
        batch = write_batch([record], compression=compression)

        def append() -> int:
            node = self._node
            if node.settings.auto_create_topics and topic not in node.topics.by_name:
                node.topics.create(topic, node.settings.default_partitions)
            offset = node.topics.named(topic).partition(partition).append(batch)
            node.changes.notify()
            return offset

        return self._call(append)

    def records(self, topic: str, partition: int | None = None, *, committed: bool = False) -> list[Record]:
        """The records of a topic, by partition and offset, without control records.

        Args:
            topic: its name.
            partition: that alone; by default all.
            committed: leave out records of transactions that are open or were aborted.

        Raises:
            ValueError: there is no such topic or partition.
        """

        def read() -> list[Record]:
            found = self._node.topics.named(topic)
            logs = found.partitions if partition is None else [found.partition(partition)]
            return [record for log in logs for record in log.records(is_committed=committed)]

        return self._call(read)

    def batches(self, topic: str, partition: int = 0) -> list[RecordBatch]:
        """The batches of a partition, control batches too: their compression, producer and sequence numbers.

        Raises:
            ValueError: there is no such topic or partition.
        """
        return self._call(lambda: [one.batch for one in self._node.topics.named(topic).partition(partition).stored])

    def requests(self, api: ApiKey | int | None = None) -> list[Request]:
        """The requests that have come, in their order: their versions, headers and bodies.

        Args:
            api: those of one API alone.
        """
        return self._call(lambda: [one for one in self._requests if api is None or one.api_key == api])

    def clear_requests(self) -> list[Request]:
        """Forget the requests that have come; what is forgotten is returned."""

        def clear() -> list[Request]:
            cleared = self._requests.copy()
            self._requests.clear()
            return cleared

        return self._call(clear)

    def committed_offsets(self, group: str) -> dict[TopicPartition, int]:
        """The committed offsets of a group, by topic and partition; empty if there is no such group."""

        def read() -> dict[TopicPartition, int]:
            offsets = self._node.groups.get(group, Group(group)).offsets
            return {place: one.offset for place, one in sorted(offsets.committed.items())}

        return self._call(read)

    def group(self, name: str) -> GroupState:
        """The state and the members of a group; one that nobody has joined is `Empty`."""

        def look() -> GroupState:
            found = self._node.groups.get(name, Group(name))
            if found.expire(self._node.now()):
                self._node.changes.notify()
            return view_of(found)

        return self._call(look)

    def fail(
        self,
        api: ApiKey | int,
        error: int,
        *,
        times: int | None = 1,
        when: Callable[[Request], bool] | None = None,
    ) -> None:
        """Answer the next requests of an API with an error code, without doing what they ask for.

        Responses with a code for each topic, partition or group have it in each.

        Args:
            api: such as `ApiKey.PRODUCE`.
            error: such as `ErrorCode.NOT_LEADER_OR_FOLLOWER`.
            times: how many requests; None for all, until `clear_faults`.
            when: which requests; it is called in the broker's thread. By default any.

        Raises:
            ValueError: the API is not served, or `times` is below 1.
        """
        self._add_fault(api, faults.Fail(error), times, when)

    def delay(
        self,
        api: ApiKey | int,
        seconds: float,
        *,
        times: int | None = 1,
        when: Callable[[Request], bool] | None = None,
    ) -> None:
        """Handle the next requests of an API later; those after them on the same connection wait.

        Args:
            api: as in `fail`.
            seconds: how much later.
            times: as in `fail`.
            when: as in `fail`.

        Raises:
            ValueError: as `fail`.
        """
        self._add_fault(api, faults.Delay(seconds), times, when)

    def disconnect(
        self,
        api: ApiKey | int,
        *,
        handled: bool = False,
        times: int | None = 1,
        when: Callable[[Request], bool] | None = None,
    ) -> None:
        """Close the connection instead of answering the next requests of an API.

        Args:
            api: as in `fail`.
            handled: do what they ask for before, so that only the answer is lost.
            times: as in `fail`.
            when: as in `fail`.

        Raises:
            ValueError: as `fail`.
        """
        self._add_fault(api, faults.Disconnect(handled), times, when)

    def clear_faults(self) -> None:
        """Let no fault happen any more."""
        self._call(self._faults.clear)

    def wait_until(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait until something holds, such as `lambda: len(broker.records("orders")) == 5`.

        Args:
            condition: called in the broker's thread, after each request that was handled.
            timeout: seconds.

        Raises:
            TimeoutError: it does not hold in time.
            RuntimeError: the broker is not running, or this is the thread of its event loop.
        """
        running = self._running
        if running is None:
            raise RuntimeError("the fake broker is not running, so nothing changes")
        if running.is_here:
            raise RuntimeError("wait_until would block the event loop; call it in another thread: asyncio.to_thread")

        async def wait() -> None:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self._node.changes.wait(_SECONDS_BETWEEN_LOOKS)

        asyncio.run_coroutine_threadsafe(wait(), running.loop).result()

    def _add_fault(
        self, api: int, effect: faults.Effect, times: int | None, when: Callable[[Request], bool] | None
    ) -> None:
        if api not in self._node.served:
            raise ValueError(f"the fake broker does not serve {ApiKey.text(api)}, so no such request can have a fault")
        if times is not None and times < 1:
            raise ValueError(f"a fault cannot happen {times} times; give 1 or more, or None for always")
        self._call(lambda: self._faults.add(api, effect, times, when))

    def _call(self, action: Callable[[], T]) -> T:
        """What an action gives, in the thread of the event loop, which alone touches the state while it runs.

        Raises:
            ValueError: the broker refuses it.
        """
        running = self._running

        def at_this_time() -> T:
            self._node.expire_transactions()
            return action()

        try:
            return at_this_time() if running is None else running.call(at_this_time)
        except Refused as error:
            raise ValueError(error.message or ErrorCode.text(error.error)) from None

    def _stop(self) -> Exception | None:
        """End the thread; the first error of the fake broker itself, if there was one."""
        running, self._running = self._running, None
        return None if running is None else running.stop()

    def _expect_stopped(self) -> None:
        if self._running is not None:
            raise RuntimeError(f"the fake broker runs already, at {self.bootstrap_servers}")


def _expect_served(key: int, versions: range) -> range:
    """The versions, if the fake broker can serve them."""
    served = SERVED.get(key, range(0))
    if not all(one in served for one in versions):
        has = f"{served[0]} to {served[-1]}" if served else "none"
        raise ValueError(f"the fake broker cannot serve {ApiKey.text(key)} in {versions}; the versions it has: {has}")
    return versions
