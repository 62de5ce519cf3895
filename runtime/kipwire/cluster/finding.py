"""The brokers that a request is for: the controller, the leader of a partition, a coordinator, one by its id, all.

Only a broker can name the broker for a request, so a search opens a connection and sends one request. Its answer is not
kept, as leaders and coordinators move. Controllers have no Metadata; where that API is missing, DescribeCluster gives
the nodes. A search never creates a topic. What is not there is `NotFound`, with what there is instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kafka_messages.describe_cluster_request.v2 import DescribeClusterRequest
from kafka_messages.enums import ApiKey, CoordinatorType, EndpointType, ErrorCode
from kafka_messages.find_coordinator_request.v3 import FindCoordinatorRequest
from kafka_messages.metadata_request.v13 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response.v13 import MetadataResponse, MetadataResponseTopic
from kipwire.aio import Address, Connection
from kipwire.aio.failures import shown_address
from kipwire.cluster.given import Target
from kipwire.cluster.settings import Settings
from kipwire.model.errors import KipwireError
from kipwire.tools.text import count_of, printable_line

_LONGEST_LIST = 10
"""Nodes that an error names."""


class NotFound(KipwireError):
    """There is no such broker, topic or partition, or the cluster does not say which broker it is now."""


class Node(NamedTuple):
    """One broker, or one controller."""

    id: int | None
    """Id of the broker; None for one that is only known by its address."""
    address: Address

    def __str__(self) -> str:
        return shown_address(self.address) if self.id is None else f"node {self.id} at {shown_address(self.address)}"


async def find(settings: Settings, address: Address, target: Target | None) -> list[Node]:
    """Find the brokers that a target names; only `all` can be several, and no target is the broker itself.

    Args:
        settings: for the connection to brokers.
        address: of any broker of the cluster. If a controller listens there, the controllers are found.
        target: from the command line.

    Raises:
        NotFound: there is no such broker.
        Failure: the broker cannot be asked.
        UnsupportedVersionError: the broker is too old to answer this.
    """
    if target is None:
        return [Node(None, address)]
    async with settings.connect(address) as broker:
        match target.kind:
            case "leader":
                return [await _leader(broker, target.name, target.number)]
            case "group":
                return [await coordinator(broker, CoordinatorType.GROUP, target.name)]
            case "txn":
                return [await coordinator(broker, CoordinatorType.TRANSACTION, target.name)]
        nodes, controller = await _nodes(broker)
    match target.kind:
        case "all":
            return nodes
        case "controller":
            return [_by_id(nodes, controller, "the controller, which is node", address)]
        case _:
            return [_by_id(nodes, target.number, "node", address)]


async def leaders(settings: Settings, address: Address, topic: str) -> dict[int, Node]:
    """Find the leader of each partition of a topic.

    Args:
        settings: how to reach brokers.
        address: of any broker of the cluster.
        topic: its name.

    Raises:
        NotFound: there is no such topic, or a partition without a leader.
        Failure: the broker cannot be asked.
    """
    async with settings.connect(address) as broker:
        cluster, found = await _topic(broker, topic)
    indexes = sorted(one.partition_index for one in found.partitions)
    return {index: _leader_in(cluster, found, index, address) for index in indexes}


async def _leader(broker: Connection, topic: str, partition: int) -> Node:
    cluster, found = await _topic(broker, topic)
    return _leader_in(cluster, found, partition, broker.address)


async def _topic(broker: Connection, name: str) -> tuple[MetadataResponse, MetadataResponseTopic]:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    cluster = await broker.request(request)
    found = next((one for one in cluster.topics if one.name == name), None)
    if found is None or found.error_code:
        why = "" if found is None else f": {ErrorCode.text(found.error_code)}"
        raise _not_found(broker.address, f"has no topic {name!r}{why}")
    return cluster, found


def _leader_in(cluster: MetadataResponse, topic: MetadataResponseTopic, partition: int, address: Address) -> Node:
    what = f"{topic.name} partition {partition}"
    found = next((one for one in topic.partitions if one.partition_index == partition), None)
    if found is None:
        raise _not_found(address, f"has no {what}; {topic.name} has {count_of(len(topic.partitions), 'partition')}")
    if found.leader_id < 0:
        why = f": {ErrorCode.text(found.error_code)}" if found.error_code else ""
        raise _not_found(address, f"has no leader for {what}{why}")
    nodes = [Node(one.node_id, (one.host, one.port)) for one in cluster.brokers]
    return _by_id(nodes, found.leader_id, f"the leader of {what}, which is node", address)


async def coordinator(broker: Connection, kind: CoordinatorType, name: str) -> Node:
    """Find the coordinator of a group or a transactional id, as a broker knows it.

    Raises:
        NotFound: there is none at the moment, or the broker does not say.
        Failure: the broker cannot be asked.
    """
    found = await broker.request(FindCoordinatorRequest(key=name, key_type=kind))
    if found.error_code:
        more = f": {found.error_message.rstrip('.')}" if found.error_message else ""
        what = f"cannot find the coordinator of {kind.name.lower()} {name!r}"
        raise _not_found(broker.address, f"{what}: {ErrorCode.text(found.error_code)}{more}{_again(found.error_code)}")
    return Node(found.node_id, (found.host, found.port))


def _again(code: int) -> str:
    error = ErrorCode.find(code)
    return "; try again" if error is not None and error.retriable else ""


async def _nodes(broker: Connection) -> tuple[list[Node], int]:
    """List all brokers in the order of their ids, with the id of the controller; of a controller, all controllers."""
    cluster: Any
    if ApiKey.METADATA in broker.versions:
        cluster = await broker.request(MetadataRequest(topics=[]))
        return _in_order((one.node_id, one.host, one.port) for one in cluster.brokers), cluster.controller_id
    cluster = await broker.request(DescribeClusterRequest(endpoint_type=EndpointType.CONTROLLER))
    if cluster.error_code:
        why = f"{ErrorCode.text(cluster.error_code)}{': ' * bool(cluster.error_message)}{cluster.error_message or ''}"
        raise _not_found(broker.address, f"cannot describe its cluster: {why}")
    return _in_order((one.broker_id, one.host, one.port) for one in cluster.brokers), cluster.controller_id


def _in_order(rows: Any) -> list[Node]:
    return sorted(Node(number, (host, port)) for number, host, port in rows)


def _by_id(nodes: list[Node], number: int, what: str, address: Address) -> Node:
    found = next((one for one in nodes if one.id == number), None)
    if found is None:
        shown = ", ".join(str(one.id) for one in nodes[:_LONGEST_LIST]) or "none"
        more = ", ..." if len(nodes) > _LONGEST_LIST else ""
        raise _not_found(address, f"does not list {what} {number}; its nodes are {shown}{more}")
    return found


def _not_found(address: Address, reason: str) -> NotFound:
    return NotFound(printable_line(f"{shown_address(address)}: the broker {reason}"))
