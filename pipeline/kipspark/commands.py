"""The command line `kipspark`: each job runs on your own data, or on the samples that come with it.

The module of a command is imported when it is called: `kipspark.jobs.NAME.command`, whose function `command` has the
arguments and options.
"""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from kipspark.reasons import SPARK_ERRORS, reason
from kipwire import KipwireError
from kipwire.console.release import release_line
from kipwire.tools.terminal import ERR, OUT

COMMANDS = {
    "traffic": "Clients, APIs, versions, sizes, latencies and errors, from captures.",
    "extract": "Extract Kafka's frames from captured packets into kipwire's own format, which is smaller and read in "
    "parallel.",
    "encodings": "What KIP-625's integer encodings would save, from captures.",
    "class-archive": "Make an archive of Spark's Java classes, with which later commands start some five seconds "
    "sooner.",
    "compaction": "How much of compacted topics is dead, by partition and segment, from log folders.",
    "conform": "Check that encode, decode, JSON and columns agree; exit status 1 if anything differs.",
    "connector": "Fetch Spark's Kafka connector, which --bootstrap-servers and kipspark.spark.live need.",
    "transactions": "Open and hanging transactions, and what they hold back, from log folders.",
    "share": "Where share groups are, and what was delivered after their start offsets, from log folders.",
    "tiered": "Segments and partitions in tiered storage, from log folders.",
    "metadata": "Topics, partitions, leaders and configuration of a cluster at a point in time, from its metadata log.",
    "offsets": "Commits, lag and members of consumer groups: over time from log folders, or at present from brokers.",
}
"""The help of each command."""

_INTERRUPTED = 130
"""The exit status that typer has for Ctrl-C, and for nothing else."""

app = typer.Typer(
    help="Kafka's logs and traffic as tables, on Spark. Without a PATH a job runs on sample data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _Lazy(TyperCommand):
    """A command that is imported before its arguments are parsed, and not for the list of commands."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse arguments as the imported command does."""
        job = import_module(f"kipspark.jobs.{str(self.name).replace('-', '_')}.command")
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name, help=self.help)(job.command)
        return get_command(alone).make_context(*arguments, **options)


def _print_release(wanted: bool) -> None:
    if wanted:
        OUT.print(release_line("kipspark"))
        raise typer.Exit


@app.callback()
def _every_command(
    _: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_release, help="Show the release and exit.")
    ] = False,
) -> None:
    """The options that come before the name of a command."""


def _imported_later() -> None:
    """The place of a function that `_Lazy` imports."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help, cls=_Lazy)(_imported_later)


def main() -> None:
    """Run the command line. An error is one message and exit status 1, Ctrl-C one and exit status 130."""
    logging.disable()  # py4j would log the same errors with tracebacks
    try:
        app()
    except (KipwireError, *SPARK_ERRORS, OSError) as error:
        ERR.print(f"kipspark: {reason(error)}")
        sys.exit(1)
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            ERR.print("kipspark: interrupted")
        raise
