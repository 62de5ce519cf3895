"""Tools for tests: Hypothesis strategies for every generated class, and a Kafka broker for the clients that they test.

`pip install 'kipwire[testing]'` installs the libraries of both. Each is imported when it is first asked for.
"""

from importlib import import_module

from kipwire.model.extras import explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.testing.broker import FakeBroker, GroupMember, GroupState
    from kipwire.testing.strategies import damaged, field_values, messages, same_message, structs, unknown_tagged_fields

__all__ = ["FakeBroker", "GroupMember", "GroupState"]
_OF_BROKER = frozenset(__all__)
__all__ += ["damaged", "field_values", "messages", "same_message", "structs", "unknown_tagged_fields"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found: object = getattr(import_module(f"{__name__}.{'broker' if name in _OF_BROKER else 'strategies'}"), name)
    except ImportError as error:
        raise explain_missing(f"kipwire.testing.{name} needs", "testing", error) or error from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
