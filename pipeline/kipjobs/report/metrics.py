"""Numbers of a job in Prometheus' text format, for the textfile collector of node_exporter or a Pushgateway."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kipjobs.engines import DataFrame, functions_of
from kipwire.tables.arrow import python_rows
from kipwire.tools.exposition import gauge_lines, pairs_text


@dataclass(frozen=True)
class Gauge:
    """One metric: a number of each row that has it."""

    name: str
    help: str
    column: str
    """The column of numbers; a row with null has no sample."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The column of each label."""


@dataclass(frozen=True)
class Metrics:
    """The metrics of one table."""

    frame: DataFrame
    gauges: tuple[Gauge, ...]


def exposition(metrics: Iterable[Metrics]) -> str:
    """Return all metrics as text. The samples of a metric are consecutive, in the order of their labels."""
    return "".join(f"{line}\n" for one in metrics for line in _lines(one))


def _lines(metrics: Metrics) -> Iterator[str]:
    labels = list(dict.fromkeys(column for gauge in metrics.gauges for column in gauge.labels.values()))
    sf = functions_of(metrics.frame)
    texts = {name for name, type_ in metrics.frame.dtypes if type_ == "string"}
    # Texts in Kafka may have any bytes; the format is UTF-8.
    valid = [sf.valid_text(name).alias(name) if name in texts else sf.col(name) for name in labels]
    values = [sf.col(name) for name in dict.fromkeys(gauge.column for gauge in metrics.gauges)]
    rows = python_rows(metrics.frame.select(*valid, *values).toArrow())
    rows.sort(key=lambda row: [row[name] for name in labels])
    for gauge in metrics.gauges:
        names = list(gauge.labels)
        samples = [
            (pairs_text(names, [str(row[column]) for column in gauge.labels.values()]), row[gauge.column])
            for row in rows
            if row[gauge.column] is not None
        ]
        yield from gauge_lines(gauge.name, gauge.help, samples)
