"""The tables at the end: a summary of the traffic, and whom an upgrade would break, for people or as JSON objects.

The summary counts as exchanges come and keeps none; here its counts become tables or JSON objects of the same content.
`upgrade_of` compares the requests that were seen with the versions that a release serves (`traffic.upgrades`), and
names the upgrade of the library that fixes it, if that is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kipwire.cli.text_tables import MOST_SHOWN, table_lines
from kipwire.console.reading import counts_json, read_text, unread_json, unread_text
from kipwire.tools.text import count_of
from kipwire.tools.times import moment_text_of_ns
from kipwire.traffic.summary import REST, Counts, TrafficSummary, Use
from kipwire.traffic.unread import Reading
from kipwire.traffic.upgrades import KIP_896, LIBRARIES, Unserved, client_of, find_unserved, is_judged

_NS_OF_MS = 10**6
_QUANTILES = (0.5, 0.99)
_ADDRESSES = "addresses"


class UnservedUse(NamedTuple):
    """Requests of a client that a release does not serve."""

    use: Use
    counts: Counts
    unserved: Unserved


class UnknownUse(NamedTuple):
    """Requests of an API that no release of Kafka has, of which nothing can be said."""

    use: Use
    counts: Counts


class Upgrade(NamedTuple):
    """Requests that a release does not serve, and the evidence for that."""

    release: str
    uses: tuple[UnservedUse, ...]
    """By client, most requests first."""
    unknown: tuple[UnknownUse, ...]
    requests: int
    """Number of all requests that were read, also of unknown APIs."""
    clients: int
    has_more_clients: bool
    """True if further clients are counted together."""

    @property
    def judged(self) -> int:
        """Number of requests of known APIs, on which the statement stands."""
        return self.requests - sum(one.counts.requests for one in self.unknown)


def upgrade_of(summary: TrafficSummary, release: str) -> Upgrade:
    """Compare the requests with the versions that a release serves.

    Args:
        summary: of the requests.
        release: a line of releases.
    """
    found, unknown = [], []
    for use, counts in summary.uses.items():
        if not counts.requests:  # only responses to requests that were not captured
            continue
        if not is_judged(release, use.api_key):
            unknown.append(UnknownUse(use, counts))
            continue
        missing = find_unserved(release, use.api_key, use.version, client_of(use.software, use.client_id))
        if missing is not None:
            found.append(UnservedUse(use, counts, missing))
    clients = {use.client_id for use, counts in summary.uses.items() if counts.requests}
    has_more = REST in clients
    return Upgrade(
        release,
        tuple(sorted(found, key=lambda one: (one.use.client_id or "", -one.counts.requests, one.use[1:]))),
        tuple(sorted(unknown, key=lambda one: (one.use.api_key, one.use.version, one.use.client_id or ""))),
        sum(counts.requests for counts in summary.uses.values()),
        len(clients) - has_more,
        has_more,
    )


def summary_text(summary: TrafficSummary, reading: Reading) -> str:
    """Format a summary as tables for people, followed by what was read, whatever of it the summary counts."""
    total = Counts()
    for counts in summary.uses.values():
        total.merge(counts)
    between = ""
    if summary.first is not None and summary.last is not None:
        between = f" from {moment_text_of_ns(summary.first)} to {moment_text_of_ns(summary.last)}"
    lines = [f"{count_of(total.requests, 'request')} and {count_of(total.responses, 'response')}{between}\n"]
    numbers = ("requests", "responses", "bytes of requests", "of responses", "p50 ms", "p99 ms", "errors")
    clients = (
        (_name(client_id), _library(software), _hosts(counts), *_numbers(counts))
        for (client_id, software), counts in summary.by_client().items()
    )
    lines += _client_table("clients", ("client", "library", _ADDRESSES, *numbers), clients, 3)
    apis = summary.by_api()
    rows = (
        (f"{api} v{version}" if key >= 0 else api, *_numbers(counts)) for (key, api, version), counts in apis.items()
    )
    lines += table_lines("APIs", ("API", *numbers), rows, 1)
    uses = sorted(summary.uses.items(), key=lambda item: (-item[1].requests, str(item[0])))
    rows = ((_name(use.client_id), _api(use), *_numbers(counts)) for use, counts in uses)
    lines += table_lines("clients and the APIs they use", ("client", "API", *numbers), rows, 2)
    if summary.failures:
        failures = (
            (one.api, one.path, _error(one.code, one.name), str(n)) for one, n in summary.failures.most_common()
        )
        lines += table_lines("error codes", ("API", "path", "error", "fields"), failures, 3)
    if summary.problems:
        problems = ((text, str(count)) for text, count in summary.problems.most_common())
        lines += table_lines("bytes that are not frames", ("error", "times"), problems, 1)
    return "".join(lines) + "\n" + read_text(reading) + (unread_text(reading) or "not read: nothing\n")


def upgrade_text(upgrade: Upgrade, reading: Reading) -> str:
    """Format the uses that an upgrade would break as a table for people, and the evidence."""
    uses, release = upgrade.uses, upgrade.release
    lines = []
    clients = count_of(upgrade.clients, "client") + (" and more" if upgrade.has_more_clients else "")
    judged = upgrade.judged
    if not judged:
        known = " of a known API" if upgrade.requests else ""
        lines.append(f"No request{known} was read, so nothing is known of an upgrade to Kafka {release}\n")
    elif uses:
        lines += _unserved_lines(uses, release)
        were = "was" if upgrade.requests == 1 else "were"
        lines.append(f"{count_of(upgrade.requests, 'request')} of {clients} {were} read\n")
    else:
        served = f"all {judged:,} requests that were" if judged > 1 else "the request that was"
        lines.append(f"Kafka {release} serves {served} read, of {clients}\n")
    for use, counts in upgrade.unknown[:MOST_SHOWN]:
        api = f"{use.api} v{use.version}" if use.api_key >= 0 else "other APIs"
        lines.append(
            f"not known to any release: {count_of(counts.requests, 'request')} of {api} by {_name(use.client_id)}\n"
        )
    return "".join(lines) + unread_text(reading)


def _unserved_lines(uses: Sequence[UnservedUse], release: str) -> list[str]:
    who = len({one.use[:2] for one in uses})
    lines = [f"Kafka {release} does not serve what {count_of(who, 'client')} {'sends' if who == 1 else 'send'}\n"]
    rows = (
        (
            _name(use.client_id),
            _library(use.software),
            _hosts(counts),
            _api(use),
            str(counts.requests),
            missing.served,
            missing.fix,
        )
        for use, counts, missing in uses
    )
    header = ("client", "library", _ADDRESSES, "sends", "requests", f"{release} serves", f"{KIP_896} says")
    lines += _client_table("", header, rows, 4, texts_after=1)
    if any(one.unserved.fix.endswith("?") for one in uses):
        lines.append("? the library is guessed by the client id\n")
    if any(not one.unserved.fix for one in uses):
        lines.append(f"{KIP_896} names {', '.join(one.fixed for one in LIBRARIES)}\n")
    return lines


def summary_json(summary: TrafficSummary, reading: Reading) -> str:
    """Format a summary as a JSON object."""
    shown = {
        "type": "summary",
        "first_ns": summary.first,
        "last_ns": summary.last,
        "clients": [
            {**_client(client_id, software, counts), **_counts(counts)}
            for (client_id, software), counts in summary.by_client().items()
        ],
        "apis": [
            {"api": api, "api_key": key, "api_version": version, **_counts(counts)}
            for (key, api, version), counts in summary.by_api().items()
        ],
        "uses": [{**_use(use, counts), **_counts(counts)} for use, counts in summary.uses.items()],
        "error_codes": [
            {"api": one.api, "path": one.path, "code": one.code, "error": one.name, "fields": count}
            for one, count in summary.failures.most_common()
        ],
        "errors": [{"error": text, "times": count} for text, count in summary.problems.most_common()],
        "read": counts_json(reading),
        "unread": unread_json(reading),
    }
    return json.dumps(shown, separators=(",", ":")) + "\n"


def upgrade_json(upgrade: Upgrade, reading: Reading) -> str:
    """Format the uses that an upgrade would break as a JSON object, and the evidence."""
    shown = {
        "type": "upgrade",
        "release": upgrade.release,
        "unserved": [
            {**_use(use, counts), "requests": counts.requests, "served": missing.served, "fix": missing.fix or None}
            for use, counts, missing in upgrade.uses
        ],
        "unknown": [{**_use(use, counts), "requests": counts.requests} for use, counts in upgrade.unknown],
        "requests": upgrade.requests,
        "clients": upgrade.clients,
        "has_more_clients": upgrade.has_more_clients,
        "read": counts_json(reading),
        "unread": unread_json(reading),
    }
    return json.dumps(shown, separators=(",", ":")) + "\n"


def _client_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], texts: int, texts_after: int = 0
) -> Iterator[str]:
    """Format a table of clients, without addresses if there are none, as in captures of kipwire's own format."""
    shown: Sequence[Sequence[str]] = list(rows)
    at = header.index(_ADDRESSES)
    if not any(row[at] for row in shown):
        header, *shown = [[*row[:at], *row[at + 1 :]] for row in (header, *shown)]
        texts -= 1
    return table_lines(title, header, shown, texts, texts_after)


