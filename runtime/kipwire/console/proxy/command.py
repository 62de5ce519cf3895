"""The options of `kipwire proxy`. `running` is imported at the call; `kipwire.console.brokers.options` says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kipwire.cli.command_line import PATH
from kipwire.cli.options import packages_option
from kipwire.console.brokers import ADVERTISED, BROKERS, broker_options, listener_options


@click.command
@click.option(
    "--to",
    type=BROKERS,
    required=True,
    metavar="HOST:PORT[,...]",
    help="Brokers of the cluster, of which one must answer.",
)
@click.option(
    "--listen",
    default="127.0.0.1:9093",
    metavar="[HOST]:PORT",
    help="Where clients connect; broker n is at PORT+1+n. :PORT is at all addresses.",
)
@click.option(
    "--advertise",
    type=ADVERTISED,
    metavar="HOST[:PORT]",
    help="Where clients are sent instead; broker n is at PORT+1+n.  [default: as --listen]",
)
@click.option("--filter", "files", type=PATH, multiple=True, metavar="FILE", help="A Python file with filters (@on).")
@packages_option
@listener_options
@click.option("--verbose", "-v", is_flag=True, help="Print a line for each request, with its response.")
@broker_options
def proxy(files: tuple[Path, ...], packages: tuple[str, ...], **options: Any) -> None:
    """Pass on Kafka's protocol between clients and brokers, through filters; clients stay on it until Ctrl-C.

    The other options say how to connect to brokers.
    """
    from kipwire.console.proxy.running import run_proxy

    run_proxy(files, packages, **options)
