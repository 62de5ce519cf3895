"""Translation of names of a spec to names of Python and of the JSON form, and names that are taken.

A name that is taken gets `_` at its end. That never makes a second clash: names in specs are letters and digits, and
`snake_case` puts `_` only before a capital, so no other name ends so. Clashes between names of one spec are errors of
the rules instead (`field-name-clash`, `module-name-clash`), since nothing could say which of the two keeps its name.

A translation is part of the public surface: users import these modules and classes and name these attributes. Names
that generated code takes from the runtime are taken because they are in the `__all__` of a module. A variable that
templates start to use must be added to the taken names here: else a spec with a field of that name breaks its class,
and only then.
"""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata

from kipwire.codec.arrays import __all__ as of_arrays
from kipwire.codec.empty_elements import __all__ as of_empty_elements
from kipwire.codec.uuids import __all__ as of_uuids
from kipwire.codec.wire import __all__ as of_wire

RUNTIME_NAMES = {
    "kipwire.codec.arrays": frozenset(of_arrays),
    "kipwire.codec.empty_elements": frozenset(of_empty_elements),
    "kipwire.codec.uuids": frozenset(of_uuids),
    "kipwire.codec.wire": frozenset(of_wire),
    "kipwire.model.structs": frozenset({"DEFAULT"}),
}
"""Names that generated code takes from the runtime, by module.

`python.render` imports a name wherever the text of a generated module has the word, and refuses a module that uses a
name without importing it.
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
        "newest",
        "request",
        "request_header_version",
        "response",
        "response_header_version",
        "served",
        "versions",
    }
)
"""Functions of a generated package, and its modules of enums and of newest classes, which a sub-package of that name
would hide.
"""

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
