"""Answers every tenth Produce with an error after which clients try again, to see that they do."""

from itertools import count

from kafka_messages.enums import ErrorCode
from kafka_messages.produce_request.v12 import ProduceRequest
from kipwire.proxy import Exchange, on

numbers = count(1)


@on(ProduceRequest)
def fail(request: ProduceRequest, exchange: Exchange) -> ErrorCode | None:
    return ErrorCode.REQUEST_TIMED_OUT if next(numbers) % 10 == 0 else None
