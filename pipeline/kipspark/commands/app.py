"""The command line, to which each module of commands adds its own."""

from __future__ import annotations

from typing import Annotated

import typer

from kipwire.release import release_line
from kipwire.tools.terminal import OUT

app = typer.Typer(
    help="Kafka's logs and traffic as tables, on Spark. Without a PATH a job runs on sample data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
