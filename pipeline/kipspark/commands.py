"""The command line `kipspark`: each job runs on your own data, or on the samples that come with it.

The module of a command is imported when it is called. Jobs that `kipwire` has, too, have the same function.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

import click

from kipjobs.jobs.catalog import JOBS, job_command
from kipspark.reasons import SPARK_ERRORS, reason
from kipspark.running import OPTIONS, OnSpark
from kipwire import KipwireError
from kipwire.cli.command_line import Command, CommandLine, fail

COMMANDS = JOBS | {
    "extract": "Extract Kafka's frames from captured packets into kipwire's own format, which is smaller and read in "
    "parallel.",
}
"""The help of each command."""

_ON_SPARK = {"offsets": "kipspark.jobs.offsets_stream.command"}
"""Commands with a module of their own for Spark; the modules of all others are in `kipjobs.jobs`."""
_WITHOUT_SESSION = {"extract"}

app = CommandLine(
    "kipspark",
    "Kafka's logs and traffic as tables, on Spark. Without a PATH a job runs on sample data.",
    {name: Command(f"{__name__}:{name}", about) for name, about in sorted(COMMANDS.items())},
)


def __getattr__(name: str) -> click.Command:
    if name not in COMMANDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = import_module(_ON_SPARK.get(name, f"kipjobs.jobs.{name}.command")).command

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
