"""Jobs that read brokers in place of log folders, on the engine in this process and a fake broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs.compaction.command import compaction_report
from kipjobs.jobs.share.command import share_report
from kipjobs.jobs.shared.options import brokers_of
from kipjobs.report.report import Report
from kipwire import KipwireError
from kipwire.testing import FakeBroker


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics={"state": 1}) as fake:
        for at in range(20):
            fake.append("state", b"0123456789", key=b"k%d" % (at % 3))
        yield fake


def rows_of(report: Report, name: str) -> list[dict[str, Any]]:
    (table,) = (one for one in report.tables if one.name == name)
    return table.frame.toArrow().to_pylist()  # type: ignore[no-any-return]


@pytest.mark.night
def test_jobs_read_brokers(broker: FakeBroker) -> None:
    place = brokers_of([], broker.bootstrap_servers, None)
    assert place is not None
    with EmbeddedSession() as session:
        report = compaction_report(session, place, ["state"])
        (row,) = rows_of(report, "partitions")
        assert (row["records"], row["dead_records"], row["dead_bytes"], row["size"]) == (20, 17, 17 * 12, None)
        assert report.where == broker.bootstrap_servers
        assert rows_of(share_report(session, place, "PERMISSIVE"), "partitions") == []
        with pytest.raises(KipwireError, match=r"--topics: no topic 'stat' in 127.*did you mean state\?"):
            compaction_report(session, place, ["stat"])


def test_what_is_wrong_with_brokers_of_a_job_is_one_line(tmp_path: Path) -> None:
    for paths, brokers, config, text in (
        (["/logs"], "b:1", None, "give a PATH or --brokers, not both: the same topics would be there twice"),
        ([], None, tmp_path, "--config is for brokers; add --brokers HOST:PORT, or leave it out"),
        ([], "/var/lib/kafka", None, "is not a valid address"),
        ([], "b:1", tmp_path / "none", "No such file or directory"),
    ):
        with pytest.raises(KipwireError) as raised:
            brokers_of(paths, brokers, config)
        assert text in str(raised.value) and "\n" not in str(raised.value)
