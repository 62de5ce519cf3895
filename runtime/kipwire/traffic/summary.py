"""Counts of exchanges: clients, APIs and versions, amounts, latencies and failures.

Memory is bounded for any input: each table has a limit of rows, and one row for the rest. Latencies are counted by
steps, not kept.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import exp, log
from typing import NamedTuple, TypeVar

from kipwire.traffic.exchanges import Exchange
from kipwire.traffic.packet_captures import MOST_CONNECTIONS

K = TypeVar("K")

MOST_ROWS = 2000
"""The most rows of a table that have a client of their own; as many more are for all other clients, by API."""
MOST_HOSTS = 4
"""The most addresses of a client that are kept."""
_LONGEST = 200
"""The characters that are kept of a client id, and of the name and the version of a library."""
STEP = 1.05
"""Ratio of a latency step to the step below it: quantiles are exact to 2.5 percent."""
_LOG_OF_STEP = log(STEP)
REST = "(others)"
"""The client id of the row for the clients that have no row of their own."""


class Latencies:
    """A sketch of latencies: how many there are by steps of `STEP`, in the memory of the steps that occur."""

    def __init__(self) -> None:
        self.count = 0
        self.highest = 0
        """Highest latency in nanoseconds, exactly."""
        self._by_step: Counter[int] = Counter()

    def add(self, nanoseconds: int) -> None:
        """Count a latency; one below 1 counts as 1."""
        self.count += 1
        self.highest = max(self.highest, nanoseconds)
        self._by_step[int(log(max(nanoseconds, 1)) / _LOG_OF_STEP)] += 1

    def merge(self, other: Latencies) -> None:
        """Add the latencies of another."""
        self.count += other.count
        self.highest = max(self.highest, other.highest)
        self._by_step.update(other._by_step)

    def quantile(self, share: float) -> int | None:
        """Estimate the nanoseconds that this share of all latencies does not exceed; None if there are no latencies."""
        wanted = share * self.count
        seen = 0
        for step in sorted(self._by_step):
            seen += self._by_step[step]
            if seen >= wanted:
                return min(round(exp((step + 0.5) * _LOG_OF_STEP)), self.highest)
        return None


@dataclass(eq=False, slots=True)
class Counts:
    """Counts of some exchanges."""

    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    with_errors: int = 0
    """Exchanges with an error code."""
    broken: int = 0
    """Exchanges of which something was not captured, or cannot be decoded."""
    latencies: Latencies = field(default_factory=Latencies)
    hosts: list[str] = field(default_factory=list)
    """Addresses of the clients, without ports; at most `MOST_HOSTS`."""
    has_more_hosts: bool = False

    def add(self, exchange: Exchange) -> None:
        """Count an exchange."""
        request, response = exchange
        if request is not None:
            self.requests += 1
            self.request_bytes += request.size or 0
        if response is not None:
            self.responses += 1
            self.response_bytes += response.size or 0
        if exchange.latency is not None:
            self.latencies.add(exchange.latency)
        self.with_errors += bool(exchange.errors)
        self.broken += bool(exchange.problems)
        client = exchange.first.found.client
        if client is not None:
            self.add_host(client.rpartition(":")[0])

    def add_host(self, host: str) -> None:
        """Note an address of the client; empty if it is not known."""
        self._add_hosts((host,) if host else (), False)

    def merge(self, other: Counts) -> None:
        """Add what was counted of others."""
        self.requests += other.requests
        self.responses += other.responses
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.with_errors += other.with_errors
        self.broken += other.broken
        self.latencies.merge(other.latencies)
        self._add_hosts(other.hosts, other.has_more_hosts)

    def _add_hosts(self, hosts: Iterable[str], has_more: bool) -> None:
        self.has_more_hosts |= has_more
        for host in hosts:
            if host in self.hosts:
                continue
            if len(self.hosts) < MOST_HOSTS:
                self.hosts.append(host)
            else:
                self.has_more_hosts = True


class Use(NamedTuple):
    """A client's use of a version of an API."""

    client_id: str | None
    """`REST` for clients without a row of their own."""
    software: tuple[str, str] | None
    """Name and version of the client's library, if the same connection said them before."""
    api_key: int
    """-1 if not even APIs have a row of their own."""
    api: str
    version: int


