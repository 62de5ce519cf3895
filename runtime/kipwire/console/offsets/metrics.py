"""The metrics of groups, by the names and labels that dashboards expect.

Offsets and lag are as kafka_exporter has them, and the lag in seconds as kafka-lag-exporter has it. What neither has
begins with `kipspark`, where `kipspark offsets --metrics` has it, too, or with `kipwire`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kipwire.console.offsets.lag import Row, Stalled
from kipwire.console.offsets.model import Kind, Look
from kipwire.tools.exposition import gauge_lines

_PLACE = ("topic", "partition")


class Gauge(NamedTuple):
    """A metric."""

    name: str
    about: str
    labels: tuple[str, ...] = ()


OFFSET = Gauge(
    "kafka_consumergroup_current_offset",
    "The offset that a group has committed for a partition, which is the next one it would read.",
    ("consumergroup", *_PLACE),
)
LAG = Gauge(
    "kafka_consumergroup_lag",
    "The end of the partition minus the committed offset; 0 if the group is ahead of it.",
    ("consumergroup", *_PLACE),
)
LAG_SECONDS = Gauge(
    "kafka_consumergroup_group_lag_seconds",
    "How old the first record is that the group has not read; 0 if there is none.",
    ("group", *_PLACE),
)
END = Gauge("kafka_topic_partition_current_offset", "The offset of the next record.", _PLACE)
STALLED = Gauge(
    "kipspark_consumergroup_stalled_seconds",
    "How long the committed offset has not moved, of groups that stand still while the topic grows.",
    ("consumergroup", *_PLACE),
)
AS_OF = Gauge(
    "kipspark_offsets_as_of_timestamp_seconds",
    "The time that lag and ages are of: that of the last known record, or of reading from brokers.",
)
START = Gauge("kafka_topic_partition_oldest_offset", "The offset of the first record that is left.", _PLACE)
MEMBERS = Gauge("kafka_consumergroup_members", "How many members a group has.", ("consumergroup",))
SHARE_START = Gauge(
    "kipwire_sharegroup_start_offset",
    "The offset of the first record that a share group may still deliver.",
    ("sharegroup", *_PLACE),
)
SHARE_LAG = Gauge(
    "kipwire_sharegroup_lag",
    "How many records a share group has still to deliver, as its coordinator counts them.",
    ("sharegroup", *_PLACE),
)
UP = Gauge("kipwire_offsets_up", "1 if the last round has reached the cluster, else 0; then nothing else is known.")
PROBLEMS = Gauge(
    "kipwire_offsets_problems", "How many brokers, groups and partitions could not be read in the last round."
)
ROUND_SECONDS = Gauge("kipwire_offsets_round_seconds", "How long the last round took.")


def metrics_of(look: Look, rows: Iterable[Row], stalled: Iterable[Stalled]) -> str:
    """The metrics of a look, as text. What is not known has no sample."""
    ordered = sorted(rows, key=lambda row: (row.group, row.place))
    of_groups = [((row.group, *_texts(row.place)), row) for row in ordered if row.kind is not Kind.SHARE]
    of_shares = [((row.group, *_texts(row.place)), row) for row in ordered if row.kind is Kind.SHARE]
    lines = [
        *_lines(OFFSET, ((labels, row.offset) for labels, row in of_groups)),
        *_lines(LAG, ((labels, row.lag) for labels, row in of_groups)),
        *_lines(LAG_SECONDS, ((labels, row.seconds) for labels, row in of_groups)),
        *_lines(STALLED, (((one.row.group, *_texts(one.row.place)), one.seconds) for one in stalled)),
        *_lines(END, ((_texts(place), end) for place, end in sorted(look.ends.items()))),
        *_lines(START, ((_texts(place), start) for place, start in sorted(look.starts.items()))),
        *_lines(MEMBERS, (((one.name,), None if one.members is None else len(one.members)) for one in look.groups)),
        *_lines(SHARE_START, ((labels, row.offset) for labels, row in of_shares)),
        *_lines(SHARE_LAG, ((labels, row.lag) for labels, row in of_shares)),
        *_lines(AS_OF, [((), look.time)]),
        *_lines(PROBLEMS, [((), len(look.problems))]),
    ]
    return "".join([f"{line}\n" for line in lines])


def health(*, is_up: bool, seconds: float | None) -> str:
    """The metrics of the exporter itself, as text.

    Args:
        is_up: whether the last round has reached the cluster.
        seconds: how long it took; None if there was none.
    """
    lines = [*_lines(UP, [((), int(is_up))]), *_lines(ROUND_SECONDS, [((), seconds)])]
    return "".join([f"{line}\n" for line in lines])


def _texts(place: tuple[str, int]) -> tuple[str, str]:
    return place[0], str(place[1])


def _lines(gauge: Gauge, samples: Iterable[tuple[tuple[str, ...], float | None]]) -> Iterator[str]:
    known = [(labels, number) for labels, number in samples if number is not None]
    return gauge_lines(gauge.name, gauge.about, gauge.labels, known)
