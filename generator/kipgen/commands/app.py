"""The command line of kipgen: its commands, and what they have in common."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kipgen.commands.advise.command import advise
from kipgen.commands.check_command import check
from kipgen.commands.compat.command import compat
from kipgen.commands.console import fail, system_error
from kipgen.commands.drift.command import drift
from kipgen.commands.dump.command import dump
from kipgen.commands.generate_command import generate
from kipgen.commands.inspect.command import inspect
from kipgen.commands.new_command import new
from kipgen.commands.quick import QuickCommand, QuickGroup
from kipgen.commands.rules_command import rules
from kipgen.commands.schema_command import schema
from kipwire.release import release_line
from kipwire.tools.text import print_err, print_out

app = typer.Typer(
    name="kipgen",
    cls=QuickGroup,
    help="Typed Python classes from JSON message specs, in the language of KIP-482 and KIP-625.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text, as rich takes longer to import than everything else
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_release(wanted: bool) -> None:
    if wanted:
        print_out(release_line("kipgen"))
        raise typer.Exit


@app.callback()
def _every_command(
    _: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_release, help="Show the release and exit.")
    ] = False,
) -> None:
    """The options that come before the name of a command."""


def main() -> None:
    """Run the command line; errors of the system end in one readable line."""
    try:
        app()
    except KeyboardInterrupt:
        print_err("kipgen: interrupted; run it again to finish")
        sys.exit(130)
    except OSError as error:
        fail(system_error(error))


for command in (generate, check, rules, new, schema, inspect, dump, advise, compat, drift):
    app.command(cls=QuickCommand)(command)