def _numbers(counts: Counts) -> tuple[str, ...]:
    amounts = (counts.requests, counts.responses, counts.request_bytes, counts.response_bytes)
    quantiles = [counts.latencies.quantile(share) for share in _QUANTILES]
    latencies = ["" if one is None else f"{one / _NS_OF_MS:.2f}" for one in quantiles]
    return (*map(str, amounts), *latencies, str(counts.with_errors + counts.broken))


def _name(client_id: str | None) -> str:
    return "none" if client_id is None else client_id if client_id == REST else repr(client_id)


def _library(software: tuple[str, str] | None) -> str:
    return "" if software is None else " ".join(software)


def _hosts(counts: Counts) -> str:
    return ",".join(counts.hosts) + (",…" if counts.has_more_hosts else "")


def _api(use: Use) -> str:
    return f"{use.api} v{use.version}" if use.api_key >= 0 else use.api


def _error(code: int, name: str | None) -> str:
    return name or f"error {code}"


def _client(client_id: str | None, software: tuple[str, str] | None, counts: Counts) -> dict[str, Any]:
    name, version = software or (None, None)
    return {
        "client_id": client_id,
        "software_name": name,
        "software_version": version,
        "hosts": counts.hosts,
        "has_more_hosts": counts.has_more_hosts,
    }


def _use(use: Use, counts: Counts) -> dict[str, Any]:
    api = {"api": use.api, "api_key": use.api_key, "api_version": use.version}
    return {**_client(use.client_id, use.software, counts), **api}


def _counts(counts: Counts) -> dict[str, Any]:
    p50, p99 = (counts.latencies.quantile(share) for share in _QUANTILES)
    return {
        "requests": counts.requests,
        "responses": counts.responses,
        "request_bytes": counts.request_bytes,
        "response_bytes": counts.response_bytes,
        "latency_p50_ns": p50,
        "latency_p99_ns": p99,
        "latency_highest_ns": counts.latencies.highest if counts.latencies.count else None,
        "with_errors": counts.with_errors,
        "broken": counts.broken,
    }
