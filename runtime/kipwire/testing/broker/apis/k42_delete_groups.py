"""DeleteGroups, versions 0 to 3: deletes groups without members, and their offsets."""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, by_row, expect


@by_row
def answer(node: Node, body: Sent, name: str) -> Values:
    expect(not node.known_group(name, ErrorCode.GROUP_ID_NOT_FOUND).members, ErrorCode.NON_EMPTY_GROUP)
    del node.groups[name]
    return {}
