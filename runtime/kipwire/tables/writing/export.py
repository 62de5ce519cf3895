"""Write what a query reads: as one file, as a folder of files, or what is new since the last run.

With a state a run goes in rounds, each with files of its own and the offsets that it has reached. A round of folders is
a batch of a stream, planned by the same follower as streams of `kafka_log`, so damage and compaction between two runs
mean the same; a round of brokers ends with the next offset of each partition.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kipwire.tables.errors import JobError
from kipwire.tables.processes import PIECE, Readers
from kipwire.tables.query import Query, check_copies
from kipwire.tables.sources import logs
from kipwire.tables.sources.changing_logs.checkpoints import Reached
from kipwire.tables.sources.changing_logs.follower import Follower
from kipwire.tables.sources.log_columns import ALL_LOG_COLUMNS
from kipwire.tables.writing.files import FileFormat, RowFile, format_of
from kipwire.tables.writing.parts import KEYS, LOCK, Layout, Parts, has_files, remove_hidden, show
from kipwire.tables.writing.state import State, expect_same, locked, read_state, write_state
from kipwire.tools.atomic import new_folder, rename_new, sync_folder

if TYPE_CHECKING:
    from kipwire.logs.names import Partition

ROUND = 256 << 20
"""Bytes of logs, or of rows of brokers, in a round: what is lost if a run is killed."""


class Written(NamedTuple):
    """Rows and files that a run has written."""

    rows: int = 0
    files: int = 0
    errors: int = 0
    """Rows that are errors."""


def export(query: Query, out: Path, by: tuple[str, ...] = (), state: Path | None = None) -> Written:
    """Write the rows of a query.

    Args:
        query: what to read.
        out: the name of the file, whose end gives the format; a folder of that name if `by` or `state` is given.
        by: `topic`, `date` or both, the folders below that rows are put into.
        state: a file, made by the first run, by which later runs add what is new.

    Raises:
        KipwireError: it cannot be read, or there is something else at one of the paths.
        OSError: it cannot be written. Nothing is left then, or with a state what earlier rounds have written.
    """
    format_ = format_of(out)
    if unknown := next((one for one in by if one not in KEYS), None):
        raise JobError(f"rows are put into folders by {' and '.join(KEYS)}, not by {unknown!r}")
    if (by or state) and query.level != "records":
        raise JobError(f"folders and a state are for records, not for {query.level}")
    if not out.absolute().parent.is_dir():
        raise JobError(f"{out}: the folder {out.absolute().parent} does not exist")
    if state is not None:
        with locked(state.with_name(f"{state.name}.lock"), state):
            return _add_new(query, out, format_, by, state)
    if os.path.lexists(out):
        raise JobError(f"{out}: is there already, and nothing is overwritten; give another name, or remove it")
    return _folder(query, out, format_, by) if by else _file(query, out, format_)


def _file(query: Query, out: Path, format_: FileFormat) -> Written:
    batches, written = query.batches(), Written(files=1)
    file = RowFile(out.with_name(f".kipwire-{secrets.token_hex(16)}"), format_, query.schema)
    try:
        for batch in batches:
            file.add(batch)
            written = _with(written, batch)
        file.close()
        _name(file.path, out)
    except BaseException:
        file.discard()
        raise
    sync_folder(out.absolute().parent)
    return written


def _with(written: Written, batch: pa.RecordBatch) -> Written:
    has_errors = "error" in batch.schema.names
    errors = len(batch) - batch.column("error").null_count if has_errors else 0
    return written._replace(rows=written.rows + len(batch), errors=written.errors + errors)


def _name(made: Path, out: Path) -> None:
    """Give a file its name, unless another one has it."""
    try:
        os.link(made, out)
    except FileExistsError:
        raise JobError(f"{out}: another run has written it meanwhile, and nothing is overwritten") from None
    except OSError:  # a file system without links
        if os.path.lexists(out):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(out)) from None
        made.rename(out)
    else:
        made.unlink()


def _folder(query: Query, out: Path, format_: FileFormat, by: tuple[str, ...]) -> Written:
    batches = _with_keys(query, by).batches()  # finds what there is, before a folder is made
    with new_folder(beside=out) as made:
        parts, written = Parts(Layout(made, format_, query.schema, by), 1), Written()
        try:
            for batch in batches:
                parts.add(batch)
                written = _with(written, batch)
            names = parts.close()
        except BaseException:
            parts.discard()
            raise
        show(made, names)
        rename_new(made, out)
    sync_folder(out.absolute().parent)
    return written._replace(files=len(names))


def _with_keys(query: Query, by: tuple[str, ...]) -> Query:
    """Return the query with the columns that folders are named by."""
    schema = query.schema
    for name in (KEYS[one] for one in by):
        schema = schema if name in schema.names else schema.append(ALL_LOG_COLUMNS.field(name))
    return replace(query, schema=schema)


def _add_new(query: Query, out: Path, format_: FileFormat, by: tuple[str, ...], file: Path) -> Written:
    """Write what is new since the runs of a state."""
    of, before = _asked(query, out, by), read_state(file)
    if before is not None:
        expect_same(file, before.of, of)
    if out.exists() and not out.is_dir():
        raise JobError(f"{out}: is a file; with --state --out is the name of a folder, which has a file for each round")
    if before is None and out.exists() and has_files(out):
        raise JobError(f"{out}: has files that {file} does not know; rows would be there twice: give another name")
    state = before or State(of)
    rounds = (_rounds_of_folders if query.roots else _rounds_of_topics)(_with_keys(query, by), state)
    out.mkdir(exist_ok=True)
    with locked(out / LOCK, out):
        if before is None and has_files(out):
            raise JobError(f"{out}: another run has written to it meanwhile")
        return _write_rounds(rounds, Layout(out, format_, query.schema, by), state, file)


def _write_rounds(rounds: Iterator[_Round], layout: Layout, state: State, file: Path) -> Written:
    """Write rounds, each whole or not at all, whenever the process ends."""
    show(layout.folder, state.files)
    remove_hidden(layout.folder)
    written = Written()
    for one in rounds:
        parts = Parts(layout, state.round + 1)
        try:
            for batch in one.batches:
                parts.add(batch)
                written = _with(written, batch)
            names = parts.close()
        except BaseException:
            parts.discard()
            raise
        after = State(state.of, state.round + bool(names), one.reached, one.topics, names)
        try:
            write_state(file, after)
        except OSError:
            parts.discard()
            raise
        # From here on the rows are written: if the process ends now, the next run shows the files.
        show(layout.folder, names)
        state, written = after, written._replace(files=written.files + len(names))
    write_state(file, state._replace(files=()))
    return written


def _asked(query: Query, out: Path, by: tuple[str, ...]) -> dict[str, Any]:
    """Describe what a run asks for, as texts that the next one compares."""
    bounds = query.row_filter.bounds
    for root in query.roots:
        if not os.path.lexists(root):
            raise JobError(f"{root}: there is no such folder; with --state give folders of this machine by their names")
    return {
        "out": str(out.absolute()),
        "source": [str(Path(root).absolute()) for root in query.roots] or ["brokers"],
        "topics": list(query.chosen.topics),
        "partitions": list(query.chosen.partitions),
        "columns": [f"{field.name} {field.type}" for field in query.schema],
        "content": None if query.content is None else str(query.content),
        "folders": list(by),
        "bounds": None if not query.row_filter.is_bounded else str(tuple(bounds)),
        "records": " and ".join(
            word
            for word, is_wanted in (
                ("committed", query.row_filter.committed),
                ("control", query.row_filter.control),
                ("from the log start", query.from_log_start),
            )
            if is_wanted
        )
        or None,
        "mode": "PERMISSIVE" if query.row_filter.permissive else "FAILFAST",
    }


class _Round:
    """The rows of a round, and where it ends, which is known once they have been read."""

    def __init__(self, reached: Reached, topics: Mapping[str, str]) -> None:
        self.batches: Iterator[pa.RecordBatch] = iter(())
        self.reached = reached
        self.topics = topics


def _rounds_of_folders(query: Query, state: State) -> Iterator[_Round]:
    request = query.log_request()
    segments = request.check_segments()
    check_copies(segments)
    follower = Follower(
        request.segments, request.row_filter, request.split_bytes, request.fail_on_data_loss, request.from_log_start
    )
    follower.fix_target()
    return _folder_rounds(query, request, follower, state.reached, sum(segment.size for segment in segments))


def _folder_rounds(
    query: Query, request: logs.Request, follower: Follower, reached: Reached, left: int
) -> Iterator[_Round]:
    """Yield rounds of folders; `left` is the number of bytes that there are."""
    read = query.finishing(partial(logs.read, request))
    with Readers(query.cores) as readers:
        while True:
            end = follower.latest(reached, ROUND)
            if end is reached:
                return
            pieces = logs.group_work(follower.work(reached, end), PIECE)
            sizes = [sum(size for _, size in logs.files_of_work(piece)) for piece in pieces]
            left -= sum(sizes)
            is_full = sum(sizes) > ROUND // 2  # so another one may follow
            one = _Round(end, {})
            found = readers.read(read, pieces, sizes, max(0, left) if is_full else 0)
            one.batches = (batch for rows in found for batch in rows)
            yield one
            reached = end


def _rounds_of_topics(query: Query, state: State) -> Iterator[_Round]:
    from kipwire.tables.sources.topics import continued, is_another, look

    ranges: dict[Partition, tuple[int, int]] = {}
    topics = dict(state.topics)
    done = dict(state.reached.next_offsets)
    present = look(query.topic_request())
    for partition, there in present.items():
        if is_another(there, topics.get(partition.topic)):
            raise JobError(
                f"{partition.topic}: is not the topic that the runs before have read: it was made anew, or is of "
                "another cluster; give another --state and --out"
            )
        if there.topic_id is not None:
            topics[partition.topic] = str(there.topic_id)
    for partition, first in continued(present, done, topics, query.fails).items():
        ranges[partition] = first, max(first, present[partition].end)
        done[str(partition)] = first
    return _topic_rounds(query, ranges, state.reached, done, topics)


def _topic_rounds(
    query: Query,
    ranges: Mapping[Partition, tuple[int, int]],
    before: Reached,
    done: dict[str, int],
    topics: Mapping[str, str],
) -> Iterator[_Round]:
    from kipwire.tables.sources.topics import read_topics

    wanted = {one: range_ for one, range_ in ranges.items() if range_[0] < range_[1]}
    if not wanted:
        if done != before.next_offsets:
            yield _Round(Reached(done), topics)
        return
    answers = read_topics(query.topic_request(), wanted)
    is_whole = False

    def some(one: _Round) -> Iterator[pa.RecordBatch]:
        nonlocal is_whole
        size = 0
        while size < ROUND:
            answer = next(answers, None)
            if answer is None:
                is_whole = True
                done.update({str(partition): end for partition, (_, end) in wanted.items()})
                break
            for batch in answer.rows:
                size += batch.nbytes
                yield query.finish(batch)
            done[str(answer.partition)] = min(answer.next_offset, wanted[answer.partition][1])
        one.reached = Reached(dict(done))

    while not is_whole:
        one = _Round(Reached(), topics)
        one.batches = some(one)
        yield one
