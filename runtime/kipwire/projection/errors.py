"""What can be wrong with a projection."""

from __future__ import annotations

from kipwire.errors import KipwireError


class ProjectionError(KipwireError):
    """A path that does not lead to a field, paths that overlap, or more or fewer values than paths."""
