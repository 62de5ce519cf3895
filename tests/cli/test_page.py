"""Pages of all kinds have one shell: nothing is loaded, and no script runs but their own."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

import pytest

from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kipjobs.report.report import FirstRows, Report, Table
from kipjobs.report.views import page as page_of_report
from kipwire.cli.page import page
from kipwire.console.conform.page import page as page_of_results
from kipwire.console.conform.questions import Claims
from kipwire.console.conform.results import Expected, Results
from kipwire.console.inspect.html import page as page_of_inspection
from kipwire.console.inspect.tree import inspect_message

HOSTILE = '</title></script><script>alert("1")</script>\x1b[31m'


def inspection() -> str:
    data = HeartbeatRequest(group_id=HOSTILE).encode()
    return page_of_inspection(inspect_message(HeartbeatRequest, data))


def report() -> str:
    shown = FirstRows(Table("t", HOSTILE, None, ()), ("x",), ({"x": HOSTILE},), True)  # type: ignore[arg-type]
    return page_of_report(Report(HOSTILE, (), notes=(HOSTILE,)), [shown], [])


PAGES = {
    "inspect": inspection,
    "conform": lambda: page_of_results(Results(Claims(HOSTILE, "1", frozenset(), {}), Expected({})), None, HOSTILE),
    "jobs": report,
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_loads_nothing_and_runs_its_own_script_alone(kind: str) -> None:
    text = PAGES[kind]()
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    allowed = [f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in scripts]
    assert [rules[name] for name in ("default-src", "base-uri", "form-action")] == ["'none'"] * 3
    assert rules.get("script-src", "").split() == allowed == allowed[:1]
    assert "alert" not in "".join(scripts) and "\x1b" not in text
    assert "alert(" in text  # as text
    assert text.count("--back: ") == 2 and "<link" not in text and " src=" not in text


def test_a_page_without_a_script_allows_none() -> None:
    assert "script" not in page("t", "<p>text</p>", "")
