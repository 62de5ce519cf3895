"""The types of the spec language, one row each: the only table of facts about them.

The generator, the codecs, the checks of values, the JSON form and the columns read it; the kernel's own table is tested
against it.

To add an integer that the `struct` module has a code for, such as `uint8`, change four places; a test fails for each
that is left out:

1. Its row in this table. Ranges, defaults, annotations, JSON, columns and test strategies follow.
2. Its name in schemas/message-spec.schema.json and schemas/resolved.schema.json.
3. In `codec/wire.py` the functions that pack and unpack one value and arrays, with their names in `__all__`.
4. In the kernel its kind in `objects.pxd`, between `BOOL` and `UUID`; its row of `KINDS` in `plans.pxi`, and its name
   in `UNSIGNED` if it has no sign; in `reading.pxi` how one value is read, else it is taken for a varint. Writing
   follows, and so do columns if the Arrow type has the width of the type. Until then the kernel leaves structs with it
   to the generated code, and `test_field_metadata.py` fails, as does `test_generated_levels.py` for a level whose specs
   use it.

Then `tests/data/forms` gets fields of it; `tests/runtime/test_generated_strictness.py` its first and last values and
those just beyond, in the order of `Primitives.json`; `test_editor_schema.py`, docs/spec-language.md and
docs/columns.md its name; kipgen's `language/foreign_types.py` what others call it.

An integer without a code in `struct`, such as one of three bytes, has the code of its bytes (`3s`, as a uuid has
`16s`). It also needs a `conversion` in kipgen's `steps.py` with its reading and writing in the templates, a case in
`trace_numbers.py`, and in `kipwire.codec` the functions that convert it. Its width is new in `resolved.schema.json` and
in the kernel: in `store_integer` of `output.pxd`, and, unless Arrow has it, in `set_widths`, `init_default` and
`store_otherwise` of columns. Constants and bits are read without a conversion: give such a type one, or leave it out of
their `Types` in kipgen's `language/layout_properties.py`; `required` keeps it.

A new kind of values needs the same, and a case in `plan.py`, `values.py`, `json_codec.py`, `defaults.py` and
`strategies.py`; so does another floating-point number, whose values are rounded. The kernel's ranges have 64 bits with
sign. Generated code imports what packs the type, so each type is a new level: see `abi.py`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

Kind: TypeAlias = 'Literal["bool", "integer", "float", "uuid", "text", "blob"]'


class Type:
    """A primitive type of the spec language; there is one object for each."""

    __slots__ = ("annotation", "arrow", "code", "encodable", "kind", "name", "nullable", "prefix", "signed", "width")

    def __init__(
        self,
        name: str,
        kind: Kind,
        code: str,
        width: int,
        signed: bool,
        encodable: bool,
        nullable: bool,
        prefix: str,
        annotation: str,
        arrow: str,
    ) -> None:
        self.name = name
        """Name of the type in specs."""
        self.kind: Kind = kind
        """Kind of its values in Python: `text` is a str, `blob` is bytes, the others are as they say."""
        self.code = code
        """The code of its fixed form in the format of the `struct` module; "" where its width varies."""
        self.width = width
        """Bytes of its fixed form; 0 where its width varies."""
        self.signed = signed
        """True if an integer has a sign."""
        self.encodable = encodable
        """True if a KIP-625 `encoding` is allowed."""
        self.nullable = nullable
        """True if null is allowed."""
        self.prefix = prefix
        """The type of the length before a value where a version is not flexible; "" where its width is fixed."""
        self.annotation = annotation
        """The Python type of its values, as generated code writes it."""
        self.arrow = arrow
        """Type of its Arrow column, as a name for `pyarrow.type_for_alias`; `binary16` is fixed-size binary of 16
        bytes.
        """

    @property
    def bits(self) -> int:
        """Bits of its fixed form."""
        return 8 * self.width

    @property
    def range(self) -> tuple[int, int]:
        """The lowest and the highest value of an integer."""
        return (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.signed else (0, (1 << self.bits) - 1)


TYPES = {
    row.name: row
    for row in (
        #    name       kind       code   width  signed encodable nullable prefix   annotation   arrow
        Type("bool",    "bool",    "B",   1,     False, False,    False,   "",      "bool",      "bool"),
        Type("int8",    "integer", "b",   1,     True,  False,    False,   "",      "int",       "int8"),
        Type("int16",   "integer", "h",   2,     True,  True,     False,   "",      "int",       "int16"),
        Type("uint16",  "integer", "H",   2,     False, False,    False,   "",      "int",       "uint16"),
        Type("int32",   "integer", "i",   4,     True,  True,     False,   "",      "int",       "int32"),
        Type("uint32",  "integer", "I",   4,     False, False,    False,   "",      "int",       "uint32"),
        Type("int64",   "integer", "q",   8,     True,  True,     False,   "",      "int",       "int64"),
        Type("float64", "float",   "d",   8,     False, False,    False,   "",      "float",     "float64"),
        Type("uuid",    "uuid",    "16s", 16,    False, False,    False,   "",      "uuid.UUID", "binary16"),
        Type("string",  "text",    "",    0,     False, False,    True,    "int16", "str",       "string"),
        Type("bytes",   "blob",    "",    0,     False, False,    True,    "int32", "bytes",     "binary"),
        Type("records", "blob",    "",    0,     False, False,    True,    "int32", "bytes",     "binary"),
    )
}  # fmt: skip
"""All primitive types, by name."""

SIZED = frozenset(row.name for row in TYPES.values() if row.prefix)
"""The types whose values have a length before them."""
MAX_STRING = 32767
"""Bytes that a string may have, whatever its length could say: the limit of Kafka's writers and readers."""


