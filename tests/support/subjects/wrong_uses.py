# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
"""Wrong uses of generated classes, each on one marked line: mypy and pyright must both refuse it, and no other line.

`make types` proves it: both of them pass over an error on a marked line, and report a mark that hides none. Nothing
runs this file.
"""

from __future__ import annotations

import kafka_messages
import kipwire
from kafka_messages.enums import ErrorCode
from kafka_messages.fetch_response.v12 import PartitionData, SnapshotId
from kafka_messages.metadata_request.v12 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response import v4, v9
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker, MetadataResponsePartition
from kafka_records.record_batch.v2 import RecordBatch
from kipjobs.engines import Column, DataFrame, Functions
from kipwire import aio
from kipwire.connection import ClientConnection, Request, Response
from kipwire.projection import VersionedProjection
from kipwire.proxy import Connected, Exchange, Proxy, on


def write_fields(message: MetadataResponse, partition: MetadataResponsePartition, batch: RecordBatch) -> None:
    message.controller_id = "x"  # type: ignore[assignment]
    message.controller_id = None  # type: ignore[assignment]
    message.cluster_id = b"bytes"  # type: ignore[assignment]
    message.contoller_id = 1  # type: ignore[attr-defined]
    partition.replica_nodes = ["1", "2"]  # type: ignore[list-item]
    partition.replica_nodes.append("3")  # type: ignore[arg-type]
    partition.replica_nodes = None  # type: ignore[assignment]
    partition.leader_epoch += 0.5  # type: ignore[assignment]
    batch.is_control = "yes"  # type: ignore[assignment]
    batch.crc = 0  # type: ignore[attr-defined]
    del message.brokers[0].hots  # type: ignore[attr-defined]


def name_numbers(message: MetadataResponse, partition: MetadataResponsePartition) -> None:
    partition.error_code = "NONE"  # type: ignore[assignment]
    partition.error_code = None  # type: ignore[assignment]
    partition.error_code = ErrorCode  # type: ignore[assignment]
    code: ErrorCode = message.topics[0].error_code  # type: ignore[assignment]
    message.topics[0].error_code.name.lower()  # type: ignore[attr-defined]
    MetadataResponsePartition(error_code="NONE")  # type: ignore[arg-type]
    MetadataResponsePartition(error_code=[ErrorCode.NONE])  # type: ignore[arg-type]
    is_none = partition.error_code == "NONE"  # type: ignore[comparison-overlap]
    print(code, is_none)


def write_structs(message: MetadataResponse, fetched: PartitionData) -> None:
    message.brokers = [MetadataResponsePartition()]  # type: ignore[list-item]
    message.brokers = [v4.MetadataResponseBroker()]  # type: ignore[list-item]
    message.brokers[0] = v9.MetadataResponse()  # type: ignore[call-overload]
    fetched.current_leader.leader_id = "1"  # type: ignore[assignment]
    fetched.current_leader = SnapshotId()  # type: ignore[assignment]
    fetched.current_leader = None  # type: ignore[assignment]
    fetched.unknown_tagged_fields["7"] = b""  # type: ignore[index]


def read_fields(message: MetadataResponse, fetched: PartitionData) -> None:
    leader: str = message.topics[0].partitions[0].leader_id  # type: ignore[assignment]
    cluster: str = message.cluster_id  # type: ignore[assignment]
    host: bytes = message.brokers[0].host  # type: ignore[assignment]
    length = len(fetched.records)  # type: ignore[arg-type]
    epoch: str = fetched.diverging_epoch.epoch  # type: ignore[assignment]
    v4.MetadataResponse().unknown_tagged_fields.clear()  # type: ignore[attr-defined]
    print(leader, cluster, host, length, epoch)


def make_messages() -> None:
    MetadataResponse(0)  # type: ignore[call-arg]
    MetadataResponse(controller_id="x")  # type: ignore[arg-type]
    MetadataResponse(error_code=1)  # type: ignore[call-arg]
    MetadataResponse(brokers=None)  # type: ignore[arg-type]
    MetadataResponse(brokers=[MetadataRequestTopic()])  # type: ignore[list-item]
    MetadataResponseBroker(node_id=1, host=None)  # type: ignore[arg-type]
    MetadataRequest(topics=["orders"])  # type: ignore[list-item]
    PartitionData(snapshot_id=v9.MetadataResponse())  # type: ignore[arg-type]


def pass_messages(data: bytes) -> None:
    answer: MetadataResponse = MetadataRequest.decode(data)  # type: ignore[assignment]
    older: MetadataResponse = v9.MetadataResponse.decode(data)  # type: ignore[assignment]
    newer: MetadataResponse = kipwire.convert(older, v9.MetadataResponse)  # type: ignore[assignment]
    body: MetadataRequest = kafka_messages.decode_response(data, MetadataResponse).body  # type: ignore[assignment]
    MetadataResponse.encode()  # type: ignore[call-arg]
    MetadataResponse.decode("text")  # type: ignore[arg-type]
    print(answer, older, newer, body)


def speak_any_version(client: ClientConnection, request: Request, response: Response) -> None:
    client.send("MetadataRequest", version=9)  # type: ignore[arg-type]
    client.send(MetadataRequest(), version="9")  # type: ignore[arg-type]
    answer: v9.MetadataResponse = response.body_as(MetadataRequest)  # type: ignore[assignment]
    other: MetadataResponse = request.body_as(MetadataRequest)  # type: ignore[assignment]
    kafka_messages.decode_response(b"", MetadataRequest, version=9).body.leaders = 1  # type: ignore[attr-defined]
    asked: kipwire.AnsweredBy[MetadataResponse] = MetadataResponse()  # type: ignore[assignment]
    kipwire.conver(MetadataRequest(), 9)  # type: ignore[attr-defined]
    kafka_messages.mesage("MetadataRequest", 9)  # type: ignore[attr-defined]
    wrong: kipwire.AnsweredBy[PartitionData] = MetadataRequest()  # type: ignore[type-var, assignment]
    print(answer, other, asked, wrong)


