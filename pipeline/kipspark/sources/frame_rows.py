"""What all kinds of captures share: the columns of `kafka_frames`, and the filter for frames."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from kipspark.arrow import TIMESTAMP
from kipwire.traffic.conversation import REQUEST, RESPONSE

FRAMES_SCHEMA = pa.schema(
    [
        ("capture", pa.string()),
        ("number", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestamp_ns", pa.int64()),
        ("connection", pa.int64()),
        ("listener", pa.string()),
        ("direction", pa.string()),
        ("api_key", pa.int16()),
        ("api_version", pa.int16()),
        ("correlation_id", pa.int32()),
        ("client_id", pa.string()),
        ("frame", pa.binary()),
        ("error", pa.string()),
    ]
)
"""The columns of `kafka_frames`; docs/spark-sources.md explains them."""

DIRECTIONS = (REQUEST, RESPONSE)

ROWS = 8192
"""The number of rows at which an Arrow batch is complete."""
BYTES = 16 * 1024 * 1024
"""The number of bytes of frames at which it is complete, even with fewer rows."""


class FrameFilter(NamedTuple):
    """Which frames a reader wants; an empty tuple means all."""

    api_keys: tuple[int, ...] = ()
    directions: tuple[str, ...] = ()
    client_ids: tuple[str, ...] = ()

    def selects(self, direction: str, api_key: int, client_id: str | None) -> bool:
        """Whether a frame is wanted."""
        return (
            (not self.api_keys or api_key in self.api_keys)
            and (not self.directions or direction in self.directions)
            and (not self.client_ids or client_id in self.client_ids)
        )
