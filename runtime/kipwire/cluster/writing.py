"""Records written into partitions by their leaders, each batch once, by an idempotent producer (KIP-98).

A batch that goes out again, after a broken connection or to another leader, has the same sequence numbers, and the log
that has it already does not take it twice. One batch of a partition is on its way at a time. A later process finds what
an earlier one has written in the logs themselves, where each batch has its producer and its sequence numbers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

from kafka_messages.enums import ErrorCode
from kafka_messages.init_producer_id_request.v4 import InitProducerIdRequest
from kafka_messages.init_producer_id_response.v4 import InitProducerIdResponse
from kafka_messages.produce_request.v12 import PartitionProduceData, ProduceRequest, TopicProduceData
from kipwire.aio import Address, AuthenticationFailure, Failure, TlsFailure
from kipwire.cluster.brokers import Brokers, Node, NotFound, Patience, may_pass
from kipwire.cluster.fetching import Reader, ReadFailedError
from kipwire.cluster.partitions import renewed
from kipwire.logs.names import Partition
from kipwire.model.errors import KipwireError
from kipwire.records import read_batches

_ALL_REPLICAS = -1
_DUPLICATE = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
_LONGEST_WAIT = 30_000
"""Milliseconds that a leader may wait for the replicas."""
_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class Producer(NamedTuple):
    """The numbers of an idempotent producer."""

    id: int
    epoch: int


class Outcome(NamedTuple):
    """The answer of a leader about a batch."""

    base_offset: int = -1
    """The offset of its first record; -1 if it is not written, or was before and the leader does not say where."""
    problem: str = ""
    """Why it is not written; empty if it is."""
    is_too_large: bool = False
    """True if smaller batches may be taken."""
    is_in_doubt: bool = False
    """True if it may be written all the same, since no answer came."""


class Found(NamedTuple):
    """A batch of a producer in a log."""

    partition: Partition
    base_sequence: int
    last_sequence: int
    base_offset: int


async def new_producer(brokers: Brokers, patience: Patience) -> Producer:
    """Ask for the numbers of a new producer.

    Raises:
        NotFound: no broker gives any.
        KipwireError: no broker answers, or it is older than Kafka 0.11.
    """

    async def ask() -> tuple[Producer, int]:
        brokers.begin()
        found.append(await brokers.ask_any(InitProducerIdRequest(transactional_id=None)))
        response = found[-1][1]
        return Producer(response.producer_id, response.producer_epoch), response.error_code

    found: list[tuple[Address, InitProducerIdResponse]] = []
    producer, code = await patience.repeat(ask, lambda one: may_pass(one[1]))
    if code:
        raise NotFound.by(found[-1][0], f"gives no producer id: {ErrorCode.text(code)}")
    return producer


class Writer:
    """Writer of batches to the leaders of partitions; a failure of one partition does not stop the others."""

    def __init__(self, brokers: Brokers, leaders: Mapping[Partition, Node], patience: Patience) -> None:
        """Begin with leaders that may have moved.

        Args:
            brokers: of the cluster.
            leaders: of the partitions to write to.
            patience: for each call of `write`.
        """
        self._brokers = brokers
        self._leaders = dict(leaders)
        self._patience = patience
        self._wait = min(_LONGEST_WAIT, max(1, int(brokers.settings.timeout * 1000)))

    async def write(self, batches: Mapping[Partition, bytes]) -> dict[Partition, Outcome]:
        """Write a batch into each of some partitions, and wait until all replicas in sync have them.

        Args:
            batches: of an idempotent producer, each after all earlier ones of its partition.

        Returns:
            the outcome for each.
        """
        found: dict[Partition, Outcome] = {}
        pauses = list(self._patience.pauses())
        left = dict(batches)
        while left:
            passing = await self._once(left, found)
            left = {partition: left[partition] for partition in passing}
            if left and not pauses:
                return found | passing
            if left:
                await asyncio.sleep(pauses.pop(0))
                self._brokers.begin()
                self._leaders |= await renewed(self._brokers, left)
        return found

    async def _once(
        self, batches: Mapping[Partition, bytes], found: dict[Partition, Outcome]
    ) -> dict[Partition, Outcome]:
        """Ask each leader once; add final outcomes, and return those that may pass."""
        by_leader: dict[Node, list[Partition]] = {}
        for partition in batches:
            by_leader.setdefault(self._leaders[partition], []).append(partition)
        passing: dict[Partition, Outcome] = {}

        async def ask(leader: Node, some: list[Partition]) -> None:
            try:
                outcomes = await self._ask(leader, {one: batches[one] for one in some})
            except Failure as failure:
                is_final = isinstance(failure, AuthenticationFailure | TlsFailure)
                outcome = Outcome(problem=str(failure), is_in_doubt=not is_final)
                (found if is_final else passing).update(dict.fromkeys(some, outcome))
                return
            except KipwireError as error:
                found.update(dict.fromkeys(some, Outcome(problem=f"{leader}: {error}", is_in_doubt=True)))
                return
            for partition in some:
                outcome, code = outcomes.get(partition, (Outcome(problem="the leader returned nothing for it"), 0))
                (passing if may_pass(code) else found)[partition] = outcome

        await asyncio.gather(*[ask(leader, some) for leader, some in by_leader.items()])
        return passing

    async def _ask(self, leader: Node, batches: Mapping[Partition, bytes]) -> dict[Partition, tuple[Outcome, int]]:
        topics: dict[str, list[PartitionProduceData]] = {}
        for (topic, number), data in batches.items():
            topics.setdefault(topic, []).append(PartitionProduceData(index=number, records=data))
        request = ProduceRequest(
            transactional_id=None,
            acks=_ALL_REPLICAS,
            timeout_ms=self._wait,
            topic_data=[TopicProduceData(name=topic, partition_data=some) for topic, some in topics.items()],
        )
        response = await self._brokers.ask(leader, request)
        found = {}
        for written in response.responses:
            for one in written.partition_responses:
                code, outcome = one.error_code, Outcome(one.base_offset)
                if code == _DUPLICATE:
                    code, outcome = 0, Outcome()
                elif code:
                    said = next((of.batch_index_error_message for of in one.record_errors), None) or one.error_message
                    problem = f"the leader returned {ErrorCode.text(code)}{f': {said}' if said else ''}"
                    outcome = Outcome(-1, problem, code in _TOO_LARGE, may_pass(code))
                found[Partition(written.name, one.index)] = outcome, code
        return found


async def find_written(
    reader: Reader, producer: Producer, offsets: Mapping[Partition, int], ends: Mapping[Partition, int]
) -> AsyncIterator[Found]:
    """Find the batches of a producer in logs.

    Args:
        reader: of the partitions.
        producer: of the batches.
        offsets: where to begin.
        ends: where to end.

    Raises:
        ReadFailedError: a leader refuses it, or records were removed, which could be some of the producer.
        KipwireError: a leader cannot be reached, or a log is damaged.
    """
    async for batches in reader.read(offsets, ends):
        if batches.lost:
            why = f"{batches.partition}: {batches.lost}, so it is not known which records were written there"
            raise ReadFailedError(why)
        for batch in read_batches(batches.data):
            is_ours = (batch.producer_id, batch.producer_epoch) == producer and batch.base_sequence >= 0
            if is_ours and batch.last_offset >= batches.offset:
                yield Found(batches.partition, batch.base_sequence, batch.last_sequence, batch.base_offset)
