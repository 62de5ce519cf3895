"""Translation of names of a spec to names of Python and of the JSON form, and names that are taken.

A name that is taken gets `_` at its end. That never makes a second clash: names in specs are letters and digits, and
`snake_case` puts `_` only before a capital, so no other name ends so. Clashes between names of one spec are errors of
the rules instead (`field-name-clash`, `module-name-clash`), since nothing could say which of the two keeps its name.

A translation is part of the public surface: users import these modules and classes and name these attributes. A name
that generated code starts to use must be added to the taken names here. Otherwise a spec with a field or struct of
that name breaks its class, and only then.
"""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata

from kipwire.model.types import TYPES

_NUMBERS = [row.name.upper() for row in TYPES.values() if row.kind in ("integer", "float")]
_OF_NUMBERS = {f"{way}_{name}" for name in _NUMBERS for way in ("PACK", "UNPACK")}.union(
    f"{way}_{code}" for way in ("pack", "unpack") for code in "bBhHiIqd"
)

RUNTIME_NAMES = {
    "kipwire.codec.arrays": frozenset("""
        read_struct read_structs read_compact_structs read_texts read_compact_texts read_blobs
        read_compact_blobs read_bools write_struct write_structs write_compact_structs write_elements write_texts
        write_compact_texts write_blobs write_compact_blobs write_bools write_sized_texts write_sized_blobs
        read_bounded_struct read_bounded_structs section
        """.split()),
    "kipwire.codec.empty_elements": frozenset("""
        counted_bytes counted_parts read_empty_structs settle_bytes settle_parts write_empty_structs
        """.split()),
    "kipwire.codec.uuids": frozenset({"ZERO_UUID", "read_uuids", "uuid_from", "write_uuids"}),
    "kipwire.model.structs": frozenset({"DEFAULT"}),
    "kipwire.codec.wire": frozenset(_OF_NUMBERS).union("""
        BOOL_BYTE FALSE_TRUE ONE_BYTE VARINTS
        as_bytes as_list encode_text in_order is_empty is_in_order
        read_size read_string_size read_tag_section read_varint tag_section write_size write_string_size
        read_packed_array read_upacked read_upacked_array read_upacked_run
        write_packed write_packed_array write_upacked write_upacked_array write_upacked_run
        """.split()),
}
"""Names that generated code takes from the runtime, by module.

`python.render` imports a name wherever the text of a generated module has the word, so a name that is missing here is
not imported at all.
"""

RESERVED_ATTRIBUTES = frozenset(
    {
        "self",
        "kipwire",
        "encode",
        "decode",
        "read",
        "encoded_size",
        "to_json",
        "from_json",
        "unknown_tagged_fields",
    }
)
"""Names that mean something else inside a generated class."""

RESERVED_CLASSES = frozenset(
    {"NAME", "TYPE", "VERSION", "FLEXIBLE", "DEFAULT", "FIELDS", "REQUEST", "RESPONSE", "ClassVar"}
).union(*RUNTIME_NAMES.values())
"""Names that no generated class may have: constants in the body of a class, which would hide it, and names that
generated code imports, which it would hide.
"""

RESERVED_MODULES = frozenset(
    {
        "decode_request",
        "decode_response",
        "encode_request",
        "encode_response",
        "enums",
        "message",
        "names",
        "request",
        "request_header_version",
        "response",
        "response_header_version",
        "served",
        "versions",
    }
)
"""Functions of a generated package, and its module of enums: a sub-package of that name would hide them."""

WINDOWS_DEVICES = frozenset({"con", "nul", "aux", "prn"}).union(
    f"{device}{number}" for device in ("com", "lpt") for number in range(1, 10)
)
"""Names of devices on Windows, where no file or folder can have them."""

RESERVED_PACKAGES = frozenset({"kipgen", "kipjobs", "kipspark", "kipwire"})
"""Packages that generated code and its users need under their own names.

A folder of one of these names earlier on `sys.path` would hide the real one.
"""

PROPOSALS = "kipwire.drafts.proposals"
"""The one generated package that is part of kipwire."""

_TAKEN_LOCALS = frozenset[str]().union(*RUNTIME_NAMES.values()) | frozenset("""
    body bool bound byte bytes checksums data encoded end fields float frozenset item items kipwire len limit list map
    number out packed parts pos rows self size struct sum tag tagged tuple type uuid zip
    """.split())
"""Names that generated functions use themselves, so that no local variable may be named after a field of that name."""
_BETWEEN_WORDS = re.compile("[.-]")
_WORD_START = re.compile(r"(?<=[^A-Z])(?=[A-Z])", re.ASCII)


def snake_case(name: str) -> str:
    """Convert a name to snake case by the rule of Kafka's generator: `_` before a capital that follows no capital.

    This is `toSnakeCase` of Kafka's MessageGenerator, which makes the names in Kafka's schemas. It does not split a run
    of capitals. A nicer rule would give other names than Kafka's.

    `FooBarBaz` becomes `foo_bar_baz`, `FORTRAN` becomes `fortran`, `ClientID2Name` becomes `client_id2_name`.
    """
    return _WORD_START.sub("_", name).lower()


def attribute_name(field_name: str) -> str:
    """Name the attribute of a generated class that holds a field; `_` is added to a name that is taken."""
    name = snake_case(field_name)
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED_ATTRIBUTES else name


def local_name(attribute: str) -> str:
    """Name a local variable for a value or a part of it; functions named after `struct` formats are taken, too.

    So are names that end in `_at`, which hold positions.
    """
    is_size = attribute.startswith("size") and attribute[4:].isdecimal()
    is_taken = is_size or attribute in _TAKEN_LOCALS or attribute.startswith(("pack_", "unpack_"))
    return f"{attribute}_" if is_taken or attribute.endswith("_at") else attribute


def class_name(name: str) -> str:
    """Name the generated class of a message or struct; `_` is added to a name that is taken, as `None` is."""
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED_CLASSES else name


def header_constant(name: str) -> str:
    """Name the constant for the key of a header, as KIP-82 has it: `client.id` becomes `CLIENT_ID_KEY`."""
    return f"{_BETWEEN_WORDS.sub('_', name).upper()}_KEY"


def module_name(message_name: str) -> str:
    """Name the generated sub-package of a message; `_` is added to a name that is taken."""
    name = snake_case(message_name)
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED_MODULES else name


def need_package_name(name: str) -> None:
    """Check that generated code can be imported from a package of that dotted name, and does not hide another package.

    Raises:
        ValueError: the name cannot be used; the message has the reason and what would be right.
    """
    parts = name.split(".")
    for part in parts:
        # Python normalizes the names in source code (PEP 3131), so an import would look for another folder.
        if not part.isidentifier() or unicodedata.normalize("NFKC", part) != part:
            raise ValueError(f"{name!r} is not a valid name for a Python package; give one with --package")
        if keyword.iskeyword(part):
            raise ValueError(f"{name!r} cannot be imported: {part!r} is a Python keyword; give another with --package")
    if name == PROPOSALS:
        return
    if parts[0] in RESERVED_PACKAGES or parts[0] in sys.stdlib_module_names:
        what = "kipwire itself" if parts[0] in RESERVED_PACKAGES else "part of Python's standard library"
        raise ValueError(f"{name!r} would hide {parts[0]!r}, which is {what}; give another with --package")
