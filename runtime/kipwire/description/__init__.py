"""The wire description of a class at run time, and everything generic that reads it."""

from kipwire.model.lazy import submodules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.description import json_codec as json_codec
    from kipwire.description import values as values
    from kipwire.description import walk as walk
else:
    __getattr__ = submodules(__name__, "json_codec", "values", "walk")  # most programs need none of them