def filter_messages(names: VersionedProjection[list[str]]) -> None:
    @on(MetadataRequest)  # type: ignore[arg-type]
    def of_responses(message: MetadataResponse, exchange: Exchange) -> None: ...

    @on(MetadataResponse)  # type: ignore[arg-type]
    def of_requests(message: MetadataRequest, exchange: Exchange) -> None: ...

    @on(v9.MetadataResponse)  # type: ignore[arg-type]
    def of_another_version(message: MetadataResponse, exchange: Exchange) -> None: ...

    @on(MetadataRequest)  # type: ignore[arg-type]
    def with_another_answer(message: MetadataRequest, exchange: Exchange) -> v9.MetadataResponse:
        return v9.MetadataResponse()

    @on(MetadataResponse)  # type: ignore[arg-type]
    async def with_a_request(message: MetadataResponse, exchange: Exchange) -> MetadataRequest:
        return MetadataRequest()

    @on(MetadataRequest)  # type: ignore[arg-type]
    def without_exchange(message: MetadataRequest) -> None: ...

    @on(names)  # type: ignore[arg-type]
    def of_numbers(values: tuple[list[int]], exchange: Exchange) -> None: ...

    @on(names)  # type: ignore[arg-type]
    def with_numbers(values: tuple[list[str]], exchange: Exchange) -> tuple[list[int]]:
        return ([1],)

    @on(Request)  # type: ignore[arg-type]
    def of_events(event: Response, exchange: Exchange) -> None: ...

    @on(Response)  # type: ignore[arg-type]
    def with_text(event: Response, exchange: Exchange) -> str:
        return "text"

    Proxy("localhost", [lambda message, exchange: None])  # type: ignore[list-item]


async def talk_over_a_connection(broker: aio.Connection, data: bytes) -> None:
    older: v9.MetadataResponse = await broker.request(MetadataRequest(), version=9)  # type: ignore[arg-type]
    await broker.request(MetadataResponse())  # type: ignore[arg-type]
    await broker.request(MetadataRequest)  # type: ignore[arg-type]
    (await broker.request(MetadataRequest())).leaders = 1  # type: ignore[attr-defined]
    answer: MetadataResponse = await broker.exchange(data)  # type: ignore[assignment]
    await broker.request(MetadataRequest(), timeout="5")  # type: ignore[arg-type]
    broker.versions = {}  # type: ignore[misc]
    print(older, answer)


def answer_always(request: MetadataRequest, exchange: Exchange) -> MetadataResponse:
    return MetadataResponse()


async def answer_later(request: MetadataRequest, exchange: Exchange) -> MetadataResponse | ErrorCode:
    return ErrorCode.NONE


def answer_sometimes(request: MetadataRequest, exchange: Exchange) -> MetadataResponse | None:
    return None


def change(response: MetadataResponse, exchange: Exchange) -> MetadataResponse:
    return response


ANSWERING = [on(MetadataRequest)(answer_always), on(MetadataRequest)(answer_later)]
SERVING = aio.serve(ANSWERING, partial=True), aio.serve(on(MetadataRequest)(answer_always))


async def serve_wrongly() -> None:
    aio.serve([on(MetadataRequest)(answer_sometimes)])  # type: ignore[list-item]
    aio.serve([on(MetadataResponse)(change)])  # type: ignore[list-item]
    aio.serve([answer_always])  # type: ignore[list-item]
    aio.serve({MetadataRequest: answer_always})  # type: ignore[dict-item]
    aio.serve(ANSWERING, partial="yes")  # type: ignore[arg-type]
    on(v9.MetadataResponse)(change)  # type: ignore[arg-type]


async def handle_wrongly(request: Request) -> str:
    return "text"


async def pass_nothing(request: Request) -> None:
    print(request)


async def hear_later(event: Connected) -> None:
    print(event)


async def open_wrongly() -> None:
    broker: aio.Connection = aio.connect("localhost:9092")  # type: ignore[assignment]
    aio.connect("localhost:9092", ssl="yes")  # type: ignore[arg-type]
    aio.connect("localhost:9092", sasl="PLAIN")  # type: ignore[arg-type]
    aio.serve(handle_wrongly)  # type: ignore[arg-type]
    aio.serve(pass_nothing, in_flight="7")  # type: ignore[arg-type]
    aio.serve(pass_nothing, inflight=7)  # type: ignore[call-arg]
    on(Connected)(hear_later)  # type: ignore[arg-type]
    print(broker)


def change_frames(frame: DataFrame, column: Column, sf: Functions) -> None:
    frame.fillna(0)  # type: ignore[attr-defined]
    frame.agg(sf.max("offset")).summary()  # type: ignore[attr-defined]
    frame.groupBy("topic").count()  # type: ignore[attr-defined]
    frame.where(column.startswith("__"))  # type: ignore[attr-defined]
    frame.select(sf.sha2("key", 256))  # type: ignore[attr-defined]
    frame.select(sf.max(5))  # type: ignore[arg-type]
    frame.select(column + b"bytes")  # type: ignore[operator]
    frame.unionByName(frame, "topic")  # type: ignore[arg-type]
    frame.write.parquet("folder")  # type: ignore[attr-defined]
