"""The delivery state of one partition of a share group, from its records. Spark's tasks run this, without Spark.

As the share coordinator does: a snapshot is the whole state, and updates change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

_UNCHANGED = -1
"""A start offset, or an epoch, that an update does not change."""


class StateBatch(NamedTuple):
    """A range of offsets with one delivery state."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    @property
    def rank(self) -> tuple[int, int]:
        """Which of two states of an offset holds: the one after more deliveries, or else the higher one."""
        return self.delivery_count, self.delivery_state


def combined(before: Sequence[StateBatch], changed: Sequence[StateBatch], start_offset: int) -> list[StateBatch]:
    """The state after an update, in the order of offsets.

    Args:
        before: the state before it.
        changed: the batches of the update; where they overlap with others, the state of a higher rank holds.
        start_offset: what is before it is finished, and left out; -1 if it is not known.
    """
    batches = [
        one._replace(first_offset=max(one.first_offset, start_offset))
        for one in (*before, *changed)
        if one.last_offset >= start_offset
    ]
    edges = sorted({edge for one in batches for edge in (one.first_offset, one.last_offset + 1)})
    found: list[StateBatch] = []
    by_start = sorted(batches)
    active: list[StateBatch] = []
    for first, end in pairwise(edges):
        active = [one for one in active if one.last_offset >= first]
        while by_start and by_start[0].first_offset <= first:
            active.append(by_start.pop(0))
        if not active:
            continue
        best = max(active, key=lambda one: one.rank)
        last = found[-1] if found else None
        if last is not None and last.last_offset + 1 == first and last.rank == best.rank:
            found[-1] = last._replace(last_offset=end - 1)
        else:
            found.append(best._replace(first_offset=first, last_offset=end - 1))
    return found


STATE_TYPE: tuple[tuple[str, pa.DataType], ...] = (
    ("group", pa.string()),
    ("topic_id", pa.binary()),
    ("partition", pa.int32()),
    ("start_offset", pa.int64()),
    ("state_epoch", pa.int32()),
    ("leader_epoch", pa.int32()),
    ("snapshot_epoch", pa.int32()),
    ("delivery_complete_count", pa.int32()),
    ("written", pa.int64()),
    (
        "batches",
        pa.list_(
            pa.struct(
                [
                    ("first_offset", pa.int64()),
                    ("last_offset", pa.int64()),
                    ("delivery_state", pa.int8()),
                    ("delivery_count", pa.int16()),
                ]
            )
        ),
    ),
)
"""The columns of a state; `written` is in milliseconds since 1970."""


def final_state(records: pa.Table) -> pa.Table:
    """The state of one partition of a group after all of its records; no row if it was removed, or has no snapshot.

    Args:
        records: with the columns offset, group, topic_id, partition, snapshot and update, of which one is not null
            unless the state was removed.
    """
    rows = sorted(records.to_pylist(), key=lambda row: row["offset"])
    state: dict[str, Any] | None = None
    for row in rows:
        if row["is_removed"]:
            state = None
        elif row["snapshot"] is not None:
            state = _of_snapshot(row)
        elif state is not None:
            state = _updated(state, row["update"])
    return pa.Table.from_pylist([] if state is None else [state], pa.schema(STATE_TYPE))


def _of_snapshot(row: dict[str, Any]) -> dict[str, Any]:
    snapshot = row["snapshot"]
    return {
        **{name: row[name] for name in ("group", "topic_id", "partition")},
        **{
            name: snapshot[name]
            for name in ("start_offset", "state_epoch", "leader_epoch", "snapshot_epoch", "delivery_complete_count")
        },
        "written": snapshot["write_timestamp"],
        "batches": [one._asdict() for one in _batches(snapshot["state_batches"])],
    }


def _updated(state: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    start = _changed(update["start_offset"], state["start_offset"])
    return {
        **state,
        "start_offset": start,
        "leader_epoch": _changed(update["leader_epoch"], state["leader_epoch"]),
        "delivery_complete_count": update["delivery_complete_count"],
        "batches": [
            one._asdict() for one in combined(_batches(state["batches"]), _batches(update["state_batches"]), start)
        ],
    }


def _changed(new: int, old: int) -> int:
    return old if new == _UNCHANGED else new


def _batches(rows: Iterable[dict[str, int]] | None) -> list[StateBatch]:
    return [StateBatch(*(row[name] for name in StateBatch._fields)) for row in rows or ()]
