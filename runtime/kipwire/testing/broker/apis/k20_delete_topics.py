"""DeleteTopics, versions 1 to 6: deletes topics, by name or by id."""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, answered, expect
from kipwire.testing.broker.state.topics import NO_ID


def answer(node: Node, body: Sent) -> Values:
    node.expect_controller()

    def delete(asked: Sent) -> Values:
        is_clear = isinstance(asked, str) or (asked.name is None) != (asked.topic_id == NO_ID)
        expect(is_clear, ErrorCode.INVALID_REQUEST, "name a topic by its name or by its id, not by both")
        topic = node.topics.named(asked) if isinstance(asked, str) else node.topic_of(asked)
        node.delete_topic(topic)
        return {"name": topic.name, "topic_id": topic.topic_id}

    return answered(body, delete, is_distinct=True)