class Prefix:
    """A number before a value that says how many bytes or elements it has; there is one object for each."""

    __slots__ = ("bits", "form", "name", "null", "plus", "width")

    def __init__(
        self,
        name: str,
        form: Literal["fixed", "zigzag_varint", "unsigned_varint"],
        bits: int,
        plus: int,
        null: int | None,
    ) -> None:
        self.name = name
        """Name of the prefix: in specs, unless only flexible versions have it."""
        self.form: Literal["fixed", "zigzag_varint", "unsigned_varint"] = form
        self.bits = bits
        """Bits of the number; a longer varint is an error."""
        self.plus = plus
        """The difference between the number and the bytes or elements that it counts."""
        self.null = null
        """The number in place of a value that is null; None if no number says so."""
        self.width = bits // 8 if form == "fixed" else 0
        """Bytes of the number; 0 where they vary."""


PLUS_ONE = "uvarint_plus_one"
"""Name of the prefix of flexible versions (KIP-482), which no spec names."""

PREFIXES = {
    row.name: row
    for row in (
        # 31 bits: lengths, counts and tags go up to 2**31 - 1, since Kafka keeps them in a signed int32.
        #      name       form               bits plus null
        Prefix("int16",   "fixed",           16,  0,   -1),
        Prefix("int32",   "fixed",           32,  0,   -1),
        Prefix("varint",  "zigzag_varint",   32,  0,   -1),
        Prefix("uvarint", "unsigned_varint", 31,  0,   None),
        Prefix(PLUS_ONE,  "unsigned_varint", 31,  1,   0),
    )
}  # fmt: skip
"""All prefixes, by name. The type of a value has one (`Type.prefix`), or a spec names another for it."""

KINDS: dict[str, Kind | Literal["struct"]] = {row.name: row.kind for row in TYPES.values()}
"""Kind of the values of a type, by its name; other names are names of structs."""


class Encoding:
    """Encoding of an integer (KIP-625)."""

    __slots__ = ("bits", "scheme")

    def __init__(self, scheme: Literal["fixed", "packed", "upacked"], bits: int) -> None:
        self.scheme: Literal["fixed", "packed", "upacked"] = scheme
        """Fixed width, a zigzag varint, or a varint of the two's complement pattern."""
        self.bits = bits
        """The width of the values it can carry: 16, 32 or 64."""

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Encoding) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def range(self) -> tuple[int, int]:
        """The lowest and the highest value it can carry."""
        return -(1 << self.bits - 1), (1 << self.bits - 1) - 1

    def __str__(self) -> str:
        return f"{self.scheme}{self.bits}"


ENCODINGS = {
    str(one): one
    for one in (
        *(Encoding("fixed", bits) for bits in (16, 32, 64)),
        *(Encoding("packed", bits) for bits in (16, 32, 64)),
        *(Encoding("upacked", bits) for bits in (16, 32, 64)),
    )
}
"""KIP-625's nine encodings, by name."""
