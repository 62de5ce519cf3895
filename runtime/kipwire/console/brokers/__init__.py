"""Shared parts of the commands that talk to brokers, by `kipwire.cluster`: options, and failures in one line.

    @click.command
    @click.argument("broker", type=BROKER)
    @broker_options
    def command(broker: Address, settings: Settings) -> None:
        async def ask() -> MetadataResponse:
            async with settings.connect(broker) as connection:
                return await connection.request(MetadataRequest())

        prepare(settings)
        response = run(ask())

Nothing is read or asked for before: a command that makes no connection needs no password. `running` has `prepare` and
`run`; a command imports it when it is called, as `options` explains.
"""

from kipwire.console.brokers.options import ADVERTISED, BROKER, BROKERS, TARGET, broker_options, listener_options

__all__ = ["ADVERTISED", "BROKER", "BROKERS", "TARGET", "broker_options", "listener_options"]
