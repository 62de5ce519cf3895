"""Shared parts of the commands that talk to brokers, by `kipwire.cluster`: options, and failures in one line.

    @click.command
    @click.argument("brokers", type=BROKERS)
    @broker_options
    def command(brokers: tuple[Address, ...], settings: Settings) -> None:
        async def ask() -> list[Node]:
            async with Cluster(brokers, settings) as cluster:
                return await cluster.nodes()

        prepare(settings)
        nodes = run(ask())

Nothing is read or asked for before: a command that makes no connection needs no password. `running` has `prepare` and
`run`; a command imports it when it is called, as `options` explains.
"""

from kipwire.console.brokers.in_folders import AtBrokersOrInFolders
from kipwire.console.brokers.options import ADVERTISED, BROKERS, TARGET, broker_options, listener_options

__all__ = ["ADVERTISED", "BROKERS", "TARGET", "AtBrokersOrInFolders", "broker_options", "listener_options"]
