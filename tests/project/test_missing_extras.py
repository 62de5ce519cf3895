"""Without the libraries of an extra every command and module says in one line how to install them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import kipspark
import kipwire
from kipwire.cli.release import release_line
from kipwire.model.extras import MODULES, WITH
from tests.support.places import ROOT

CLIS = {"kipgen": "kipgen.cli", "kipspark": "kipspark.cli", "kipwire": "kipwire.console.cli"}
OTHER_NAMES = {"google_re2": "re2", "protobuf": "google"}
"""Modules with other names than their libraries."""
OF_EXTRAS = sorted({module for modules in MODULES.values() for module in modules} | {"py4j"})  # pyspark brings it


def run(code: str, *, present: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run code where only some libraries of the extras can be imported."""
    block = (
        f"import sys\nfor name in {[one for one in OF_EXTRAS if one not in present]}:\n    sys.modules[name] = None\n"
    )
    return subprocess.run(
        [sys.executable, "-c", block + code], capture_output=True, text=True, check=False, timeout=60, cwd=ROOT
    )


def command(program: str, *arguments: str) -> str:
    return f"sys.argv = {[program, *arguments]!r}\nfrom {CLIS[program]} import main\nmain()\n"


def missing(program: str, library: str, extra: str) -> str:
    return f'{program}: needs {library}, which is not installed: pip install "kipwire[{extra}]"'


INSTALL_JOBS = ', which is not installed: pip install "kipwire[jobs]"'


@pytest.mark.parametrize(
    ("code", "present", "line"),
    [
        (command("kipgen", "--help"), (), missing("kipgen", "click", "generator")),
        (command("kipgen", "check"), (), missing("kipgen", "click", "generator")),
        (
            command("kipgen", "generate", "schemas/kafka_records"),
            ("click", "rich", "watchfiles"),
            missing("kipgen", "jinja2", "generator"),
        ),
        (command("kipwire", "--help"), (), missing("kipwire", "click", "console")),
        (command("kipwire", "dump", "x.log"), (), missing("kipwire", "click", "console")),
        (command("kipwire", "offsets"), ("click",), "kipwire: offsets needs pyarrow" + INSTALL_JOBS),
        (command("kipwire", "traffic", "--help"), ("click", "duckdb"), "kipwire: traffic needs pyarrow" + INSTALL_JOBS),
        (
            command("kipwire", "dump", "orders-0", "--out", "orders.parquet"),
            ("click",),
            missing("kipwire", "pyarrow", "tables").replace("needs", "--out needs"),
        ),
        (command("kipspark", "--help"), (), missing("kipspark", "click", "spark")),
        (
            command("kipspark", "--help"),
            ("click",),
            missing("kipspark", "pyspark", "spark"),
        ),
    ],
)
def test_a_command_says_what_to_install(code: str, present: tuple[str, ...], line: str) -> None:
    done = run(code, present=present)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line + "\n")


@pytest.mark.parametrize("program", CLIS)
def test_the_release_is_shown_without_any_extra(program: str) -> None:
    done = run(command(program, "--version"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{release_line(program)}\n"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("from kipwire.testing import messages", "kipwire.testing.messages needs hypothesis|testing"),
        ("import kipspark; kipspark.register", "kipspark needs pyspark|spark"),
        ("import kipwire.columns", "kipwire.columns needs pyarrow|columns"),
        ("from kipwire.tables import scan", "kipwire.tables needs pyarrow|tables"),
        (
            "from kipwire.records import Record, write_batch\nwrite_batch([Record(offset=0)], compression='zstd')",
            "snappy, lz4 and zstd need cramjam|records",
        ),
    ],
)
def test_a_module_raises_an_error_that_says_what_to_install(code: str, error: str) -> None:
    what, extra = error.split("|")
    done = run(code)
    expected = f'kipwire.model.errors.MissingExtraError: {what}, which is not installed: pip install "kipwire[{extra}]"'
    assert done.stderr.splitlines()[-1] == expected
    assert "ModuleNotFoundError" not in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "code", ["import kipwire.testing", "import kipspark", "from kipwire.testing import FakeBroker"]
)
def test_what_needs_no_library_is_imported_without(code: str) -> None:
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_record_batches_are_inspected_without_the_extra_for_records(tmp_path: Path) -> None:
    from kipwire.records import Record, write_batch

    file = tmp_path / "batch.bin"
    file.write_bytes(write_batch([Record(offset=0, value=b"v")]))
    arguments = ("inspect", "--package", "kafka_records", "RecordBatch", "2", str(file))
    done = run(command("kipwire", *arguments), present=MODULES["console"])
    assert (done.returncode, done.stderr) == (0, "")
    assert "crc" in done.stdout


@pytest.mark.parametrize(
    "arguments", [("localhost:9", "Metadata", "--dry-run"), ("--template", "Produce"), ("--help",)]
)
def test_brokers_are_called_with_what_the_extra_console_brings(arguments: tuple[str, ...]) -> None:
    assert MODULES["console"] == ("click",)  # neither jinja2, black nor pyspark, which are blocked here
    done = run(command("kipwire", "call", *arguments), present=MODULES["console"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_a_broker_that_does_not_answer_is_one_line_with_what_the_extra_console_brings() -> None:
    done = run(command("kipwire", "call", "127.0.0.1:1", "Metadata", "--tls"), present=MODULES["console"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kipwire: 127.0.0.1:1: ") and len(done.stderr.splitlines()) == 1


def test_an_import_that_fails_for_another_reason_is_not_hidden() -> None:
    done = run("sys.modules['kipgen.commands.app'] = None\n" + command("kipgen"), present=tuple(OF_EXTRAS))
    assert "ModuleNotFoundError: import of kipgen.commands.app halted" in done.stderr


def test_the_extras_are_those_of_the_project() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, modules in MODULES.items():
        names = {re.split(r"[\[<>=]", one)[0].replace("-", "_") for one in declared[extra]} - {"kipwire"}
        assert set(modules) == {OTHER_NAMES.get(one, one) for one in names}, extra
        own = {name for one in declared[extra] if one.startswith("kipwire[") for name in one[8:].rstrip("]").split(",")}
        assert own == set(WITH.get(extra, ())), extra


@pytest.mark.parametrize("program", CLIS)
@pytest.mark.parametrize("native", ["0", "1"])
def test_version_says_what_it_runs_on(program: str, native: str) -> None:
    environment = {**os.environ, "KIPWIRE_NATIVE": native, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", program, "--version"], env=environment, capture_output=True, text=True, check=True
    )
    line = done.stdout.strip()
    assert line.startswith(f"{program} {kipwire.__version__} (kernel ")
    assert "kernel not in use: KIPWIRE_NATIVE=0 switches it off" in line or native == "1"
    assert line.endswith(f"protocol of Kafka {kipwire.KAFKA_VERSION})")


def test_the_version_is_that_of_the_project() -> None:
    assert kipwire.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    done = run("import kipwire; kipwire.__version__; print('importlib.metadata' in sys.modules)")
    assert done.stdout == "False\n"


def test_names_that_are_imported_when_asked_for_are_offered() -> None:
    assert {"convert", "build", "__version__"} <= set(dir(kipwire))
    assert {"register", "from_message"} <= set(dir(kipspark))
