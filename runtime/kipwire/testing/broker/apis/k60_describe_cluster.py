"""DescribeCluster, versions 0 to 2: the nodes, if it is asked for brokers."""

from kafka_messages.enums import EndpointType
from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, expect
from kipwire.testing.broker.node import CLUSTER_ID


def answer(node: Node, body: Sent) -> Values:
    asked = getattr(body, "endpoint_type", EndpointType.BROKER)
    expect(asked in (EndpointType.BROKER, EndpointType.CONTROLLER), ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)
    expect(asked == EndpointType.BROKER, ErrorCode.MISMATCHED_ENDPOINT_TYPE)
    brokers = [{"broker_id": one.node_id, "host": one.host, "port": one.port} for one in node.nodes.running]
    return {"cluster_id": CLUSTER_ID, "controller_id": node.nodes.controller, "brokers": brokers}
