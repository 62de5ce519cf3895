"""How the names of a spec become names of Python and of the JSON form."""

from __future__ import annotations

import keyword
import re

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

RESERVED_CLASSES = frozenset({"NAME", "TYPE", "VERSION", "FLEXIBLE", "DEFAULT", "FIELDS", "LAYOUT"})
"""Names of constants in the body of a generated class, where a class of that name could not be seen."""

RESERVED_MODULES = frozenset(
    {
        "decode_request",
        "decode_response",
        "encode_request",
        "encode_response",
        "message",
        "names",
        "request",
        "request_header_version",
        "response",
        "response_header_version",
        "versions",
    }
)
"""Functions of a generated package, which a sub-package of that name would take the place of when it is imported."""

_WORD_START = re.compile(r"(?<=[^A-Z])(?=[A-Z])", re.ASCII)


def snake_case(name: str) -> str:
    """The name in snake case, by the rule of Kafka's generator: `_` before a capital that follows no capital.

    `FooBarBaz` becomes `foo_bar_baz`, `FORTRAN` becomes `fortran`, `ClientID2Name` becomes `client_id2_name`.
    """
    return _WORD_START.sub("_", name).lower()


def attribute_name(field_name: str) -> str:
    """The attribute of a generated class that holds a field; `_` is added to a name that is taken."""
    name = snake_case(field_name)
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED_ATTRIBUTES else name


def class_name(name: str) -> str:
    """The generated class of a message or struct; `_` is added to a name that is taken, as `None` is."""
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED_CLASSES else name


def module_name(message_name: str) -> str:
    """The generated sub-package of a message; `_` is added to a name that is taken."""
    name = snake_case(message_name)
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED_MODULES else name
