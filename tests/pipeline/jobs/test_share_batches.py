"""The delivery state of share groups, as their coordinator puts it together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kipjobs.jobs.share.tables import StateBatch, combine_state, final_state

BATCHES = st.lists(
    st.builds(
        lambda first, count, state, deliveries: StateBatch(first, first + count, state, deliveries),
        st.integers(0, 20),
        st.integers(0, 6),
        st.sampled_from([0, 2, 4]),
        st.integers(1, 3),
    ),
    max_size=6,
)


def by_offset(batches: list[StateBatch]) -> dict[int, tuple[int, int]]:
    """Return the state of each offset: the one of the highest rank."""
    found: dict[int, tuple[int, int]] = {}
    for one in batches:
        for offset in range(one.first_offset, one.last_offset + 1):
            found[offset] = max(one.rank, found.get(offset, one.rank))
    return found


@given(BATCHES, BATCHES, st.integers(-1, 12))
def test_each_offset_has_its_highest_state_once(
    before: list[StateBatch], changed: list[StateBatch], start: int
) -> None:
    found = combine_state(before, changed, start)
    expected = {offset: rank for offset, rank in by_offset(before + changed).items() if offset >= start}
    assert by_offset(found) == expected
    for one, other in pairwise(found):
        assert one.last_offset < other.first_offset
        assert one.rank != other.rank or one.last_offset + 1 < other.first_offset


def row(offset: int, snapshot: dict[str, Any] | None = None, update: dict[str, Any] | None = None) -> dict[str, Any]:
    is_removed = snapshot is None and update is None
    of = {"group": "g", "topic_id": bytes(16), "partition": 0, "offset": offset}
    return {**of, "snapshot": snapshot, "update": update, "is_removed": is_removed}


def batch(first: int, last: int, state: int, count: int) -> dict[str, int]:
    return {"first_offset": first, "last_offset": last, "delivery_state": state, "delivery_count": count}


SNAPSHOT = {
    "snapshot_epoch": 1,
    "state_epoch": 4,
    "leader_epoch": 2,
    "start_offset": 10,
    "delivery_complete_count": 0,
    "write_timestamp": 5,
    "state_batches": [batch(10, 19, 0, 1)],
}
UPDATE = {
    "snapshot_epoch": 1,
    "leader_epoch": -1,
    "start_offset": -1,
    "delivery_complete_count": 3,
    "state_batches": [batch(12, 14, 2, 1)],
}


def state(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return final_state(pa.Table.from_pylist(list(reversed(rows)))).to_pylist()  # type: ignore[no-any-return]


def test_updates_change_the_snapshot_before_them() -> None:
    (found,) = state(row(0, SNAPSHOT), row(1, update=UPDATE))
    assert (found["start_offset"], found["leader_epoch"], found["state_epoch"]) == (10, 2, 4)
    assert found["delivery_complete_count"] == 3
    assert found["batches"] == [batch(10, 11, 0, 1), batch(12, 14, 2, 1), batch(15, 19, 0, 1)]
    (moved,) = state(row(0, SNAPSHOT), row(1, update=UPDATE), row(2, update={**UPDATE, "start_offset": 13}))
    assert (moved["start_offset"], moved["batches"]) == (13, [batch(13, 14, 2, 1), batch(15, 19, 0, 1)])


def test_a_snapshot_replaces_what_was_before() -> None:
    newer = {**SNAPSHOT, "start_offset": 40, "state_batches": []}
    (found,) = state(row(0, SNAPSHOT), row(1, update=UPDATE), row(2, newer))
    assert (found["start_offset"], found["batches"]) == (40, [])


def test_what_was_removed_or_has_no_snapshot_is_not_there() -> None:
    assert state(row(0, SNAPSHOT), row(1)) == []
    assert state(row(0, update=UPDATE), row(1)) == []
