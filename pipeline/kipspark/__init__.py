"""kipwire on Spark: columns of bytes as columns of messages, log segments and captures as tables, jobs over them.

    import kipspark

    kipspark.register(spark)
    log = spark.read.format("kafka_log").options(decode="coordinator", types="OffsetCommit").load("/var/lib/kafka")
    log.select("record.key.offset_commit.*", "record.value.offset_commit.offset")

`pip install 'kipwire[spark]'` installs what it needs, except Java 17 or newer. See docs/spark.md.
"""

from __future__ import annotations

from importlib import import_module

from kipwire.model.extras import explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipspark.spark.functions import (
        counted,
        error_name,
        error_of_coordinator,
        error_of_message,
        error_of_metadata,
        from_coordinator,
        from_message,
        from_metadata,
        schema_of_message,
        to_message,
        with_message,
    )
    from kipspark.spark.sql import register
    from kipwire.tables.errors import BrokenMessageError, JobError, SourceError

__all__ = [
    "BrokenMessageError",
    "JobError",
    "SourceError",
    "counted",
    "error_name",
    "error_of_coordinator",
    "error_of_message",
    "error_of_metadata",
    "from_coordinator",
    "from_message",
    "from_metadata",
    "register",
    "schema_of_message",
    "to_message",
    "with_message",
]

_MODULES = {
    "BrokenMessageError": "kipwire.tables.errors",
    "JobError": "kipwire.tables.errors",
    "SourceError": "kipwire.tables.errors",
    "register": "kipspark.spark.sql",
    "counted": "kipspark.spark.functions",
    "error_name": "kipspark.spark.functions",
    "error_of_coordinator": "kipspark.spark.functions",
    "error_of_message": "kipspark.spark.functions",
    "error_of_metadata": "kipspark.spark.functions",
    "from_coordinator": "kipspark.spark.functions",
    "from_message": "kipspark.spark.functions",
    "from_metadata": "kipspark.spark.functions",
    "schema_of_message": "kipspark.spark.functions",
    "to_message": "kipspark.spark.functions",
    "with_message": "kipspark.spark.functions",
}
"""The module of each name, imported at first use of the name, so that an error can name a missing library."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found: object = getattr(import_module(_MODULES[name]), name)
    except ImportError as error:
        raise explain_missing("kipspark needs", "spark", error) or error from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
