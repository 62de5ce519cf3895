"""Messages: one by itself, in a frame, in a registry, and from one version to another."""

from kipwire.model.lazy import submodules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message import conversion as conversion
    from kipwire.message import frame_errors as frame_errors
    from kipwire.message import frames as frames
else:
    __getattr__ = submodules(__name__, "conversion", "frame_errors", "frames")  # most programs need none of them
