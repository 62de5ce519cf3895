"""The command `kipwire offsets`: its options with `--brokers`. `running` is what it does, imported when it is called.

`kipwire.console.brokers.options` says what that saves. Without `--brokers` it is the job of that name, on log folders,
which the extra "jobs" brings.
"""

from __future__ import annotations

import click

from kipwire.cli.jobs import ReportFormat, format_option
from kipwire.console.brokers import BROKERS, AtBrokersOrInFolders, broker_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address
    from kipwire.cluster.settings import Settings

_HIGHEST_PORT = 65535


class _ListenType(click.ParamType["Address"]):
    """Reads where a server listens."""

    name = "LISTEN"

    def convert(self, value: str | Address, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        """Parse host, empty for all addresses of the machine, and port; a usage error for anything else."""
        if isinstance(value, tuple):
            return value
        host, colon, port = value.rpartition(":")
        if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5) or int(port) > _HIGHEST_PORT:
            self.fail(
                f"{value!r} is not an address to listen at; use [HOST]:PORT, such as :9308 or localhost:9308",
                param,
                ctx,
            )
        return host.removeprefix("[").removesuffix("]"), int(port)


@click.command(
    cls=AtBrokersOrInFolders,
    what="groups",
    epilog="Without --brokers: groups over time, from log folders of brokers, which are the PATHs, or the sample data, "
    "with all commits and members, and a page of charts; kipwire offsets PATH --help has the options of that.",
)
@click.option(
    "--brokers",
    type=BROKERS,
    metavar="HOST:PORT[,...]",
    help="Brokers of a cluster, of which one must answer, in place of a PATH. The options below --every are for "
    "connections to them.",
)
@click.option("--group", "groups", multiple=True, metavar="GLOB", help="Only groups with such a name.")
@click.option("--topic", "topics", multiple=True, metavar="GLOB", help="Only what they read of such topics.")
@click.option(
    "--committed", is_flag=True, help="Lag ends before open transactions, as for readers of committed records."
)
@click.option(
    "--seconds/--no-seconds", default=True, help="Find lag in seconds, too, by reading a batch where a group is behind."
)
@click.option(
    "--stalled-after",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Wait and look again, and show who has not moved meanwhile; with --serve how long an offset stands still, 60.",
)
@format_option
@click.option("--serve", "listen", type=_ListenType(), metavar="[HOST]:PORT", help="Be an exporter for Prometheus.")
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=15.0, metavar="SECONDS", help="How often --serve looks."
)
@broker_options
def offsets(
    brokers: tuple[Address, ...],
    groups: tuple[str, ...],
    topics: tuple[str, ...],
    committed: bool,
    seconds: bool,
    stalled_after: float | None,
    format_: ReportFormat,
    listen: Address | None,
    every: float,
    settings: Settings,
) -> None:
    """Show how far behind groups are: at the brokers of a cluster, also for Prometheus, or over time in log folders."""
    from kipwire.console.offsets.running import LagQuery, run_live

    run_live(settings, brokers, LagQuery(groups, topics, committed, seconds), format_, stalled_after, listen, every)
