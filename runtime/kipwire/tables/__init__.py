"""Logs, captures and topics of brokers as tables: Arrow batches, and columns of bytes as columns of messages.

    >>> from kipwire.tables import scan
    >>> orders = scan("/var/lib/kafka", topics="orders").read_pandas()

`scan` and `scan_polars` read; `writing` writes files of what is read. Below them `files` finds paths, on this machine
and in stores, `sources` reads what is there as Arrow batches, and `messages` decodes columns of bytes and encodes them
again. No engine is in here: `kipjobs` and `kipspark` make tables of it. See docs/tables.md.

`pip install 'kipwire[tables]'` brings pyarrow and numpy, `kipwire[polars]` polars, too.
"""

from __future__ import annotations

from importlib import import_module

from kipwire.model.extras import explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.tables.errors import BrokenMessageError, JobError, SourceError
    from kipwire.tables.lazy_frames import scan_polars
    from kipwire.tables.query import Wanted, scan

__all__ = ["BrokenMessageError", "JobError", "SourceError", "Wanted", "scan", "scan_polars"]

_HOMES = {
    "BrokenMessageError": "errors",
    "JobError": "errors",
    "SourceError": "errors",
    "Wanted": "query",
    "scan": "query",
    "scan_polars": "lazy_frames",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ImportError as error:
        raise explain_missing("kipwire.tables needs", "tables", error) or error from None
