"""What the walker reports: bytes with a meaning of their own, and what to call them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kipwire.structs import Field

Role = Literal["value", "length", "count", "marker", "tags", "tag", "size", "unknown", "bits", "constant", "checksum"]


class Element(NamedTuple):  # a dataclass would make everyone who meets an error wait for an import
    """Bytes with a meaning of their own: a value, or a prefix, count, marker or tag around values."""

    path: str
    """The field's path, such as `topics[0].name`; for the count of tagged fields the path of their struct."""
    role: Role
    """`value` of a primitive type; `length` of a string, of bytes or records; `count` of an array; `marker` that
    says whether a nullable struct is there; and of tagged fields (KIP-482): `tags`, how many there are in a struct,
    `tag`, the number of one, `size`, its size in bytes, and `unknown`, the content of one that the spec does not know.

    Of record formats also: `size` in bytes of all elements of an array, or of the rest of a struct; `bits`, an integer
    whose bits have names, followed by a `value` for each attribute and a `marker` for each bit that says whether a
    value is there; `constant`; `checksum`.
    """
    field: Field | None
    """Whose bytes they are; None for `tags` and for all of an unknown tagged field."""
    start: int
    """Position of the first byte in the buffer."""
    end: int
    """Position after the last byte; equal to `start` for empty strings and bytes, and for named bits."""
    value: object
    """What the bytes mean: the attribute's value for a primitive, None for a null's length or count, else a number."""
    form: str = ""
    """The form of a prefix, as in `kipwire.description.plan`, for what says how long a value is."""

    @property
    def kind(self) -> str:
        """Type and encoding in words, such as `int32 packed32`, `compact string length`, `count int32`, `tag`."""
        field, form = self.field, self.form
        if field is None or self.role == "tag" or (self.role == "size" and field.tag is not None):
            return _TAGGED_KINDS[self.role]
        if form:
            what = (
                "array size" if self.role == "size" else "count" if self.role == "count" else f"{field.element} length"
            )
            return f"compact {what}" if form == "uvarint_plus_one" else f"{what} {form}"
        if field.bit is not None:
            return f"bit {field.bit}" if field.bits is None else f"bits {field.bit}-{field.bit + field.bits - 1}"
        if self.role == "marker":
            return f"marker {'int8' if field.tag is None else 'varint'}"
        if field.role == "checksum":
            return field.algorithm
        type_ = f"{field.element} {field.encoding}" if field.encoding else field.element
        return type_ if field.role == "value" else f"{_COMPUTED_KINDS[field.role]} {type_}"


_TAGGED_KINDS = {"tags": "tag count", "tag": "tag", "size": "tagged field size", "unknown": "unknown tagged field"}
_COMPUTED_KINDS = {"size": "rest size", "bits": "bits", "constant": "constant"}
