"""Hooks and fixtures for all tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support import cases
from tests.support.distribution import ByUnit, order
from tests.support.places import FORMS, LAYOUTS, ROOT
from tests.support.spec_package import Classes, generated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController


# A busy machine may stop for a second in the middle of an example.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Shells have Ctrl-C ignored in the background; tests, and the commands that they start, need it.
signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("GITHUB_ACTIONS", None)  # kipgen reports for GitHub under it; tests of that set it themselves


RUN_BY_THEMSELVES = {"every_spark", "maven", "broker", "cluster", "spark_releases"}
"""Markers of tests that have a target of make of their own."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import all test modules, from another one on in each worker process, before they are collected in one order.

    In a fresh checkout each process then rewrites the assertions of its part, and loads what others have rewritten.
    """
    config = session.config
    if (worker := getattr(config, "workerinput", None)) is None or config.args != config.getini("testpaths"):
        return
    modules = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))
    first = len(modules) * int(worker["workerid"][2:]) // worker["workercount"]
    for path in modules[first:] + modules[:first]:
        with suppress(Exception, pytest.skip.Exception):  # collecting imports it again, and says why it fails
            import_module(".".join(path.with_suffix("").parts))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave tests with a Spark session to the night, but those that every release of Spark must pass."""
    markers = {marker.name for marker in item.iter_markers()}
    if "spark" in getattr(item, "fixturenames", ()) and not markers & RUN_BY_THEMSELVES:
        item.add_marker(pytest.mark.night)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what takes longest first; all worker processes must find the same order.

    Before it comes what compares all that a broker has: other tests leave groups and topics there.
    """
    items.sort(key=lambda item: (item.get_closest_marker("new_broker") is None, order(item.nodeid)))


def pytest_collection_finish() -> None:
    """Leave thousands of tests and all modules out of each garbage collection from here on."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Run one process more than there are cores: tests wait for clients, brokers and timers a quarter of the time."""
    return (os.cpu_count() or 1) + 1


def ignores_open_resources(item: pytest.Item) -> bool:
    """Return True if a test ignores the sockets that clients of others leave open."""
    return any("ResourceWarning" in argument for mark in item.iter_markers("filterwarnings") for argument in mark.args)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave older objects out of the collection that follows such a test: it would take a third of a second."""
    if ignores_open_resources(item):
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Collect open sockets with the test that ignores them, and not with one that comes later."""
    if ignores_open_resources(item):
        gc.collect()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByUnit | None:
    """Return the scheduler that gives whole units of tests to worker processes."""
    return ByUnit(config, log) if config.getvalue("dist") == "loadgroup" else None


CASES = pytest.StashKey[int]()
"""Number of cases that `of_each` has run in worker processes."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the number of cases from a worker process."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["cases"] = cases.checked()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """Add the number of cases of a worker process."""
    found = getattr(node, "workeroutput", {}).get("cases", 0)
    node.config.stash[CASES] = node.config.stash.get(CASES, 0) + found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many cases were checked, which are more than tests."""
    if count := cases.checked() + config.stash.get(CASES, 0):
        terminalreporter.write_line(f"{count} cases of one message each were checked together in tests of it")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session for all tests of the group `spark`; imported late, since most tests need no Spark."""
    from pyspark.sql import SparkSession

    from kipspark.sources import register
    from kipspark.spark.java import use_java

    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        # The optimizing compiler does not pay off within the minute of a session.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        # Planning again and compiling take longer than work on few rows.
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .getOrCreate()
    )
    register(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def folder_of_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all worker processes of this run share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def forms_package(folder_of_run: Path) -> Iterator[ModuleType]:
    """The package of the specs in data/forms."""
    with generated(FORMS, "forms_of_every_kind", folder_of_run) as package:
        yield package


@pytest.fixture(scope="session")
def layouts_package(folder_of_run: Path) -> Iterator[ModuleType]:
    """The package of the specs in data/layouts."""
    with generated(LAYOUTS, "layouts_of_every_kind", folder_of_run) as package:
        yield package


@pytest.fixture
def forms(forms_package: ModuleType) -> Classes:
    """The classes of the specs in data/forms by message and version."""
    return Classes(forms_package)


@pytest.fixture
def layouts(layouts_package: ModuleType) -> Classes:
    """The classes of the specs in data/layouts by message and version."""
    return Classes(layouts_package)
