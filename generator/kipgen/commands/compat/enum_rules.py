"""The rules by which `kipgen compat` judges changes of enums, the worst first; `enums` makes the changes.

They are a part of `rules`, which says what a rule is.
"""

from __future__ import annotations

from functools import partial

from kipgen.commands.compat.model import CompatRule, Revisions, change
from kipgen.reading.rules.examples import enum, field_of, spec

_wire = partial(CompatRule, severity="wire")
_source = partial(CompatRule, severity="source")
_notice = partial(CompatRule, severity="notice")

_NAMED = spec(field_of("int8", enum="Light"))
_OFF = '{"value": 0, "name": "OFF", "about": "It does not burn."}'
_ON = '{"value": 1, "name": "ON", "about": "It burns."}'
_DIM = '{"value": 2, "name": "DIM", "about": "It burns a little."}'
_NAME_ONLY = '"reservedNames": ["DIM"]'
_RESERVED = '"reservedValues": [2], "reservedNames": ["DIM"]'


def _lights(old: str, new: str) -> Revisions:
    """Make the example of a change of an enum, in a package with a message."""
    return change((_NAMED, old), (_NAMED, new))


ENUM_RULES = (
    _wire(
        "enum-value-changed",
        summary="A name in an enum keeps its number.",
        breaks="peers send the old number and read the new one as what it was: each takes a value for another one, or "
        "does not know it",
        instead="restore the number; a new value gets a number that was never used",
        good=_lights(enum(_OFF, _ON), enum(_OFF, _ON, _DIM)),
        bad=_lights(enum(_OFF, _ON), enum(_OFF, _ON.replace("1", "2"))),
    ),
    _wire(
        "enum-value-reused",
        summary="A number or name that an enum once had for another value is not used again.",
        breaks="peers still send the old value under this number, and it is read as the new one",
        instead="choose a number and a name that were never used, and reserve the old ones. "
        "If only the name is new, keep the old one, or allow this finding",
        good=_lights(enum(_OFF, _ON, more=_RESERVED), enum(_OFF, _ON, more=_RESERVED)),
        bad=_lights(enum(_OFF, _ON, more=_RESERVED), enum(_OFF, _ON, _DIM.replace("DIM", "BRIGHT"), more=_NAME_ONLY)),
    ),
    _wire(
        "enum-changed",
        summary="In another enum, or with other enumBits, the numbers of a field keep their names.",
        breaks="peers take a number for what it means in the old enum, and it is read as something else",
        instead="keep enum and enumBits, and make a new field with the new enum",
        good=change((spec(field_of("int8")), enum(_OFF, _ON)), (_NAMED, enum(_OFF, _ON))),
        bad=change(
            (_NAMED, enum(_OFF, _ON), enum(_OFF.replace("OFF", "DARK"), name="Mood")),
            (_NAMED.replace("Light", "Mood"), enum(_OFF, _ON), enum(_OFF.replace("OFF", "DARK"), name="Mood")),
        ),
    ),
    _source(
        "enum-value-renamed",
        summary="A value of an enum keeps its name: code depends on it, although bytes do not.",
        breaks="code that uses the old name; peers only if the number has another meaning, too",
        instead="keep the name; a new meaning needs a new number. If you allow this finding, list the old name in "
        "reservedNames",
        good=_lights(enum(_OFF, _ON), enum(_OFF, _ON.replace("burns", "shines"))),
        bad=_lights(enum(_OFF, _ON), enum(_OFF, _ON.replace("ON", "LIT"))),
    ),
    _source(
        "enum-value-removed",
        summary="A value of an enum stays: code depends on its name, and peers may send its number.",
        breaks="code that uses the name",
        instead="keep the value, or allow this finding and inform users of the package",
        good=_lights(enum(_OFF, _ON, _DIM), enum(_OFF, _ON, _DIM)),
        bad=_lights(enum(_OFF, _ON, _DIM), enum(_OFF, _ON, more=_RESERVED)),
    ),
    _source(
        "enum-value-forgotten",
        summary="The number and the name of a removed value are listed in reservedValues and reservedNames.",
        breaks="code that uses the name; and nothing prevents the number from being used again, which peers still send",
        instead="list them in reservedValues and reservedNames of the enum",
        good=_lights(enum(_OFF, _ON, more=_RESERVED), enum(_OFF, _ON, more=_RESERVED)),
        bad=_lights(enum(_OFF, _ON, _DIM), enum(_OFF, _ON)),
    ),
    _source(
        "enum-renamed",
        summary="An enum keeps its name: code depends on it, although bytes do not.",
        breaks="code that imports its class",
        instead="keep the name, or allow this finding and inform users of the package",
        good=_lights(enum(_OFF, _ON), enum(_OFF, _ON)),
        bad=change((_NAMED, enum(_OFF, _ON)), (_NAMED.replace("Light", "Lamp"), enum(_OFF, _ON, name="Lamp"))),
    ),
    _source(
        "enum-removed",
        summary="An enum stays, even if no field uses it any more.",
        breaks="code that imports its class",
        instead="keep the file, or allow this finding and inform users of the package",
        good=_lights(enum(_OFF, _ON), enum(_OFF, _ON)),
        bad=change((spec(), enum(_OFF, _ON)), spec()),
    ),
    _source(
        "enum-kind-changed",
        summary="The values of an enum keep the attributes that errors, messages or header keys have.",
        breaks="code that uses these attributes",
        instead="keep what the values had, or allow this finding and inform users of the package",
        good=_lights(enum(_OFF), enum(_OFF.replace("}", ', "retriable": false}'))),
        bad=_lights(enum(_OFF.replace("}", ', "retriable": false}')), enum(_OFF)),
    ),
    _notice(
        "enum-replaced",
        summary="A field may have another enum, or none, if no number gets another name.",
        breaks="code that asks for the names of the field's numbers",
        instead="make sure that this is what you want",
        good=change((spec(field_of("int8")), enum(_OFF, _ON)), (_NAMED, enum(_OFF, _ON))),
        bad=change((_NAMED, enum(_OFF, _ON)), (spec(field_of("int8")), enum(_OFF, _ON))),
    ),
)
