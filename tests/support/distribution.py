"""Units of tests for the worker processes of pytest-xdist: tests that share slow fixtures run in one process.

pytest-xdist's own `loadgroup` gives each test without a group a unit of work, and looks through all that have been
given away whenever a test ends: with thousands of tests that takes minutes. It also passes groups on as parts of node
IDs, which pytest 9.2 does not let it write: every worker would start a Spark session of its own.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.support.cases import PARTS
from tests.support.places import ROOT

GROUP = re.compile(r"pytest\.mark\.xdist_group\(\"(\w+)\"\)")
UNIT_OF = PARTS | {part: part for part in PARTS.values()}
"""The unit of each parameter that is a message of Kafka or a part of them."""
UNITS = frozenset(PARTS.values())


@cache
def group_of(module: str) -> str | None:
    """Return the group that the `pytestmark` of a module names; `module` is its path in the repository."""
    found = GROUP.search((ROOT / module).read_text(encoding="utf-8"))
    return found and found[1]


def unit_of(node_id: str) -> str:
    """Return the unit of a test, which runs in one worker: its group, all tests of its messages, or else its module."""
    module, _, rest = node_id.partition("::")
    parameters = rest.partition("[")[2].partition("]")[0].split("-")
    return group_of(module) or next((UNIT_OF[one] for one in parameters if one in UNIT_OF), module)


def order(node_id: str) -> int:
    """Groups take longest, so they start first; parts of the messages are alike, so they come last and end together."""
    unit = unit_of(node_id)
    return 2 if unit in UNITS else 1 if unit.endswith(".py") else 0


class ByUnit(LoadScopeScheduling):  # type: ignore[misc]  # has no types that mypy sees
    """Scheduler that gives whole units to workers, in the order of the tests."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
