"""Shared parts of the commands that talk to brokers: options, TLS and SASL, the right broker, failures in one line.

    @click.command
    @click.argument("broker", type=BROKER)
    @broker_options
    def command(broker: Address, settings: Settings) -> None:
        async def ask() -> MetadataResponse:
            async with settings.connect(broker) as connection:
                return await connection.request(MetadataRequest())

        settings.prepare()
        response = run(ask())

Nothing is read or asked for before: a command that makes no connection needs no password.
"""

from importlib import import_module

from kipwire.console.brokers.given import Target
from kipwire.console.brokers.options import ADVERTISED, BROKER, BROKERS, TARGET, broker_options, listener_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.console.brokers.finding import Node, NotFound, coordinator, find, leaders
    from kipwire.console.brokers.properties import SettingsError
    from kipwire.console.brokers.settings import Settings, run

__all__ = [
    "ADVERTISED",
    "BROKER",
    "BROKERS",
    "TARGET",
    "Node",
    "NotFound",
    "Settings",
    "SettingsError",
    "Target",
    "broker_options",
    "coordinator",
    "find",
    "leaders",
    "listener_options",
    "run",
]

_LATER = {
    "Node": "finding",
    "NotFound": "finding",
    "coordinator": "finding",
    "find": "finding",
    "leaders": "finding",
    "SettingsError": "properties",
    "Settings": "settings",
    "run": "settings",
}
"""Names for code that talks to brokers, with their modules; `options` explains why they are imported on first use."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_LATER[name]}")
    return globals().setdefault(name, getattr(module, name))