class Failure(NamedTuple):
    """An error code in the messages of an API."""

    api: str
    path: str
    code: int
    name: str | None


class TrafficSummary:
    """Counts of all exchanges."""

    def __init__(self) -> None:
        self.uses: dict[Use, Counts] = {}
        self.failures: Counter[Failure] = Counter()
        """Number of fields with each failure."""
        self.problems: Counter[str] = Counter()
        """Errors about bytes that are no frame."""
        self.first: int | None = None
        self.last: int | None = None
        """Nanoseconds since 1970 of the first and of the last frame."""
        self._software: OrderedDict[int | None, tuple[str, str]] = OrderedDict()
        """Name and version of the client's software, by connection, as long as the connection is among the latest."""

    def begin_capture(self) -> None:
        """Start another capture, whose connections are numbered anew."""
        self._software.clear()

    def add(self, exchange: Exchange) -> None:
        """Count an exchange, or an error."""
        first = exchange.first
        found, request = first.found, first.found.request
        if request is None:
            _count(self.problems, first.error or "", REST)
            return
        for row in exchange:
            if row is not None:
                time = row.found.time
                self.first = time if self.first is None else min(self.first, time)
                self.last = time if self.last is None else max(self.last, time)
        client_id = None if request.client_id is None else request.client_id[:_LONGEST]
        software = self._software_of(found.connection, first.look.software)
        self._counts(Use(client_id, software, request.api_key, first.api or "", request.api_version)).add(exchange)
        for path, code, name, times in exchange.errors:
            _count(self.failures, Failure(first.api or "", path, code, name), Failure(REST, "", 0, None), times)

    def add_logged(self, use: Use, host: str) -> None:
        """Count a request of which no more is known.

        Args:
            use: the client and what it sent.
            host: the client's address; empty if it is not known.
        """
        client_id, software = use.client_id, use.software
        counts = self._counts(
            use._replace(
                client_id=None if client_id is None else client_id[:_LONGEST],
                software=None if software is None else (software[0][:_LONGEST], software[1][:_LONGEST]),
            )
        )
        counts.requests += 1
        counts.add_host(host)

    def _counts(self, use: Use) -> Counts:
        """Find the counts of a use, or of a row for others if there are too many."""
        counts = self.uses.get(use)
        if counts is None:
            if len(self.uses) >= MOST_ROWS:
                use = use._replace(client_id=REST, software=None)
            if len(self.uses) >= 2 * MOST_ROWS:
                use = use._replace(api_key=-1, api=REST, version=-1)
            counts = self.uses.setdefault(use, Counts())
        return counts

    def by_api(self) -> dict[tuple[int, str, int], Counts]:
        """Count the uses of each API and version, by key, name and version, most requests first."""
        return _merge((use[2:], counts) for use, counts in self.uses.items())

    def by_client(self) -> dict[tuple[str | None, tuple[str, str] | None], Counts]:
        """Count the uses of each client, by its id and its library."""
        return _merge((use[:2], counts) for use, counts in self.uses.items())

    def _software_of(self, connection: int | None, said: tuple[str, str] | None) -> tuple[str, str] | None:
        if said is not None and any(said):
            self._software[connection] = (said[0][:_LONGEST], said[1][:_LONGEST])
            if len(self._software) > MOST_CONNECTIONS:
                self._software.popitem(last=False)
        return self._software.get(connection)


def _merge(counted: Iterable[tuple[K, Counts]]) -> dict[K, Counts]:
    found: dict[K, Counts] = {}
    for key, counts in counted:
        found.setdefault(key, Counts()).merge(counts)
    return dict(sorted(found.items(), key=lambda item: (-item[1].requests, str(item[0]))))


def _count(counter: Counter[K], key: K, rest: K, count: int = 1) -> None:
    counter[key if key in counter or len(counter) < MOST_ROWS else rest] += count
