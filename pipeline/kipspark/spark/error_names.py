"""Names of Kafka's error codes, as a column."""

from __future__ import annotations

from itertools import chain

from pyspark.sql import Column
from pyspark.sql import functions as sf

from kafka_messages.enums import ErrorCode


def error_name(code: Column | str) -> Column:
    """The names that Kafka gives to its error codes, such as `NOT_COORDINATOR` for 16; null for other numbers.

    Args:
        code: a column of integers.
    """
    names = sf.create_map(*chain.from_iterable((sf.lit(int(one)), sf.lit(one.name)) for one in ErrorCode))
    return sf.try_element_at(names, (sf.col(code) if isinstance(code, str) else code).cast("int"))
