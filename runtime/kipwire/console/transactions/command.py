"""The command `kipwire transactions`: its options with `--brokers`. `running` is what it does, imported at the call.

`kipwire.console.brokers.options` says what that saves. Without `--brokers` it is the job of that name, on log folders.
"""

from __future__ import annotations

import click

from kipwire.cli.jobs import ReportFormat, format_option
from kipwire.console.brokers import BROKERS, AtBrokersOrInFolders, broker_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address
    from kipwire.cluster.settings import Settings


@click.command(
    cls=AtBrokersOrInFolders,
    what="transactions",
    epilog="Without --brokers: transactions, partitions and producers from log folders of brokers, the PATHs, or the "
    "sample data; kipwire transactions PATH --help has the options of that.",
)
@click.option(
    "--brokers",
    type=BROKERS,
    metavar="HOST:PORT[,...]",
    help="Brokers of a cluster, of which one must answer, in place of a PATH. The options below --yes are for "
    "connections to them.",
)
@click.option("--topic", "topics", multiple=True, metavar="GLOB", help="Only partitions of such topics.")
@format_option
@click.option("--abort", "aborts", is_flag=True, help="Show the requests that end what hangs; nothing is sent.")
@click.option("--yes", "is_meant", is_flag=True, help="With --abort: send them.")
@broker_options
def transactions(
    brokers: tuple[Address, ...],
    topics: tuple[str, ...],
    format_: ReportFormat,
    aborts: bool,
    is_meant: bool,
    settings: Settings,
) -> None:
    """Show open and hanging transactions, and what they hold back: at the brokers of a cluster, or in log folders."""
    if is_meant and not aborts:
        raise click.UsageError("--yes is for --abort")
    if aborts and format_ is not ReportFormat.TEXT:
        raise click.UsageError(f"--abort has no --format {format_}")
    from kipwire.console.transactions.running import abort_hanging, show

    if aborts:
        abort_hanging(settings, brokers, topics, is_meant=is_meant)
    else:
        show(settings, brokers, topics, format_)
