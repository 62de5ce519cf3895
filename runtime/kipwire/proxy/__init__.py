"""A proxy for Kafka's protocol, with typed filters.

It keeps clients on itself, and decodes what a filter wants alone:

    @on(DeleteTopicsRequest)
    def refuse(request: DeleteTopicsRequest, exchange: Exchange) -> ErrorCode:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    async with Proxy("kafka-1:9092", [refuse], listen="0.0.0.0:9093") as proxy:
        await proxy.wait_closed()
"""

# Theory. Each client has a connection of its own to a broker: SASL goes through, and who ends ends both. `kipwire.aio`
# reads and writes frames on both sides, in order, with bounds. Between them stands `serving`:
#
# 1. A request that no filter wants is passed on as the bytes that came. Else filters get it one after the other, each
#    the frame that the one before has given. A connection has one turn, which a request keeps until it is sent: so the
#    broker gets requests in the order of the client, whatever filters do.
# 2. `rewriting` puts the addresses of listeners in the place of the brokers', by projections. In answers to ApiVersions
#    it lowers versions that could not be looked into: above the class of a filter, and unknown ones with addresses.
# 3. Filters of responses, in the opposite order. A response that a filter has made goes through those before it alone.
#
# An error of whatever kind is one line in the log of "kipwire.proxy", and closes that connection with both its sides.

from kipwire.connection import Request, Response
from kipwire.proxy.filters import Exchange, Filter, FilterError, on
from kipwire.proxy.serving import Proxy

__all__ = ["Exchange", "Filter", "FilterError", "Proxy", "Request", "Response", "on"]
