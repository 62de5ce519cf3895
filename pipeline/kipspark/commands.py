"""The command line `kipspark`: each job runs on your own data, or on the samples that come with it.

The module of a command is imported when it is called. Jobs that `kipwire` has, too, have the same function.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from kipjobs.jobs.catalog import JOBS, job_command
from kipspark.reasons import SPARK_ERRORS, reason
from kipspark.running import OPTIONS, OnSpark
from kipwire import KipwireError
from kipwire.cli.command_line import Command, CommandLine, fail

_OF_SPARK = {
    "extract": "Extract Kafka's frames from captured packets into kipwire's own format, which is smaller and read in "
    "parallel.",
}
COMMANDS = {
    **{name: JOBS[name] for name in ("traffic", "compaction", "transactions", "share", "tiered", "metadata")},
    **_OF_SPARK,
    "offsets": JOBS["offsets"],
}
"""The help of each command."""

_ELSEWHERE = {"extract": "kipjobs.jobs.extract.command"}
_ON_SPARK = {"offsets": "offsets_stream"}
"""Jobs with their own function for Spark, and the folder of it."""
_WITHOUT_SESSION = {"extract"}

app = CommandLine(
    "kipspark",
    "Kafka's logs and traffic as tables, on Spark. Without a PATH a job runs on sample data.",
    {name: Command(f"{__name__}:{name}", about) for name, about in sorted(COMMANDS.items())},
)


def _function(name: str) -> Callable[..., Any]:
    """Import the function of a command."""
    folder = _ON_SPARK.get(name, name.replace("-", "_"))
    of_spark = name in _ON_SPARK or (name in _OF_SPARK and name not in _ELSEWHERE)
    found: Callable[..., Any] = import_module(f"kip{'spark' if of_spark else 'jobs'}.jobs.{folder}.command").command
    return found


def __getattr__(name: str) -> click.Command:
    if name not in COMMANDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = _function(name)

    def refusing(*runner: OnSpark, **values: Any) -> None:
        try:
            function(*runner, **values)
        except (KipwireError, *SPARK_ERRORS, OSError) as error:
            fail(reason(error))

    params = getattr(function, "__click_params__", [])
    if name in _WITHOUT_SESSION:
        return click.Command(name, params=list(reversed(params)), callback=refusing, help=COMMANDS[name])
    refusing.__click_params__ = params  # type: ignore[attr-defined]
    return job_command(name, COMMANDS[name], refusing, OnSpark, OPTIONS)


def main() -> None:
    """Run the command line. An error is one message and exit status 2, Ctrl-C one and exit status 130."""
    logging.disable()  # py4j would log the same errors with tracebacks
    app.main(prog_name=app.name)
