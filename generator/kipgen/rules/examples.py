"""Small specs for the examples of the rules."""

from __future__ import annotations


def spec(
    *fields: str,
    name: str = "Probe",
    type_: str = "data",
    valid: str = "0-3",
    flexible: str = "2+",
    more: str = "",
    common: tuple[str, ...] = (),
) -> str:
    """The text of a message spec.

    Args:
        fields: the fields, each as JSON.
        name: the message's name.
        type_: its type.
        valid: its valid versions.
        flexible: its flexible versions.
        more: properties to go first, as JSON, as in `"apiKey": 1`.
        common: the common structs, each as JSON.
    """
    lines = [
        *([more] if more else []),
        f'"name": "{name}", "type": "{type_}"',
        f'"validVersions": "{valid}", "flexibleVersions": "{flexible}"',
        _list("fields", fields or (ALPHA,)),
        *([_list("commonStructs", common)] if common else []),
    ]
    return "{\n" + ",\n".join(f"  {line}" for line in lines) + "\n}\n"


def layout(*fields: str, valid: str = "0-3", more: str = "", common: tuple[str, ...] = ()) -> str:
    """The text of a layout's spec; the arguments are those of `spec`."""
    return spec(*fields, type_="layout", valid=valid, flexible="none", more=more, common=common)


def _list(name: str, items: tuple[str, ...]) -> str:
    return f'"{name}": [\n' + ",\n".join(f"    {item}" for item in items) + "\n  ]"


ALPHA = '{"name": "Alpha", "type": "int32", "versions": "0+"}'
"""The plainest field."""
