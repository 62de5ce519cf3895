"""What can go wrong with one row of many: the errors of messages, with the row."""

from __future__ import annotations

from kipwire.errors import DecodeError, EncodeError, KipwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.records import RecordBatch


class ColumnError(KipwireError):
    """Columns that are not those of the message, or that hold more than Arrow's 32-bit offsets can tell of."""


class RowDecodeError(DecodeError):
    """A row whose bytes are not a message of this version."""

    def __init__(self, row: int, message: str, version: int, path: str, offset: int, reason: str) -> None:
        super().__init__(message, version, path, offset, reason)
        self.args = (row, message, version, path, offset, reason)
        self.row = row
        """Number of the row, from 0; over all chunks, where there are several. The offset counts within the row."""

    def __str__(self) -> str:
        return f"row {self.row}: {super().__str__()}"


class RowEncodeError(EncodeError):
    """A row with a value that the wire form of its field cannot carry."""

    def __init__(self, row: int, message: str, version: int, path: str, reason: str) -> None:
        super().__init__(message, version, path, reason)
        self.args = (row, message, version, path, reason)
        self.row = row
        """Number of the row, from 0; over all chunks, where there are several."""

    def __str__(self) -> str:
        return f"row {self.row}: {super().__str__()}"


def decode_error_of_row(row: int, error: DecodeError) -> RowDecodeError:
    """The error of a message as that of its row."""
    return RowDecodeError(row, error.message, error.version, error.path, error.offset, error.reason)


def encode_error_of_row(row: int, error: EncodeError) -> RowEncodeError:
    """The error of a message as that of its row."""
    return RowEncodeError(row, error.message, error.version, error.path, error.reason)


def too_large_a_number(batch: RecordBatch) -> ColumnError:
    """What to say where a batch has numbers that Python can tell of and a column cannot."""
    return ColumnError(
        f"batch at byte {batch.position}: a record has an offset or a timestamp of more than 64 bits, counted from "
        f"{batch.base_offset} and {batch.base_timestamp}"
    )


def too_much() -> ColumnError:
    """What to say where a column outgrows its offsets."""
    return ColumnError("a column would hold more than 2 GiB, or more than 2^31 values: take fewer rows at a time")
