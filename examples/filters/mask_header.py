"""Hides the header `card` of every record from consumers."""

import kafka_messages
from kipwire.projection import VersionedProjection
from kipwire.proxy import Exchange, on
from kipwire.records import Record, change_records

Records = list[list[bytes | None]]
"""Records of the partitions of each topic."""
records = VersionedProjection[Records](kafka_messages.REGISTRY, "FetchResponse", "responses.partitions.records")


def mask(record: Record) -> None:
    record.headers = [(key, b"***" if key == "card" else value) for key, value in record.headers]


@on(records)
def mask_header(values: tuple[Records], exchange: Exchange) -> tuple[Records]:
    return ([[one and change_records(one, mask) for one in partitions] for partitions in values[0]],)
