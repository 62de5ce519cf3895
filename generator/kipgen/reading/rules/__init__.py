"""The rules of the spec language, each a function with a name, a summary and examples.

To add a rule, write a function in the module where it belongs, with a decorator of `rule.py`: the properties that it
needs, one sentence, a good and a bad example, and its `severity` if it is no error, also in specs for Kafka's own
generator (`kafka`; None if it does not hold there). Its name with hyphens is the id of the rule, and its place in the
module is its place in `kipgen rules`. The examples are its tests. A rule about a bound needs one test more, in
`tests/generator/spec/test_spec_rules.py`, or in `test_enums.py` for enums.

A decorator is for messages with their fields, for folders, or for enums: a fault of several of these is several rules.
A fault that is found while a file is read is a row of `RULES` in `reading.py`, without a function. A new module goes
into `_MODULES`.
"""

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
