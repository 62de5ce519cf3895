"""The ground floor: structs and their fields, types, enums, errors."""

from kipwire.model.lazy import submodules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.model import docstrings as docstrings
    from kipwire.model import enums as enums
    from kipwire.model import presentation as presentation
else:
    __getattr__ = submodules(__name__, "docstrings", "enums", "presentation")  # most programs need none of them
