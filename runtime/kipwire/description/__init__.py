"""The wire description of a class at run time, and everything generic that reads it."""

from kipwire.model.lazy import submodules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.description import json_codec as json_codec
    from kipwire.description import trace as trace
    from kipwire.description import values as values
else:
    __getattr__ = submodules(__name__, "json_codec", "trace", "values")  # most programs need none of them
