"""JoinGroup, versions 0 to 9: joins a group; answered when all its members have joined, or did not in time.

Unlike Kafka:

* A new group does not wait for more members (`group.initial.rebalance.delay.ms` is 0).
* Any session timeout above 0 is accepted.
"""

from kipwire import Message
from kipwire.connection import refusal
from kipwire.testing.broker.apis.api import ErrorCode, Node, Request, Sent, Values, expect
from kipwire.testing.broker.state.classic_groups import Joining

_FIRST_WITH_ID_FIRST = 4
"""The first version of JoinGroup in which new members join in two steps."""


async def answer_request(node: Node, request: Request) -> Values:
    body: Sent = request.body
    expect(body.group_id, ErrorCode.INVALID_GROUP_ID)
    expect(body.session_timeout_ms > 0, ErrorCode.INVALID_SESSION_TIMEOUT)
    asked = Joining(
        member_id=body.member_id,
        instance_id=getattr(body, "group_instance_id", None),
        client_id=request.header.client_id or "",
        client_host=node.listener.host,
        session_timeout=body.session_timeout_ms / 1000,
        rebalance_timeout=getattr(body, "rebalance_timeout_ms", body.session_timeout_ms) / 1000,
        protocol_type=body.protocol_type,
        protocols={one.name: one.metadata for one in body.protocols},
        takes_id_first=body.VERSION >= _FIRST_WITH_ID_FIRST,
    )
    group = node.group_to_join(body.group_id)
    joined = await node.decided(group, group.join(asked, node.now()))
    members = [
        {"member_id": member_id, "group_instance_id": instance_id, "metadata": metadata}
        for member_id, instance_id, metadata in joined.members
    ]
    return {
        "generation_id": joined.generation,
        "protocol_type": joined.protocol_type,
        "protocol_name": joined.protocol,
        "leader": joined.leader,
        "member_id": joined.member_id,
        "members": members,
    }


def refuse(body: Sent, error: int) -> Message:
    """Answer with an error, and with the id that the member gave."""
    response: Sent = refusal(body, error)
    response.member_id = body.member_id
    return response  # type: ignore[no-any-return]
