"""Errors of a connection, apart from messages that cannot be read or written."""

from __future__ import annotations

from kipwire.errors import KipwireError


class LocalProtocolError(KipwireError):
    """Something that this side asked its own connection for, which cannot be in the state that it is in.

    Nothing was sent, and the connection is as it was before.
    """


class RemoteProtocolError(KipwireError):
    """Bytes of the peer that cannot be where they are. Nothing can be read after them: close the connection."""

    def __init__(self, reason: str, frame: int, offset: int) -> None:
        super().__init__(reason, frame, offset)
        self.reason = reason
        self.frame = frame
        """Which frame of the peer it is, from 0."""
        self.offset = offset
        """Where that frame's size begins, in bytes from the start of what the peer sent."""

    def __str__(self) -> str:
        return f"frame {self.frame}, at byte {self.offset} of what was received: {self.reason}"
