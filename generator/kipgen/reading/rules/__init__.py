"""The rules of the spec language, each a function with a name, a summary and examples."""

from kipgen.reading.rules import (
    encodings,
    enums,
    fields,
    headers,
    kafka,
    layout_fields,
    layout_structs,
    layouts,
    message,
    package,
    reading,
    registers,
    structs,
    tags,
)
from kipgen.reading.rules.rule import Folder, Rule

# A module's rules are found among its names, so none may import a rule from another module: it would run twice.
_MODULES = (
    message,
    headers,
    fields,
    structs,
    tags,
    encodings,
    enums,
    registers,
    layouts,
    layout_fields,
    layout_structs,
    package,
    kafka,
)

ALL = (*reading.RULES, *(rule for module in _MODULES for rule in vars(module).values() if isinstance(rule, Rule)))
"""Every rule, in the order in which `kipgen rules` lists them: by module, and in it as they are written."""

__all__ = ["ALL", "Folder", "Rule"]
