"""The command `kipwire proxy`: its arguments and options.

`running` does the work, imported when the command is called; `kipwire.console.brokers.options` has the reason.
"""

from __future__ import annotations

from pathlib import Path

import click

from kipwire.console.brokers import BROKER, broker_options
from kipwire.console.command_line import PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address
    from kipwire.console.brokers import Settings


@click.command
@click.option("--to", type=BROKER, required=True, help="A broker of the cluster, as in kafka-1:9092.")
@click.option(
    "--listen", default=":9093", metavar="[HOST]:PORT", help="Where clients connect; broker n is at PORT+1+n."
)
@click.option("--advertise", metavar="HOST", help="The host that clients are sent to, if it is another one.")
@click.option("--filter", "files", type=PATH, multiple=True, metavar="FILE", help="A Python file with filters (@on).")
@click.option("--listen-cert", type=PATH, metavar="FILE", help="PEM: the proxy's certificate; clients then need TLS.")
@click.option("--listen-key", type=PATH, metavar="FILE", help="PEM: its key, if it is not in the same file.")
@click.option("--listen-ca", type=PATH, metavar="FILE", help="PEM: clients need a certificate of these authorities.")
@click.option("--verbose", "-v", is_flag=True, help="Print a line for each request, with its response.")
@broker_options
def proxy(
    to: Address,
    listen: str,
    advertise: str | None,
    files: tuple[Path, ...],
    listen_cert: Path | None,
    listen_key: Path | None,
    listen_ca: Path | None,
    verbose: bool,
    settings: Settings,
) -> None:
    """Pass on Kafka's protocol between clients and brokers, through filters; clients stay on it until Ctrl-C.

    The other options say how to connect to brokers.
    """
    from kipwire.console.brokers.listening import listener_context
    from kipwire.console.proxy.running import run_proxy

    context = listener_context(listen_cert, listen_key, listen_ca)
    run_proxy(files, settings, verbose, to, listen, advertise=advertise, certificate=context)
