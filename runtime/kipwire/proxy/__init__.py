"""A proxy for Kafka's protocol, with typed filters.

The proxy keeps clients on itself, and decodes only what a filter wants:

    @on(DeleteTopicsRequest)
    def refuse(request: DeleteTopicsRequest, exchange: Exchange) -> ErrorCode:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    async with Proxy("kafka-1:9092", [refuse], listen="0.0.0.0:9093") as proxy:
        await proxy.wait_closed()
"""

# Each client has its own connection to a broker. A request without a filter passes as the bytes that came; else filters
# get it in order, each with the frame of the filter before. `rewriting` changes addresses and versions in responses,
# which filters get in the opposite order. An error is a line in the log, and closes both sides of that connection.

from kipwire.aio.filters import Connected, Disconnected, Exchange, Filter, FilterError, on
from kipwire.connection import Request, Response
from kipwire.proxy.serving import Proxy

__all__ = ["Connected", "Disconnected", "Exchange", "Filter", "FilterError", "Proxy", "Request", "Response", "on"]
