"""Errors of one row of many: the errors of messages, with the row."""

from __future__ import annotations

from kipwire.model.errors import DecodeError, EncodeError, KipwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kipwire.records import RecordBatch


class ColumnError(KipwireError):
    """Columns that do not belong to the message, or that hold more than Arrow's 32-bit offsets can address."""


class _RowError(KipwireError):
    """The error of one row, and of its message as well: made of the number of the row and the error's arguments."""

    def __init__(self, row: int, *of_message: Any) -> None:
        super().__init__(*of_message)
        self.args = (row, *self.args)
        self.row = row
        """Number of the row, from 0; over all chunks, where there are several. Offsets count within the row."""

    def __str__(self) -> str:
        return f"row {self.row}: {super().__str__()}"


class RowDecodeError(_RowError, DecodeError):
    """A row whose bytes are not a message of this version."""


class RowEncodeError(_RowError, EncodeError):
    """A row with a value that the wire form of its field cannot carry."""


def too_large_a_number(batch: RecordBatch) -> ColumnError:
    """Make the error for a batch with numbers that Python can hold and a column cannot."""
    return ColumnError(
        f"batch at byte {batch.position}: a record has an offset or a timestamp of more than 64 bits, counted from "
        f"{batch.base_offset} and {batch.base_timestamp}"
    )


def too_much() -> ColumnError:
    """Make the error for a column that outgrows its offsets."""
    return ColumnError("a column would hold more than 2 GiB, or more than 2^31 values: take fewer rows at a time")
