"""Unusual requests, which Kafka and the fake broker must answer alike.

* `talking`: sends them, and keeps the compared parts of the answers.
* `topics`, `producing`, `fetching`, `groups`, `consumer_groups`, `group_migration`, `transactions`, `administration`,
  `ongoing`: the cases, as functions of a `Talk`.
* `recorded`: Kafka's answers, kept in `tests/data`, and the accepted differences.
"""

from __future__ import annotations

from typing import Any

from tests.support.broker_cases import (
    administration,
    consumer_groups,
    fetching,
    group_migration,
    groups,
    ongoing,
    producing,
    topics,
    transactions,
)
from tests.support.broker_cases.talking import Talk

PARTS = (
    topics.cluster,
    topics.create,
    topics.extend_and_delete,
    topics.describe,
    producing.batches,
    producing.idempotent,
    producing.damaged,
    fetching.fetch,
    fetching.offsets,
    fetching.sessions,
    groups.members,
    groups.offsets,
    groups.ends,
    transactions.transaction,
    transactions.fencing,
    administration.records,
    administration.settings,
    administration.logs,
    administration.group_offsets,
    ongoing.looks,
    ongoing.second_protocol,
    ongoing.batched,
    ongoing.timeouts,
    consumer_groups.wrong,
    consumer_groups.alone,
    consumer_groups.together,
    consumer_groups.expressions,
    consumer_groups.syntax,
    consumer_groups.static,
    group_migration.empty,
    group_migration.up,
    group_migration.down,
    topics.removed,
)
"""All cases, in an order in which each finds what those before it have left."""


def answers_of(host: str, port: int, name: str) -> dict[str, Any]:
    """Return the compared parts of a broker's answer to each case, by the name of the case.

    Args:
        host: where it listens.
        port: where it listens.
        name: prefix of the names of topics, groups and transactional ids; the broker must have none with it.
    """
    talk = Talk(host, port, name)
    try:
        for part in PARTS:
            part(talk)
    finally:
        talk.close()
    return talk.answers
