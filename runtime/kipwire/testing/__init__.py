"""Tools for tests: strategies of Hypothesis for generated classes, a test of a whole package, and a Kafka broker.

`pip install 'kipwire[testing]'` installs the libraries of all. Each is imported when it is first asked for.
"""

from importlib import import_module

from kipwire.model.extras import explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.testing.broker import FakeBroker, GroupMember, GroupState
    from kipwire.testing.packages import check_package
    from kipwire.testing.strategies import damaged, field_values, messages, same_message, structs, unknown_tagged_fields

__all__ = ["FakeBroker", "GroupMember", "GroupState", "check_package"]
__all__ += ["damaged", "field_values", "messages", "same_message", "structs", "unknown_tagged_fields"]
_MODULES = {"FakeBroker": "broker", "GroupMember": "broker", "GroupState": "broker", "check_package": "packages"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found: object = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'strategies')}"), name)
    except ImportError as error:
        raise explain_missing(f"kipwire.testing.{name} needs", "testing", error) or error from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
