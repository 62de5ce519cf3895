"""kipwire transactions --brokers beside Kafka's own tool, at a real broker. For `make test-broker`."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.console.transactions.test_transactions_command import Transactions, lines_of
from tests.console.transactions.test_transactions_command import transactions as transactions
from tests.support.live.kafka_tools import tool
from tests.support.live.open_traffic import GHOST, leave_hanging_transaction
from tests.support.live.real_broker import ADDRESS

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_a_transaction_that_hangs_is_found_and_ended(transactions: Transactions) -> None:
    topic = f"txn-{uuid4()}"
    admin = AdminClient({"bootstrap.servers": ADDRESS})
    for future in admin.create_topics([NewTopic(topic, 3, 1)]).values():
        future.result(30)
    leave_hanging_transaction(ADDRESS, topic)
    of_topic = ("--brokers", ADDRESS, "--topic", topic)
    (found,) = lines_of(transactions(*of_topic, "-f", "json"), "open")
    assert (found["topic"], found["partition"], found["is_hanging"]) == (topic, 2, True)
    assert (found["producer_id"], found["start_offset"], found["held_back"]) == (GHOST, 0, 3)
    described = ("describe-producers", "--topic", topic, "--partition", "2")
    names = ("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", ADDRESS, *described)
    assert str(GHOST) in tool(*names)
    done = transactions(*of_topic, "--abort", "--yes")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"{topic}/2: producer {GHOST} from offset 0: ended")
    assert json.loads(transactions(*of_topic, "-f", "json").stdout.splitlines()[0])["open"] == 0
