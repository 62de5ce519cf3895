"""The rules of the spec language, each a function with a name, a summary and examples."""

from kipgen.rules import (
    defaults,
    encodings,
    enums,
    fields,
    kafka,
    layout_fields,
    layout_structs,
    layouts,
    message,
    package,
    reading,
    reserved_tags,
    structs,
    tags,
)
from kipgen.rules.rule import Entry, Folder, Rule

ALL: tuple[Rule, ...] = (
    *reading.RULES,
    *message.RULES,
    *fields.RULES,
    *structs.RULES,
    *tags.RULES,
    *reserved_tags.RULES,
    *defaults.RULES,
    *encodings.RULES,
    *enums.RULES,
    *layouts.RULES,
    *layout_fields.RULES,
    *layout_structs.RULES,
    *package.RULES,
    *kafka.RULES,
)
"""Every rule, in the order in which `kipgen rules` lists them."""

__all__ = ["ALL", "Entry", "Folder", "Rule"]
