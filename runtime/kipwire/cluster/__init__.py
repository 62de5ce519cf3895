"""The brokers of a Kafka cluster: how they are reached, which one to ask, what they hold, how far behind groups are.

    async with Cluster(["kafka-1:9092", "kafka-2:9092"], Settings(config=Path("client.properties"))) as cluster:
        leaders = await cluster.leaders("orders")
        ends = await cluster.offsets(leaders, LATEST, committed=True)
        rows = lag.rows_of(await lag.look(cluster, groups=["billing*"]))

It is no client: no group membership, no partitioner, no rebalancing.
"""

# Theory. Everything rests on `brokers.Brokers`: one connection to each broker, and which of them has failed.
#
#     settings    how brokers are reached: TLS by `tls`, SASL by `logins`, both from options or by a `properties` file
#     brokers     the connections; one that fails is not asked again in the same round. `Patience` says how often what
#                 may pass is asked for: a report shows what failed, a reader of records goes on asking
#     finding     which broker a request is for
#     partitions  leaders of partitions, their first offsets and ends
#     fetching    records of partitions, up to an end or without end
#     writing     batches into partitions, each once, and what an earlier process has written
#     groups      the groups of each broker, with members and committed offsets, from their coordinators
#     unread      the times of the first records that groups have not read, by Fetches at their committed offsets
#     remembered  what an exporter keeps of them from round to round
#     cluster     `Cluster`, all of this for programs
#
# A round is one look at a cluster, and a `Look` (`model`) is all that it has found, as plain data. What follows from
# looks needs no broker: `lag` makes rows and totals of one, and says of several who stands still; `metrics` has them
# for Prometheus. So these three import nothing that talks, and jobs use them.

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kipwire.cluster import lag
    from kipwire.cluster.brokers import ONCE, PATIENT, Node, NotFound, Patience
    from kipwire.cluster.cluster import EARLIEST, LATEST, Cluster
    from kipwire.cluster.fetching import Batches, ReadFailedError
    from kipwire.cluster.model import Problem
    from kipwire.cluster.partitions import Leaders, Offsets
    from kipwire.cluster.properties import SettingsError
    from kipwire.cluster.settings import Settings
    from kipwire.logs.names import Partition

__all__ = [
    "EARLIEST",
    "LATEST",
    "ONCE",
    "PATIENT",
    "Batches",
    "Cluster",
    "Leaders",
    "Node",
    "NotFound",
    "Offsets",
    "Partition",
    "Patience",
    "Problem",
    "ReadFailedError",
    "Settings",
    "SettingsError",
    "lag",
]

_MODULES = {
    "kipwire.cluster.brokers": "ONCE PATIENT Node NotFound Patience",
    "kipwire.cluster.cluster": "EARLIEST LATEST Cluster",
    "kipwire.cluster.fetching": "Batches ReadFailedError",
    "kipwire.cluster.model": "Problem",
    "kipwire.cluster.partitions": "Leaders Offsets",
    "kipwire.cluster.properties": "SettingsError",
    "kipwire.cluster.settings": "Settings",
    "kipwire.logs.names": "Partition",
}
"""Names by module, imported on first use: options of commands and jobs take from here what talks to no broker."""
_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name == "lag":
        return import_module("kipwire.cluster.lag")
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(_WHERE[name]), name))
