"""The command `kipwire offsets`: its options with `--brokers`. `running` is what it does, imported when it is called.

`kipwire.console.brokers.options` says what that saves. Without `--brokers` it is the job of that name, on log folders,
which the extra "jobs" brings.
"""

from __future__ import annotations

import json

import click

from kipwire.cli.command_line import fail
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
    without="--grafana",
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
@click.option(
    "--all-topics", is_flag=True, help="With --serve or -f prometheus: ends of partitions that no group reads, too."
)
@click.option("--grafana", is_flag=True, help="Print a board of Grafana for these metrics, as JSON; nothing else.")
@broker_options
def offsets(
    brokers: tuple[Address, ...] | None,
    groups: tuple[str, ...],
    topics: tuple[str, ...],
    committed: bool,
    seconds: bool,
    stalled_after: float | None,
    format_: ReportFormat,
    listen: Address | None,
    every: float,
    all_topics: bool,
    grafana: bool,
    settings: Settings,
) -> None:
    """Show how far behind groups are: at the brokers of a cluster, also for Prometheus, or over time in log folders."""
    if grafana:
        from kipwire.console.offsets.grafana import board

        if brokers is not None:
            fail("--grafana cannot be used with --brokers; the board is the same for all clusters")
        print(json.dumps(board(), indent=2))
        return
    if all_topics and listen is None and format_ is not ReportFormat.PROMETHEUS:
        fail("--all-topics needs --serve or -f prometheus; other formats show groups")
    from kipwire.console.offsets.running import LagQuery, run_live

    assert brokers is not None  # else the command is the job, by `AtBrokersOrInFolders`
    query = LagQuery(groups, topics, committed, seconds, all_topics)
    run_live(settings, brokers, query, format_, stalled_after, listen, every)
