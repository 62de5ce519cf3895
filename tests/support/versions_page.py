"""The table of docs/kafka-versions.md: what Kafka's last release no longer speaks."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.support.places import ROOT

_ROW = re.compile(r"^\| (\w+) \| (\d*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
_LAST = re.compile(r"Kafka ([\d.]+) was the last to speak the older versions, but of (.*?);", re.DOTALL)


class Row(NamedTuple):
    """A request without "Request", or a header."""

    name: str
    key: str
    served: str
    older: str
    last: str
    """The last line of releases that spoke the older versions."""


def rows() -> list[Row]:
    page = (ROOT / "docs" / "kafka-versions.md").read_text(encoding="utf-8")
    found = _LAST.search(page)
    assert found is not None
    others = dict(re.findall(r"(\w+)\s\(([\d.]+)\)", found[2]))
    table = [
        Row(name, key, served, older, others.pop(name, found[1])) for name, key, served, older in _ROW.findall(page)
    ]
    assert not others
    return table
