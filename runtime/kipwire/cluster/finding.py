"""The brokers that a request is for: the controller, the leader of a partition, a coordinator, one by its id, all.

Only a broker can name the broker for a request. Its answer is not kept, as leaders and coordinators move. A search
never creates a topic. What is not there is `NotFound`, with what there is instead.
"""

from __future__ import annotations

from kafka_messages.enums import CoordinatorType, ErrorCode
from kafka_messages.find_coordinator_request.v3 import FindCoordinatorRequest
from kipwire.aio import Connection
from kipwire.cluster.brokers import Brokers, Description, Node, NotFound, may_pass
from kipwire.cluster.given import Target
from kipwire.cluster.partitions import expect_partitions, find_leaders
from kipwire.logs.names import Partition

_LONGEST_LIST = 10
"""Nodes that an error names."""


async def find(brokers: Brokers, target: Target | None) -> list[Node]:
    """Find the brokers that a target names; only `all` can be several, and no target is the first that answers.

    Args:
        brokers: of the cluster. If a controller listens at their addresses, the controllers are found.
        target: from the command line.

    Raises:
        NotFound: there is no such broker.
        Failure: no broker can be asked.
        UnsupportedVersionError: the broker is too old to answer this.
    """
    if target is None:
        return [Node(None, (await brokers.at_any(_itself))[0])]
    match target.kind:
        case "leader":
            partition = Partition(target.name, target.number)
            leaders = await find_leaders(brokers, {target.name: {target.number}})
            await expect_partitions(brokers, leaders, [partition])
            return [leaders[partition]]
        case "group":
            return [await coordinator(brokers, CoordinatorType.GROUP, target.name)]
        case "txn":
            return [await coordinator(brokers, CoordinatorType.TRANSACTION, target.name)]
        case "all":
            return await brokers.nodes()
    found = await brokers.describe()
    if target.kind == "controller":
        return [_by_id(found, found.controller, "the controller, which is node")]
    return [_by_id(found, target.number, "node")]


async def _itself(broker: Connection) -> None:
    """Ask nothing: that it can be connected to is enough."""


async def coordinator(brokers: Brokers, kind: CoordinatorType, name: str, node: Node | None = None) -> Node:
    """Find the coordinator of a group or a transactional id, as a broker knows it.

    Args:
        brokers: of the cluster.
        kind: of coordinator.
        name: of the group, or the transactional id.
        node: the broker to ask; None for any.

    Raises:
        NotFound: there is none at the moment, or the broker does not say.
        Failure: the broker cannot be asked.
    """
    request = FindCoordinatorRequest(key=name, key_type=kind)
    if node is None:
        address, found = await brokers.ask_any(request)
    else:
        address, found = node.address, await brokers.ask(node, request)
    if found.error_code:
        more = f": {found.error_message.rstrip('.')}" if found.error_message else ""
        again = "; try again" if may_pass(found.error_code) else ""
        what = f"cannot find the coordinator of {kind.name.lower()} {name!r}"
        raise NotFound.by(address, f"{what}: {ErrorCode.text(found.error_code)}{more}{again}")
    return Node(found.node_id, (found.host, found.port))


def _by_id(described: Description, number: int, what: str) -> Node:
    found = next((one for one in described.nodes if one.id == number), None)
    if found is None:
        shown = ", ".join(str(one.id) for one in described.nodes[:_LONGEST_LIST]) or "none"
        more = ", ..." if len(described.nodes) > _LONGEST_LIST else ""
        raise NotFound.by(described.address, f"does not list {what} {number}; its nodes are {shown}{more}")
    return found
