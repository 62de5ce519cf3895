"""Workers get whole units of tests: of a group, of a message or of a module, the longest first."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

from tests.support import distribution
from tests.support.distribution import ByUnit, group_of, order, unit_of
from tests.support.places import ROOT, TESTS


def test_what_a_test_shares_its_worker_with() -> None:
    message = "tests/kernel/test_native.py::test_kernel_and_python_agree_on_every_class[FetchRequest]"
    assert unit_of(message) == "FetchRequest"
    assert unit_of("tests/columns/test_columns.py::test_it[kernel-FetchRequest-3]") == "FetchRequest"
    assert unit_of("tests/columns/test_columns.py::test_it[kernel]") == "tests/columns/test_columns.py"
    site = "tests/docs/test_docs_site.py::test_the_boxes_of_real_messages_have_the_size_of_an_empty_one[FetchRequest]"
    assert unit_of(site) == unit_of("tests/docs/test_docs_messages.py::test_kips_in_texts_are_links") == "docs_site"
    assert [order(one) for one in (site, "tests/columns/test_columns.py::test_it", message)] == [0, 1, 2]


def test_groups_are_those_of_whole_modules() -> None:
    found = set()
    for file in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(file.read_text())
        marks = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "xdist_group"]
        of_module = [
            node
            for one in tree.body
            if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "pytestmark"
            for node in ast.walk(one)
        ]
        assert all(mark in of_module for mark in marks), f"{file}: give the whole module the mark"
        group = group_of(file.relative_to(ROOT).as_posix())
        assert (group is not None) is bool(marks), file
        found.add(group)
    assert {"spark", "docs_site"} <= found


class Worker:
    """Fake worker process."""

    shutting_down = False

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.given: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def test_every_test_runs_once_and_a_group_in_one_worker() -> None:
    sites = [f"tests/docs/test_docs_{name}.py::test_{number}" for number in range(3) for name in ("site", "messages")]
    others = [f"tests/kernel/test_native.py::test_it[{name}]" for name in sorted(distribution.MESSAGES)[:40]]
    tests = sorted([*others, *sites], key=order)
    options = SimpleNamespace(loadscopereorder=True, tx=["2*popen"], px=None)
    config: Any = SimpleNamespace(option=options, getvalue=lambda name: getattr(options, name))
    scheduler: Any = ByUnit(config)
    workers = [Worker("a"), Worker("b")]
    for worker in workers:
        scheduler.add_node(worker)
    for worker in workers:
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    done = {"a": 0, "b": 0}
    while any(done[one.gateway.id] < len(one.given) for one in workers):
        for worker in workers:
            at = done[worker.gateway.id]
            if at < len(worker.given):
                scheduler.mark_test_complete(worker, worker.given[at])
                done[worker.gateway.id] += 1
    assert sorted(index for worker in workers for index in worker.given) == list(range(len(tests)))
    assert {tests[index] for index in workers[0].given} >= {*sites}
    assert len(workers[1].given) > len(sites)
    assert all(worker.shutting_down for worker in workers)
