"""A request that is given up leaves its connection usable, and no other request gets its response."""

from __future__ import annotations

import asyncio
import gc
from math import inf
from random import Random
from typing import Any

import pytest

from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.produce_request.v12 import PartitionProduceData, ProduceRequest, TopicProduceData
from kipwire import Message
from kipwire.aio import Closed, Connection, TimedOut, connect, serve
from kipwire.aio.link import Link
from kipwire.connection import Request, Response
from tests.support.subjects.peers import REGISTRY, Broker, peer, run, until


def beat(number: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=str(number))


def test_a_cancelled_request_leaves_its_connection_and_its_response_is_dropped() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve(in_flight=10) as server, connect(server.address) as connection:
            broker.may_answer.clear()
            tasks = [asyncio.create_task(connection.request(beat(number))) for number in range(4)]
            await until(lambda: len(broker.requests) == 4)
            tasks[0].cancel()
            tasks[2].cancel()
            await asyncio.sleep(0)
            broker.may_answer.set()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(results[0], asyncio.CancelledError) and isinstance(results[2], asyncio.CancelledError)
            assert [results[1].throttle_time_ms, results[3].throttle_time_ms] == [1, 3]  # type: ignore[union-attr]
            assert (await connection.request(beat(5))).throttle_time_ms == 5

    run(work())


def test_a_request_that_was_cancelled_before_its_turn_is_not_sent() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve() as server, connect(server.address, in_flight=1) as connection:
            broker.may_answer.clear()
            tasks = [asyncio.create_task(connection.request(beat(number))) for number in range(5)]
            await until(lambda: broker.requests)
            for number in (1, 3):
                tasks[number].cancel()
            await asyncio.sleep(0)
            broker.may_answer.set()
            assert [(await tasks[number]).throttle_time_ms for number in (0, 2, 4)] == [0, 2, 4]
        assert groups(broker) == ["0", "2", "4"]

    run(work())


def groups(broker: Broker) -> list[str]:
    """Return the groups of the heartbeats that a broker got."""
    bodies: list[Any] = [one.body for one in broker.requests]
    return [body.group_id for body in bodies]


def test_one_that_is_cancelled_with_its_turn_gives_it_to_the_next() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve() as server, connect(server.address, in_flight=1) as connection:
            broker.may_answer.clear()
            tasks = [asyncio.create_task(connection.request(beat(number))) for number in range(3)]
            await until(lambda: broker.requests)
            turns = link_of(connection)._turns
            broker.may_answer.set()
            while not turns[0].done():
                await asyncio.sleep(0)
            tasks[1].cancel()
            assert (await tasks[2]).throttle_time_ms == 2
            await asyncio.gather(*tasks, return_exceptions=True)
        assert groups(broker) == ["0", "2"]

    run(work())


def link_of(connection: Connection) -> Link:
    return connection._link


def test_a_response_that_comes_too_late_is_dropped() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve(in_flight=10) as server, connect(server.address) as connection:
            broker.may_answer.clear()
            patient = asyncio.create_task(connection.request(beat(1), timeout=inf))
            with pytest.raises(TimedOut, match=r"timed out waiting for the response to HeartbeatRequest v4") as caught:
                await connection.request(beat(2), timeout=0.01)
            assert caught.value.address == server.address
            with pytest.raises(TimedOut, match=r"timed out waiting for the response to the request with API key 12 v4"):
                await connection.exchange(REGISTRY.encode_request(beat(3), 0), timeout=0.01)
            later = asyncio.create_task(connection.request(beat(4), timeout=50))
            with pytest.raises(TimedOut):
                await connection.request(beat(5), timeout=0.02)
            broker.may_answer.set()
            assert ((await patient).throttle_time_ms, (await later).throttle_time_ms) == (1, 4)
            assert (await connection.request(beat(6))).throttle_time_ms == 6

    run(work())


def test_the_timeout_of_the_connection_is_that_of_each_request() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve(in_flight=10) as server, connect(server.address, timeout=0.2) as connection:
            broker.may_answer.clear()
            results = await asyncio.gather(*map(connection.request, map(beat, range(3))), return_exceptions=True)
            assert [type(one) for one in results] == [TimedOut] * 3
            broker.may_answer.set()
            assert (await connection.request(beat(6))).throttle_time_ms == 6

    run(work())


def test_a_request_times_out_before_its_turn_too() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve() as server, connect(server.address, in_flight=1) as connection:
            broker.may_answer.clear()
            first = asyncio.create_task(connection.request(beat(1)))
            await asyncio.sleep(0)
            with pytest.raises(
                TimedOut, match=r"the request could not be sent in time: the broker reads too slowly, or"
            ):
                await connection.request(beat(2), timeout=0.01)
            broker.may_answer.set()
            assert (await first).throttle_time_ms == 1
            assert (await connection.request(beat(3))).throttle_time_ms == 3
        assert groups(broker) == ["1", "3"]

    run(work())


