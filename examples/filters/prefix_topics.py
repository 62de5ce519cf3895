"""Gives each tenant topics of its own: `orders` of a client with the id `acme-web` is `acme.orders` to brokers."""

from kafka_messages.metadata_response.v12 import MetadataResponse
from kipwire.proxy import Exchange, Request, Response, on


def prefix(exchange: Exchange) -> str:
    return (exchange.request.client_id or "nobody").partition("-")[0] + "."


@on(Request)
def add(request: Request, exchange: Exchange) -> bytes:
    return request.renamed("topicName", lambda name: prefix(exchange) + name)


@on(Response)
def remove(response: Response, exchange: Exchange) -> bytes:
    return response.renamed("topicName", lambda name: name.removeprefix(prefix(exchange)))


@on(MetadataResponse)  # called before `remove`: responses go through filters from the last to the first
def hide_others(response: MetadataResponse, exchange: Exchange) -> None:
    response.topics = [one for one in response.topics if not one.name or one.name.startswith(prefix(exchange))]
