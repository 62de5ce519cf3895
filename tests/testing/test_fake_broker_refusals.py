"""A refusal has the error code wherever its response has codes, in every version of every API, whatever was asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire import build
from kipwire.testing import messages
from kipwire.testing.broker.apis import APIS, SERVED
from tests.support.subjects.fake_broker_requests import REGISTRY, error_codes, examples, node, request

UNUSUAL = 12345
"""A code that Kafka does not have: a test may ask for any."""
PAIRS = [(key, version) for key, versions in SERVED.items() for version in versions]


def rows(struct: Any) -> int:
    """Return the number of structs in a message that have an error code, the message included."""
    below = [
        one
        for field in struct.ATTRIBUTES
        if field.struct is not None and field.array
        for one in getattr(struct, field.name) or ()
    ]
    return any(field.name in ("error_code", "partition_error_code") for field in struct.ATTRIBUTES) + sum(
        map(rows, below)
    )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_code_of_a_refusal_is_the_one_that_was_given(data: st.DataObject) -> None:
    key, version = data.draw(st.sampled_from(PAIRS))
    asked = data.draw(messages(REGISTRY.request(key, version), long=False))
    error = data.draw(st.sampled_from((ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NOT_COORDINATOR, UNUSUAL)))
    refused = APIS[key].refuse(asked, error)
    if key != ApiKey.FETCH or version < 7:  # later versions have the session's code at the top
        assert set(error_codes(refused)) <= {error}
    else:
        assert set(error_codes(refused)) - {error} <= {0}
    assert type(refused).decode(refused.encode()) == refused


@pytest.mark.parametrize("key", SERVED, ids=lambda key: ApiKey(key).name)
def test_a_refusal_answers_each_element_of_the_request(key: int) -> None:
    values = examples(node())[key]
    for version in SERVED[key]:
        body: Any = request(key, version, values).body
        refused: Any = APIS[key].refuse(body, UNUSUAL)
        assert UNUSUAL in error_codes(refused), version
        if getattr(refused, "error_code", 0) != UNUSUAL:
            arrays = [getattr(body, field.name) for field in body.ATTRIBUTES if field.array]
            assert rows(refused) >= max(map(len, arrays)), version


def test_rows_of_a_refusal_repeat_what_they_are_of() -> None:
    def refused(key: ApiKey, version: int, **values: Any) -> Any:
        asked = build(REGISTRY.request(key, version), values)
        return APIS[key].refuse(asked, UNUSUAL)

    partitions = [{"index": 3, "records": None}, {"index": 4, "records": None}]
    produced = refused(ApiKey.PRODUCE, 9, topic_data=[{"name": "a", "partition_data": partitions}])
    (topic,) = produced.responses
    assert (topic.name, [(one.index, one.base_offset) for one in topic.partition_responses]) == (
        "a",
        [(3, -1), (4, -1)],
    )
    found = refused(ApiKey.FIND_COORDINATOR, 4, coordinator_keys=["a", "b"])
    assert [(one.key, one.node_id, one.error_code) for one in found.coordinators] == [
        ("a", -1, UNUSUAL),
        ("b", -1, UNUSUAL),
    ]
    found = refused(ApiKey.DESCRIBE_GROUPS, 6, groups=["g"])
    assert [(one.group_id, one.error_message) for one in found.groups] == [("g", None)]
    found = refused(ApiKey.OFFSET_FETCH, 1, group_id="g", topics=[{"name": "a", "partition_indexes": [7]}])
    assert [(one.partition_index, one.committed_offset) for one in found.topics[0].partitions] == [(7, -1)]
    found = refused(
        ApiKey.DESCRIBE_CONFIGS, 4, resources=[{"resource_type": 2, "resource_name": "a", "configuration_keys": None}]
    )
    assert [(one.resource_type, one.resource_name) for one in found.results] == [(2, "a")]
    found = refused(ApiKey.JOIN_GROUP, 9, member_id="m")
    assert (found.error_code, found.member_id) == (UNUSUAL, "m")
