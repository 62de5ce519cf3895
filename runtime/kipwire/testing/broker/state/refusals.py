"""Why a broker does not do what a request asks for."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode


class Refused(Exception):
    """The answer is an error code, and what else Kafka says with it: values of the response, by name."""

    def __init__(self, error: int, message: str = "", **values: Any) -> None:
        super().__init__(f"{ErrorCode.text(error)}: {message}" if message else ErrorCode.text(error))
        self.error = error
        self.message = message or None
        self.values = values
