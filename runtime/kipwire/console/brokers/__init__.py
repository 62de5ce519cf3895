"""What every command that talks to brokers shares: options, TLS and SASL, the right broker, failures in one line.

    @click.command
    @click.argument("broker", type=BROKER)
    @broker_options
    def command(broker: Address, settings: Settings) -> None:
        async def ask() -> MetadataResponse:
            async with settings.connect(broker) as connection:
                return await connection.request(MetadataRequest())

        response = run(ask())

Nothing is read or asked for before the first connection: a command that makes none needs no password.
"""

from kipwire.console.brokers.finding import TARGET, Node, NotFound, Target, find, leaders
from kipwire.console.brokers.options import BROKER, broker_options
from kipwire.console.brokers.properties import SettingsError
from kipwire.console.brokers.settings import Settings, run

__all__ = [
    "BROKER",
    "TARGET",
    "Node",
    "NotFound",
    "Settings",
    "SettingsError",
    "Target",
    "broker_options",
    "find",
    "leaders",
    "run",
]
