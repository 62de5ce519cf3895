"""The metrics of groups, by the names and labels that dashboards expect.

Offsets and lag are as kafka_exporter has them, and the lag in seconds as kafka-lag-exporter has it. What neither has
begins with `kipwire`, as all metrics of jobs do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kipwire.cluster.lag import Row, Stalled
from kipwire.cluster.model import Kind, Look
from kipwire.logs.names import Partition
from kipwire.tools.exposition import gauge_lines, pairs_text

_NAME = ("group",)
"""The end of all labels that have the names of groups: `consumergroup`, `sharegroup`."""
_PLACE = ("topic", "partition")
_TOPIC = ("topic",)


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
UNREAD = Gauge(
    "kipwire_consumergroup_unread",
    "The offsets from the first record on that a consumer may still get; 0 if there is none.",
    ("consumergroup", *_PLACE),
)
LAG_SECONDS = Gauge(
    "kafka_consumergroup_group_lag_seconds",
    "How old the first record is that the group has not read; 0 if there is none.",
    ("group", *_PLACE),
)
END = Gauge("kafka_topic_partition_current_offset", "The offset of the next record.", _PLACE)
STALLED = Gauge(
    "kipwire_consumergroup_stalled_seconds",
    "How long the offset has not moved, of groups with unread records.",
    ("consumergroup", *_PLACE),
)
TOO_LATE = Gauge(
    "kipwire_consumergroup_too_late",
    "How many offsets were removed before the group has read them, where there are such.",
    ("consumergroup", *_PLACE),
)
WITHOUT_OFFSET = Gauge(
    "kipwire_consumergroup_without_offset",
    "1 for a partition that a member reads, and of which the group has committed no offset.",
    ("consumergroup", *_PLACE),
)
AS_OF = Gauge(
    "kipwire_offsets_as_of_timestamp_seconds",
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
OFFSET_SUM = Gauge(
    "kafka_consumergroup_current_offset_sum",
    "The committed offsets of a group in a topic, added.",
    ("consumergroup", "topic"),
)
LAG_SUM = Gauge(
    "kafka_consumergroup_lag_sum",
    "The lag of a group in a topic, over the partitions with a committed offset; none if one of these is not known.",
    ("consumergroup", "topic"),
)
UNREAD_SUM = Gauge(
    "kipwire_consumergroup_unread_sum",
    "The unread offsets of a group in a topic, as kafka_consumergroup_lag_sum.",
    ("consumergroup", "topic"),
)
UP = Gauge("kipwire_offsets_up", "1 if the last round has reached the cluster, else 0; then nothing else is known.")
PROBLEMS = Gauge(
    "kipwire_offsets_problems", "How many brokers, groups and partitions could not be read in the last round."
)
ROUND_SECONDS = Gauge("kipwire_offsets_round_seconds", "How long the last round took.")


def metrics_of(look: Look, rows: Iterable[Row], stalled: Iterable[Stalled]) -> str:
    """Format the metrics of a look as text. What is not known has no sample.

    Args:
        look: the look.
        rows: the rows of lag that follow from it, in the order in which they are written.
        stalled: the rows that stand still.
    """
    partitions: dict[Partition, str] = {}
    """The labels of partitions, each made once for many rows."""

    def of_partition(partition: Partition) -> str:
        if (found := partitions.get(partition)) is None:
            partitions[partition] = found = pairs_text(_PLACE, (partition.topic, str(partition.number)))
        return found

    names = {group.name: pairs_text(_NAME, (group.name,)) for group in look.groups}
    of_groups: list[tuple[str, Row]] = []
    of_shares: list[tuple[str, Row]] = []
    for row in rows:
        pairs = f"{names[row.group]},{of_partition(row.partition)}"
        (of_shares if row.kind is Kind.SHARE else of_groups).append((pairs, row))
    of_stalled = [(f"{names[one.row.group]},{of_partition(one.row.partition)}", one.seconds) for one in stalled]
    of_members = [(names[one.name], None if one.members is None else len(one.members)) for one in look.groups]
    by_topic: dict[tuple[str, str], list[Row]] = {}
    for _, row in of_groups:
        if row.offset is not None:
            by_topic.setdefault((row.group, row.partition.topic), []).append(row)
    of_topics = by_topic.values()
    topic_pairs = [f"{names[group]},{pairs_text(_TOPIC, (topic,))}" for group, topic in by_topic]

    def sums(numbers: Iterable[Iterable[int | None]]) -> Iterator[tuple[str, int | None]]:
        return zip(topic_pairs, map(_sum, numbers), strict=True)

    lines = [
        *_lines(OFFSET, ((pairs, row.offset) for pairs, row in of_groups)),
        *_lines(LAG, ((pairs, row.lag) for pairs, row in of_groups)),
        *_lines(UNREAD, ((pairs, row.unread) for pairs, row in of_groups)),
        *_lines(LAG_SECONDS, ((pairs, row.seconds) for pairs, row in of_groups)),
        *_lines(STALLED, of_stalled),
        *_lines(TOO_LATE, ((pairs, row.too_late or None) for pairs, row in of_groups)),
        *_lines(WITHOUT_OFFSET, ((pairs, int(row.has_no_offset) or None) for pairs, row in of_groups)),
        *_lines(END, ((of_partition(partition), end) for partition, end in sorted(look.ends.items()))),
        *_lines(START, ((of_partition(partition), start) for partition, start in sorted(look.starts.items()))),
        *_lines(OFFSET_SUM, sums((row.offset for row in some) for some in of_topics)),
        *_lines(LAG_SUM, sums((row.lag for row in some) for some in of_topics)),
        *_lines(UNREAD_SUM, sums((row.unread for row in some) for some in of_topics)),
        *_lines(MEMBERS, of_members),
        *_lines(SHARE_START, ((pairs, row.offset) for pairs, row in of_shares)),
        *_lines(SHARE_LAG, ((pairs, row.lag) for pairs, row in of_shares)),
        *_lines(AS_OF, [("", look.time)]),
        *_lines(PROBLEMS, [("", len(look.problems))]),
    ]
    return "\n".join([*lines, ""])


def _sum(numbers: Iterable[int | None]) -> int | None:
    """Add numbers; None if one is not known, as a smaller sum would look like good news."""
    known = list(numbers)
    return None if None in known else sum(number or 0 for number in known)


def health(*, is_up: bool, seconds: float | None) -> str:
    """Format the metrics of the exporter itself as text.

    Args:
        is_up: whether the last round has reached the cluster.
        seconds: how long it took; None if there was none.
    """
    lines = [*_lines(UP, [("", int(is_up))]), *_lines(ROUND_SECONDS, [("", seconds)])]
    return "".join([f"{line}\n" for line in lines])


def _lines(gauge: Gauge, samples: Iterable[tuple[str, float | None]]) -> Iterator[str]:
    """Write the lines of known samples; the pairs of groups begin with `_NAME`, which a gauge may prefix."""
    start = gauge.labels[0].removesuffix(_NAME[0]) if gauge.labels and gauge.labels[0].endswith(_NAME[0]) else ""
    known = [(start + pairs, number) for pairs, number in samples if number is not None]
    return gauge_lines(gauge.name, gauge.about, known)
