"""Chosen fields of a message: read without making an object of the rest, and replaced with all other bytes copied.

    >>> from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker
    >>> from kipwire.projection import Projection
    >>> addresses = Projection(MetadataResponse, "brokers.host", "brokers.port")
    >>> data = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="kafka-1", port=9092)]).encode()
    >>> addresses.decode(data)
    (['kafka-1'], [9092])
    >>> moved = addresses.replace(data, (["proxy"], [19092]))
    >>> MetadataResponse.decode(moved).brokers[0].host
    'proxy'

All bytes are checked as strictly as by `decode`. See docs/projection.md.
"""

from kipwire.projection.one_version import Projection
from kipwire.projection.paths import ProjectionError
from kipwire.projection.versions import VersionedProjection

__all__ = ["Projection", "ProjectionError", "VersionedProjection"]
