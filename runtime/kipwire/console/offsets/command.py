"""The command `kipwire offsets`: its options. `running` is what it does, imported when it is called.

`kipwire.console.brokers.options` says what that saves.
"""

from __future__ import annotations

import click

from kipwire.console.brokers import BROKERS, broker_options
from kipwire.console.command_line import OneOf, fail
from kipwire.console.offsets.given import Format, Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address
    from kipwire.console.brokers import Settings

_HIGHEST_PORT = 65535


class _ListenType(click.ParamType["Address"]):
    """Reads where a server listens."""

    name = "LISTEN"

    def convert(self, value: str | Address, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        """Host, empty for all addresses of the machine, and port; a usage error for anything else."""
        if isinstance(value, tuple):
            return value
        host, colon, port = value.rpartition(":")
        if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5) or int(port) > _HIGHEST_PORT:
            self.fail(f"{value!r} is no place to listen; give [HOST]:PORT, such as :9308 or localhost:9308", param, ctx)
        return host.removeprefix("[").removesuffix("]"), int(port)


@click.command
@click.option(
    "--brokers",
    type=BROKERS,
    metavar="HOST:PORT[,...]",
    help="Brokers of a cluster, of which one must answer. The options below --serve are for connections to them.",
)
@click.option("--group", "groups", multiple=True, metavar="GLOB", help="Only groups with such a name.")
@click.option("--topic", "topics", multiple=True, metavar="GLOB", help="Only what they read of such topics.")
@click.option(
    "--committed", is_flag=True, help="Lag ends before open transactions, as for readers of committed records."
)
@click.option(
    "--seconds/--no-seconds", default=True, help="Find lag in seconds, too, by a Fetch for each group that is behind."
)
@click.option(
    "--stalled-after",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Wait and look again, and show who has not moved meanwhile; with --serve how long an offset stands still, 60.",
)
@click.option(
    "--format",
    "-f",
    "format_",
    type=OneOf(Format),
    default="text",
    help="Tables for people, a JSON object on each line, or Prometheus' text format.",
)
@click.option("--serve", "listen", type=_ListenType(), metavar="[HOST]:PORT", help="Be an exporter for Prometheus.")
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=15.0, metavar="SECONDS", help="How often --serve looks."
)
@broker_options
def offsets(
    brokers: tuple[Address, ...] | None,
    groups: tuple[str, ...],
    topics: tuple[str, ...],
    committed: bool,
    seconds: bool,
    stalled_after: float | None,
    format_: Format,
    listen: Address | None,
    every: float,
    settings: Settings,
) -> None:
    """Show how far behind the groups of a cluster are, or serve that to Prometheus; exit 1 if something is unknown."""
    from kipwire.console.offsets.running import run_live

    if brokers is None:
        fail("say which cluster: kipwire offsets --brokers localhost:9092")
    run_live(settings, brokers, Wanted(groups, topics, committed, seconds), format_, stalled_after, listen, every)