def test_no_more_are_in_flight_than_allowed_and_they_go_in_their_order() -> None:
    broker = Broker()
    counts: list[int] = []

    async def work() -> None:
        async def handle(request: Request) -> Message | bytes | None:
            counts.append(link_of(connection)._wire.in_flight)
            return await broker(request)

        serving, versions = serve(handle, in_flight=50), {12: range(5)}
        async with serving as server, connect(server.address, versions=versions, in_flight=3) as connection:
            answers = await asyncio.gather(*map(connection.request, map(beat, range(40))))
            assert [one.throttle_time_ms for one in answers] == list(range(40))
        assert groups(broker) == [str(one) for one in range(40)]

    run(work())
    assert max(counts) == 3


def produce_of(size: int) -> ProduceRequest:
    data = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=bytes(size))])
    return ProduceRequest(acks=0, topic_data=[data])


def test_who_writes_waits_for_a_broker_that_does_not_read() -> None:
    async def work() -> None:
        read_on = asyncio.Event()
        received = 0

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal received
            await read_on.wait()
            while data := await reader.read(1 << 20):
                received += len(data)

        async with peer(talk) as address:
            async with connect(address, versions={0: range(13)}) as connection:
                sent = 0

                async def produce() -> None:
                    nonlocal sent
                    for _ in range(64):
                        await connection.send(produce_of(1 << 20))
                        sent += 1

                producing = asyncio.create_task(produce())
                await until(lambda: link_of(connection).is_full)
                with pytest.raises(TimedOut, match="the broker reads too slowly"):
                    await connection.request(beat(1), version=4, timeout=0.01)
                assert sent < 32  # most of 64 MiB are in no buffer
                read_on.set()
                await producing
            await until(lambda: received > 64 << 20)

    run(work())


def test_all_who_wait_learn_that_the_connection_is_closed() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve(in_flight=2) as server:
            connection = await connect(server.address, in_flight=2)
            broker.may_answer.clear()
            tasks = [asyncio.create_task(connection.request(beat(number))) for number in range(6)]
            await until(lambda: len(broker.requests) == 2)
            await connection.close()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(one) for one in results] == [Closed] * 6
            assert len(set(map(id, results))) == 6  # each with a trace of its own
            broker.may_answer.set()

    run(work())


@pytest.mark.parametrize(
    ("count", "seed"), [(300, 1), *(pytest.param(10_000, seed, marks=pytest.mark.night) for seed in (1, 2))]
)
def test_random_cancellations_leave_nothing_and_mix_up_nothing(count: int, seed: int) -> None:
    """Some of many requests are cancelled at any time: before their turn, in flight, with the response at hand."""
    random = Random(seed)
    broker = Broker()
    before = responses()

    async def handle(request: Request) -> Message | bytes | None:
        for _ in range(random.randrange(4)):
            await asyncio.sleep(0)
        return await broker(request)

    async def one(connection: Connection, number: int) -> bool:
        timeout = random.choice([None, None, None, inf, 0.0005])
        try:
            answer = await connection.request(beat(number), timeout=timeout)
        except TimedOut:
            return False
        assert answer.throttle_time_ms == number
        return True

    async def work() -> None:
        cancelled = answered = number = 0
        tasks: list[asyncio.Task[bool]] = []
        pending = tasks
        async with serve(handle, in_flight=8) as server, connect(server.address, in_flight=20) as connection:
            while cancelled < count:
                tasks = [asyncio.create_task(one(connection, number + more)) for more in range(random.randrange(1, 60))]
                number += len(tasks)
                while pending := [task for task in tasks if not task.done()]:
                    for _ in range(random.randrange(6)):
                        await asyncio.sleep(0)
                    if random.random() < 0.5:
                        random.choice(pending).cancel()
                        cancelled += 1
                results = await asyncio.gather(*tasks, return_exceptions=True)
                assert {type(one) for one in results} <= {bool, asyncio.CancelledError}
                answered += results.count(True)
            link = link_of(connection)
            await connection.request(beat(1), timeout=inf)
            await until(lambda: not link._waiting)
            assert (len(link._turns), link._wire.in_flight, len(asyncio.all_tasks())) == (0, 0, 3)
            assert answered > 0
            del tasks, pending
            await asyncio.sleep(0)  # after which the event loop has let go of the last one
            assert responses() == before

    run(work())


def responses() -> int:
    """Return the number of responses in memory."""
    gc.collect()
    return sum(type(one) is Response for one in gc.get_objects())


def test_a_cancelled_connect_leaves_no_socket() -> None:
    async def work() -> None:
        closed = asyncio.Event()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)  # ApiVersions, which gets no answer
            opened.set()
            await reader.read()
            closed.set()

        opened = asyncio.Event()
        async with peer(talk) as address:
            task = asyncio.ensure_future(_connected(address))
            await opened.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await closed.wait()
            with pytest.raises(TimedOut, match=r"timed out opening a connection after 0.01 s"):
                await connect(address, timeout=0.01)

    run(work())


async def _connected(address: tuple[str, int]) -> Connection:
    return await connect(address)
