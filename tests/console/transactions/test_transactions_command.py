"""kipwire transactions --brokers: what it shows of fake brokers, and what it sends with --abort."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_messages.enums import ApiKey, ErrorCode
from kafka_messages.list_transactions_request.v2 import ListTransactionsRequest
from kafka_messages.write_txn_markers_request.v2 import WriteTxnMarkersRequest
from kipwire.cluster import Patience
from kipwire.console.transactions import running
from kipwire.records import Record, write_batch
from kipwire.testing import FakeBroker
from tests.cluster.conftest import no_settings_of_the_user as no_settings_of_the_user
from tests.support import command_line
from tests.support.command_line import Done

GHOST = 4_000_000
"""Id of a producer that no coordinator knows."""
Transactions = Callable[..., Done]


@pytest.fixture
def transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Transactions:
    """Calls kipwire transactions."""
    monkeypatch.setattr(running, "PATIENCE", Patience(2, 0))

    def run(*arguments: object) -> Done:
        return command_line.call("transactions", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return run


@pytest.fixture(scope="module")
def pay() -> Iterator[tuple[FakeBroker, Producer]]:
    """Two brokers, and a producer with an open transaction in orders/0."""
    with FakeBroker({"orders": 3, "paid": 1}, nodes=2) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "pay"})
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.produce("orders", b"1", partition=0)
        producer.flush(20)
        broker.append("orders", b"after it", partition=0)
        yield broker, producer
        producer.abort_transaction(20)


def leave_hanging(broker: FakeBroker, partition: int) -> None:
    """Append the records of a transaction that no coordinator will end."""
    records = [Record(offset=number, timestamp=1_700_000_000_000, value=b"v") for number in range(2)]
    batch = write_batch(records, producer_id=GHOST, producer_epoch=3, base_sequence=0, is_transactional=True)
    broker._call(lambda: broker._node.topics.log("orders", partition).append(batch))


def lines_of(done: Done, type_: str) -> list[dict[str, Any]]:
    return [one for one in map(json.loads, done.stdout.splitlines()) if one["type"] == type_]


def of(broker: FakeBroker, *arguments: object) -> list[object]:
    return ["--brokers", broker.bootstrap_servers, *arguments]


def test_open_and_hanging_transactions_and_the_end_of_those_that_hang(
    pay: tuple[FakeBroker, Producer], transactions: Transactions
) -> None:
    broker, _ = pay
    leave_hanging(broker, 1)
    done = transactions(*of(broker))
    assert (done.returncode, done.stderr) == (0, "")
    heading, totals, opened, ids, advice = done.stdout.split("\n\n")
    assert heading.startswith(f"Transactions at {broker.bootstrap_servers}, 20")
    assert [line.split()[:2] for line in totals.splitlines()] == [["open", "2"], ["hanging", "1"], ["held", "back"]]
    rows = [line.split() for line in opened.splitlines()[2:]]
    assert rows[0][:3] == ["orders/1", "-", "hanging"] and rows[0][-4:] == ["2", "0", str(GHOST), "3"]
    assert rows[1][:3] == ["orders/0", "pay", "Ongoing"] and rows[1][-4:-2] == ["2", "0"]
    assert ids.splitlines()[2].split()[:2] == ["pay", "Ongoing"] and "see --abort" in advice

    broker.clear_requests()
    shown = transactions(*of(broker, "--abort"))
    assert shown.returncode == 0 and shown.stdout.endswith("nothing was sent; add --yes to send this\n")
    body = json.loads(shown.stdout.splitlines()[1].removeprefix("  WriteTxnMarkers "))
    assert body["markers"][0]["producerId"] == GHOST and not body["markers"][0]["transactionResult"]
    assert not broker.requests(ApiKey.WRITE_TXN_MARKERS)

    sent = transactions(*of(broker, "--abort", "--yes"))
    assert (sent.returncode, sent.stdout.splitlines()[-1]) == (0, f"orders/1: producer {GHOST} from offset 0: ended")
    assert len(broker.requests(ApiKey.WRITE_TXN_MARKERS)) == 1
    assert broker.records("orders", 1, committed=True) == []
    metrics = transactions(*of(broker, "-f", "prometheus")).stdout
    assert 'kipwire_transactions_held_back{topic="orders",partition="0"} 2' in metrics
    assert "kipwire_transactions_hanging 0" in metrics
    (left,) = lines_of(transactions(*of(broker, "-f", "json")), "open")
    assert (left["transactional_id"], left["is_hanging"]) == ("pay", False)
    assert transactions(*of(broker, "--abort")).stdout == "no transaction hangs\n"


def test_what_hangs_is_not_known_unless_all_coordinators_answer(
    pay: tuple[FakeBroker, Producer], transactions: Transactions
) -> None:
    broker, _ = pay
    leave_hanging(broker, 2)
    node = next(one for one in broker.node_ids if one != broker.coordinator(transactional_id="pay"))
    broker.fail(ListTransactionsRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=None, node=node)
    done = transactions(*of(broker, "-f", "json"))
    aborted = transactions(*of(broker, "--abort", "--yes"))
    broker.clear_faults()
    assert done.returncode == 1
    assert {one["transactional_id"]: one["is_hanging"] for one in lines_of(done, "open")} == {"pay": False, None: None}
    assert "COORDINATOR_LOAD_IN_PROGRESS" in lines_of(done, "problem")[0]["reason"]
    assert (aborted.returncode, aborted.stdout) == (1, "1 open transaction may hang or not\n")
    broker.fail(WriteTxnMarkersRequest, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    refused = transactions(*of(broker, "--abort", "--yes"))
    assert refused.returncode == 1 and "CLUSTER_AUTHORIZATION_FAILED" in refused.stderr
    assert refused.stdout.endswith("is still open\n")
    assert transactions(*of(broker, "--abort", "--yes", "--topic", "ord*")).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (("--topic", "order"), 2, "no topic is named order; did you mean orders?"),
        (("--yes",), 2, "--yes is for --abort"),
        (("--abort", "-f", "json"), 2, "--abort has no --format json"),
    ],
)
def test_what_cannot_be_is_one_line(
    pay: tuple[FakeBroker, Producer], transactions: Transactions, arguments: tuple[str, ...], status: int, line: str
) -> None:
    done = transactions(*of(pay[0], *arguments))
    assert done.returncode == status and done.stderr.rstrip().splitlines()[-1].endswith(line)
