"""The decoders of kipwire as functions of DuckDB, whose batches they take as Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import count
from typing import NamedTuple

import pyarrow as pa

from kipjobs.engines.embedded.columns import Column, join_columns
from kipjobs.engines.embedded.types import type_of
from kipwire.tables.messages.records import Records, decode_coordinator, decode_metadata, records_type

_numbers = count()


class Decoder(NamedTuple):
    """A function from columns of bytes to a column of structs."""

    name: str
    decode: Callable[..., pa.Array]
    inputs: int
    type: pa.StructType

    def column(self, *data: Column) -> Column:
        """Return the call of this decoder on columns, as a column of structs."""
        return Column(f"{self.name}({join_columns(data, ', ')})")

    @property
    def sql_type(self) -> str:
        """DuckDB's name for the type of the decoded structs."""
        return type_of(self.type)


KNOWN: dict[str, Decoder] = {}
"""All decoders made so far, by name; a session defines them as functions of DuckDB when a query needs them."""


@lru_cache
def of_records(family: str, types: tuple[str, ...]) -> Decoder:
    """Return the decoder of the records of one of the brokers' own topics; null for those that cannot be read."""
    records = Records(family, types)
    type_ = records_type(records)
    if family == "metadata":

        def decode(value: pa.Array) -> pa.Array:
            return decode_metadata(records, value).rows

        return _known_decoder(decode, 1, type_)

    def decode_pairs(key: pa.Array, value: pa.Array) -> pa.Array:
        return decode_coordinator(records, key, value).rows

    return _known_decoder(decode_pairs, 2, type_)


def _known_decoder(decode: Callable[..., pa.Array], inputs: int, type_: pa.StructType) -> Decoder:
    decoder = Decoder(f"decoded_{next(_numbers)}", decode, inputs, type_)
    KNOWN[decoder.name] = decoder
    return decoder
