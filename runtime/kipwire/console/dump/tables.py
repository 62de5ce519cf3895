"""`kipwire dump --out`: records as a table in files, in place of lines."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kipwire.console.brokers.running import log_of_brokers, prepare
from kipwire.model.extras import explain_missing
from kipwire.records import Bounds
from kipwire.tools.text import count_of, print_err

try:
    from kipwire.tables.errors import PERMISSIVE, JobError, SourceError
    from kipwire.tables.errors import out_of_space as out_of_space
    from kipwire.tables.messages.content import FAMILIES
    from kipwire.tables.messages.records import COORDINATORS
    from kipwire.tables.query import Query, query_of
    from kipwire.tables.writing.export import Written, export
except ImportError as error:
    raise explain_missing("--out needs", "tables", error) or error from None

if TYPE_CHECKING:
    from kipwire.aio import Address
    from kipwire.cluster.settings import Settings


class Table(NamedTuple):
    """The options of tables."""

    out: Path
    topic: Sequence[str]
    columns: str | None
    message: str | None
    by: str | None
    state: Path | None
    permissive: bool
    allow_data_loss: bool
    cores: int | None


def write_table(
    table: Table,
    names: Sequence[str],
    brokers: tuple[Address, ...] | None,
    settings: Settings | None,
    bounds: Bounds,
    decode_as: str | None,
    *,
    committed: bool,
) -> Written:
    """Write records as a table.

    Args:
        table: how.
        names: paths, or with brokers topics and partitions.
        brokers: of a cluster; None for paths.
        settings: to reach them.
        bounds: of records.
        decode_as: an internal topic whose records these are.
        committed: True for what consumers of committed records get.

    Raises:
        KipwireError: it cannot be read, or an option is wrong.
        OSError: it cannot be written.
    """
    if settings is not None:
        prepare(settings)
    try:
        with log_of_brokers(), warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *_: print_err((f"kipwire: {message}", "yellow"))
            query = _query(table, names, brokers, settings, bounds, decode_as, committed)
            return export(query, table.out, _words(table.by), table.state)
    except SourceError as error:
        raise SourceError(str(error).replace("set failOnDataLoss to false", "use --allow-data-loss")) from None


def _query(
    table: Table,
    names: Sequence[str],
    brokers: tuple[Address, ...] | None,
    settings: Settings | None,
    bounds: Bounds,
    decode_as: str | None,
    committed: bool,
) -> Query:
    wanted: dict[str, Any] = {
        "from_offset": bounds.first_offset,
        "to_offset": bounds.end_offset,
        "since": bounds.first_timestamp,
        "until": bounds.end_timestamp,
        "fail_on_data_loss": not table.allow_data_loss,
        "topics": table.topic,
        "committed": committed,
        "cores": table.cores,
    }
    if table.permissive:
        wanted["mode"] = PERMISSIVE
    if table.columns is not None:
        more = ("error",) if table.permissive else ()
        wanted["columns"] = dict.fromkeys((*_words(table.columns), *more))
    if table.message is not None:
        wanted["message"] = table.message
    if decode_as is not None:
        wanted |= {
            "decode": "coordinator" if FAMILIES[decode_as] in COORDINATORS else "metadata",
            "topics": (decode_as,),
        }
    if brokers is None:
        return query_of(names, **wanted)
    from kipwire.cluster import Cluster
    from kipwire.console.dump.topics import topics_of

    if table.topic:
        raise JobError("--topic is for folders; with --brokers give topics in its place")
    named = topics_of(names)
    topics, numbers = ({*column} for column in zip(*named, strict=True))
    if len(topics) > 1 and len(numbers) > 1:
        raise JobError("with --out give whole topics, or partitions of one topic")
    wanted |= {
        "topics": sorted(topics),
        "partitions": sorted(one for one in numbers if one is not None),
    }
    return query_of(Cluster(brokers, settings), **wanted)


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def summary(table: Table, written: Written) -> str:
    """Format what was written, in one line."""
    of = f", {count_of(written.errors, 'error')}" if written.errors else ""
    if table.state is None and table.by is None:
        return f"{table.out}: {count_of(written.rows, 'row')}{of}"
    what = f"{count_of(written.rows, 'row')} in {count_of(written.files, 'file')}" if written.files else "nothing new"
    return f"{table.out}: {what}{of}"
