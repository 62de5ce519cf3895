"""Why a broker does not do what a request asks for."""

from __future__ import annotations

from kafka_messages.enums import ErrorCode


class Refused(Exception):
    """The answer is an error code."""

    def __init__(self, error: ErrorCode, message: str = "") -> None:
        super().__init__(f"{error.name}: {message}" if message else error.name)
        self.error = error
        self.message = message or None


class MemberIdRequired(Refused):
    """A new member has to join again, with the id that it is given (KIP-394)."""

    def __init__(self, member_id: str) -> None:
        super().__init__(ErrorCode.MEMBER_ID_REQUIRED)
        self.member_id = member_id
