"""Three clients that others wrote, each under the same few functions."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer
from kafka import KafkaConsumer, KafkaProducer

TIMEOUT = 20.0
"""Seconds that a test waits for anything."""
HEARTBEAT, SESSION = 100, 6000
"""Milliseconds: soon enough to notice a rebalance at once."""
POLL = 1000
"""Milliseconds. kafka-python 3.0.12 may never finish joining if a shorter poll ends while it joins."""


class Client(ABC):
    """Common interface of the client libraries."""

    @abstractmethod
    def send(
        self, address: str, topic: str, values: Iterable[bytes], *, codec: str = "none", acks: int | str = "all"
    ) -> None:
        """Produce records to partition 0, each once, and wait until they are acknowledged."""

    @abstractmethod
    def consume(self, address: str, topic: str, group: str, got: list[bytes], is_enough: Callable[[], bool]) -> None:
        """Consume as a member of a group and commit, until it is enough; then leave."""

    def read(self, address: str, topic: str, count: int, group: str) -> list[bytes]:
        """Consume `count` records as the only member of a group."""
        got: list[bytes] = []
        self.consume(address, topic, group, got, _has(got, count))
        return got


def _has(got: list[bytes], count: int) -> Callable[[], bool]:
    """Return a condition that is true once `count` records have come, and fails after a while."""
    until = monotonic() + TIMEOUT

    def is_enough() -> bool:
        assert monotonic() < until, f"{len(got)} of {count} records have come"
        return len(got) >= count

    return is_enough


class KafkaPython(Client):
    """kafka-python."""

    def send(
        self, address: str, topic: str, values: Iterable[bytes], *, codec: str = "none", acks: int | str = "all"
    ) -> None:
        settings: Any = {"compression_type": None if codec == "none" else codec, "acks": acks}
        producer = KafkaProducer(
            bootstrap_servers=address,
            **settings,
            enable_idempotence=acks == "all",
            linger_ms=20,
            retry_backoff_ms=20,
        )
        try:
            futures = [producer.send(topic, value=value, partition=0) for value in values]
            producer.flush(TIMEOUT)
            for future in futures:
                future.get(timeout=TIMEOUT)
        finally:
            producer.close(TIMEOUT)

    def consume(self, address: str, topic: str, group: str, got: list[bytes], is_enough: Callable[[], bool]) -> None:
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=address,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=HEARTBEAT,
            session_timeout_ms=SESSION,
            retry_backoff_ms=20,
        )
        try:
            while not is_enough():
                for records in consumer.poll(timeout_ms=POLL).values():
                    got += [record.value for record in records]
                    consumer.commit()
        finally:
            consumer.close()


class AioKafka(Client):
    """aiokafka, with an event loop for each call."""

    def send(
        self, address: str, topic: str, values: Iterable[bytes], *, codec: str = "none", acks: int | str = "all"
    ) -> None:
        async def send() -> None:
            producer = AIOKafkaProducer(
                bootstrap_servers=address,
                compression_type=None if codec == "none" else codec,
                acks=acks,
                enable_idempotence=acks == "all",
                linger_ms=20,
                retry_backoff_ms=20,
            )
            async with producer:
                futures = [await producer.send(topic, value=value, partition=0) for value in values]
                await producer.flush()
                await asyncio.gather(*futures)

        asyncio.run(asyncio.wait_for(send(), TIMEOUT))

    def consume(self, address: str, topic: str, group: str, got: list[bytes], is_enough: Callable[[], bool]) -> None:
        asyncio.run(self._consume(address, topic, group, got, is_enough))

    async def _consume(
        self, address: str, topic: str, group: str, got: list[bytes], is_enough: Callable[[], bool]
    ) -> None:
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=address,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=HEARTBEAT,
            session_timeout_ms=SESSION,
            retry_backoff_ms=20,
        )
        async with consumer:
            while not is_enough():
                for records in (await consumer.getmany(timeout_ms=50)).values():
                    got += [record.value or b"" for record in records]
                    await consumer.commit()


class Confluent(Client):
    """confluent-kafka, which is librdkafka."""

    def send(
        self, address: str, topic: str, values: Iterable[bytes], *, codec: str = "none", acks: int | str = "all"
    ) -> None:
        producer = Producer(
            {
                "bootstrap.servers": address,
                "compression.type": codec,
                "acks": acks,
                "enable.idempotence": acks == "all",
                "linger.ms": 20,
                "retry.backoff.ms": 20,
                "log_level": 0,
            }
        )
        delivered: list[Any] = []
        for value in values:
            producer.produce(topic, value, partition=0, on_delivery=lambda error, _: delivered.append(error))
        assert producer.flush(TIMEOUT) == 0
        for error in delivered:
            if error is not None:
                raise KafkaException(error)

    def consume(self, address: str, topic: str, group: str, got: list[bytes], is_enough: Callable[[], bool]) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": HEARTBEAT,
                "session.timeout.ms": SESSION,
                "check.crcs": True,
                "log_level": 0,
            }
        )
        consumer.subscribe([topic])
        try:
            while not is_enough():
                message = consumer.poll(0.05)
                if message is not None and not message.error():
                    value = message.value()
                    assert isinstance(value, bytes)
                    got.append(value)
                    consumer.commit(message=message, asynchronous=False)
        finally:
            consumer.close()


CLIENTS: dict[str, Client] = {
    "kafka-python": KafkaPython(),
    "aiokafka": AioKafka(),
    "confluent-kafka": Confluent(),
}


def with_slow(*slow: str) -> list[Any]:
    """Return the names of all clients as parameters; a test with a slow client, which takes seconds, runs at night."""
    return [pytest.param(name, marks=pytest.mark.night) if name in slow else name for name in CLIENTS]


class Member:
    """A consumer in a thread of its own."""

    def __init__(self, client: Client, address: str, topic: str, group: str) -> None:
        self.got: list[bytes] = []
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(client, address, topic, group), daemon=True)
        self._thread.start()

    def _run(self, client: Client, address: str, topic: str, group: str) -> None:
        try:
            client.consume(address, topic, group, self.got, self._stop.is_set)
        except BaseException as error:
            self._error = error

    def leave(self) -> None:
        """Let it commit and leave the group."""
        self._stop.set()
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error
