"""What can go wrong in the pipeline besides the errors of kipwire itself."""

from __future__ import annotations

from kipwire import KipwireError


class SourceError(KipwireError):
    """A place that cannot be read: there is nothing, it is something else, or an option makes no sense."""


class JobError(KipwireError):
    """A job that cannot do what it was asked for; the text says what would be right."""


class BrokenMessageError(KipwireError):
    """Bytes in a column that are not the message they should be."""
