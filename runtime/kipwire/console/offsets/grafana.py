"""A board of Grafana for the metrics of `kipwire offsets --serve`, as data of its JSON model.

Queries are made of the gauges of `kipwire.cluster.metrics`, so no name can differ from the exporter's. The source of
data is a variable of the board, as are groups and topics: it works when imported by hand and when provisioned from a
file.

Source: "Dashboard JSON model" in Grafana's documentation, schemaVersion 39 (Grafana 10.4 and newer).
"""

from __future__ import annotations

from typing import Any

from kipwire.cluster.metrics import (
    AS_OF,
    END,
    LAG,
    LAG_SECONDS,
    LAG_SUM,
    MEMBERS,
    OFFSET_SUM,
    PROBLEMS,
    ROUND_SECONDS,
    SHARE_LAG,
    STALLED,
    TOO_LATE,
    UNREAD_SUM,
    UP,
    WITHOUT_OFFSET,
    Gauge,
)

_SOURCE = {"type": "prometheus", "uid": "${source}"}
_WIDTH = 24
"""Columns of a board."""


def board() -> dict[str, Any]:
    """Make the board."""
    panels = [
        *_row(
            4,
            _stat("Cluster reachable", f"min({UP.name})", worst=1, is_low=True),
            _stat("Could not be read", f"sum({PROBLEMS.name})", worst=1),
            _stat("Highest lag in seconds", f"max({_of(LAG_SECONDS)})", unit="s", worst=600),
            _stat("Partitions of stalled groups", _count(STALLED), worst=1),
            _stat("Removed before they were read", f"sum({_of(TOO_LATE)}) or vector(0)", worst=1),
            _stat("Read without a commit", _count(WITHOUT_OFFSET), worst=1),
        ),
        *_row(
            9,
            _lines("Lag", _by_topic(LAG_SUM), "{{consumergroup}} {{topic}}"),
            _lines("Lag in seconds", _by_topic(LAG_SECONDS, "max"), "{{group}} {{topic}}", unit="s"),
        ),
        *_row(
            9,
            _lines("Unread", _by_topic(UNREAD_SUM), "{{consumergroup}} {{topic}}"),
            _lines("Seconds without a commit", _by_topic(STALLED, "max"), "{{consumergroup}} {{topic}}", unit="s"),
        ),
        *_row(
            9,
            _lines("Consumed a second", _rate(OFFSET_SUM, "consumergroup, topic"), "{{consumergroup}} {{topic}}"),
            _lines("Produced a second", _rate(END, "topic"), "{{topic}}"),
        ),
        *_row(10, _table("Partitions with the largest lag", f"topk(50, {_of(LAG)} > 0)")),
        *_row(
            8,
            _lines("Members", f"sum by (consumergroup) ({_of(MEMBERS)})", "{{consumergroup}}"),
            _lines("Lag of share groups", _by_topic(SHARE_LAG), "{{sharegroup}} {{topic}}"),
            _lines("Seconds for a round", f"max({ROUND_SECONDS.name})", "round", unit="s"),
            _lines("Age of the last round", f"time() - max({AS_OF.name})", "age", unit="s"),
        ),
    ]
    top = 0
    for number, (panel, x, width, height) in enumerate(panels, 1):
        panel |= {"id": number, "gridPos": {"x": x, "y": top, "w": width, "h": height}}
        if x + width == _WIDTH:
            top += height
    return {
        "title": "Kafka consumer lag (kipwire)",
        "uid": "kipwire-offsets",
        "tags": ["kafka", "kipwire"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": [panel for panel, *_ in panels],
    }


def _variables() -> list[dict[str, Any]]:
    def values(name: str, gauge: Gauge, label: str) -> dict[str, Any]:
        query = f"label_values({gauge.name}, {label})"
        return {
            "name": name,
            "type": "query",
            "datasource": _SOURCE,
            "definition": query,
            "query": {"query": query, "refId": name},
            "refresh": 2,  # whenever the time range changes
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        }

    source = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return [source, values("group", MEMBERS, "consumergroup"), values("topic", END, "topic")]


def _of(gauge: Gauge) -> str:
    """Select the samples of the groups and topics that are chosen on the board."""
    chosen = [
        f'{label}=~"${"topic" if label == "topic" else "group"}"'
        for label in gauge.labels
        if label in ("topic", "group", "consumergroup")
    ]
    return f"{gauge.name}{{{', '.join(chosen)}}}"


def _by_topic(gauge: Gauge, operator: str = "sum") -> str:
    return f"{operator} by ({gauge.labels[0]}, topic) ({_of(gauge)})"


def _rate(gauge: Gauge, labels: str) -> str:
    return f"sum by ({labels}) (rate({_of(gauge)}[$__rate_interval]))"


def _count(gauge: Gauge) -> str:
    """Count samples of what has one only where something is wrong."""
    return f"count({_of(gauge)}) or vector(0)"


def _row(height: int, *panels: dict[str, Any]) -> list[tuple[dict[str, Any], int, int, int]]:
    width = _WIDTH // len(panels)
    return [(panel, number * width, width, height) for number, panel in enumerate(panels)]


def _panel(kind: str, title: str, query: str, legend: str, *, is_instant: bool) -> dict[str, Any]:
    when = {"instant": True, "format": "table"} if kind == "table" else {"instant": is_instant}
    target = {"refId": "A", "datasource": _SOURCE, "expr": query, "legendFormat": legend, **when}
    return {"type": kind, "title": title, "datasource": _SOURCE, "targets": [target]}


def _stat(title: str, query: str, *, worst: float, unit: str = "none", is_low: bool = False) -> dict[str, Any]:
    """Make a number that is red from a value on, or below it."""
    colours = ("red", "green") if is_low else ("green", "red")
    steps = [{"color": colours[0], "value": None}, {"color": colours[1], "value": worst}]
    return _panel("stat", title, query, "", is_instant=True) | {
        "options": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background"},
        "fieldConfig": {
            "defaults": {"unit": unit, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
    }


def _lines(title: str, query: str, legend: str, *, unit: str = "short") -> dict[str, Any]:
    return _panel("timeseries", title, query, legend, is_instant=False) | {
        "options": {
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
    }


def _table(title: str, query: str) -> dict[str, Any]:
    hidden = {"excludeByName": {"Time": True, "__name__": True, "instance": True, "job": True}}
    return _panel("table", title, query, "", is_instant=True) | {
        "transformations": [{"id": "organize", "options": hidden | {"renameByName": {"Value": "lag"}}}],
        "options": {"sortBy": [{"displayName": "lag", "desc": True}]},
        "fieldConfig": {"defaults": {}, "overrides": []},
    }
