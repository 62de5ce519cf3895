"""Refuses to delete topics."""

from kafka_messages.delete_topics_request.v6 import DeleteTopicsRequest
from kafka_messages.enums import ErrorCode
from kipwire.proxy import Exchange, on


@on(DeleteTopicsRequest)
def deny(request: DeleteTopicsRequest, exchange: Exchange) -> ErrorCode:
    return ErrorCode.TOPIC_AUTHORIZATION_FAILED
