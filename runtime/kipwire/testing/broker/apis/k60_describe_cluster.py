"""DescribeCluster, versions 0 to 2: the nodes, if it is asked for brokers."""

from kafka_messages.enums import EndpointType, ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values
from kipwire.testing.broker.node import CLUSTER_ID


def answer(node: Node, body: Sent) -> Values:
    """Describe the cluster."""
    asked = getattr(body, "endpoint_type", EndpointType.BROKER)
    if asked != EndpointType.BROKER:
        is_known = asked == EndpointType.CONTROLLER
        raise Refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)
    brokers = [{"broker_id": one.node_id, "host": one.host, "port": one.port} for one in node.nodes.running]
    return {"cluster_id": CLUSTER_ID, "controller_id": node.nodes.controller, "brokers": brokers}
