"""The kernel serves every generated class, or a list says why not: none falls back to Python because a name is missing.

Its lists of words are compared with the places that these words come from, so that a new property, type, prefix or
method fails here before it makes every class slow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args

import pytest

from kipgen.reading.rules.examples import LEAF, spec
from kipwire import Field, Message, Struct
from kipwire.codec import checksums
from kipwire.description.plan import Item, Plan, struct_plan
from kipwire.model.abi import LEVEL, OLDEST
from kipwire.model.structs import Role
from kipwire.model.types import ENCODINGS, PREFIXES, TYPES
from tests.support.level_checks import folder
from tests.support.native_checks import LEFT_TO_PYTHON
from tests.support.places import ROOT
from tests.support.spec_package import importable, modules_of
from tests.support.subjects.kernel_classes import EVERY_CLASS, KERNEL, needs_kernel

pytestmark = needs_kernel

NOT_OF_THE_CODEC = {
    "__annotations__": "of the constructor",
    "__doc__": "a text",
    "__init__": "reading makes instances without it",
    "__module__": "a name",
    "__slotnames__": "made by pickle",
    "__slots__": "the kernel asks the descriptors that it made",
    "API_KEY": "says which message it is",
    "ATTRIBUTES": "made of FIELDS",
    "DECLARED_TAGS": "made of FIELDS and OTHER_TAGS",
    "HEADER_VERSION": "says which message it is",
    "MAX_VERSION": "says which message it is",
    "MIN_VERSION": "says which message it is",
    "NAME": "says which message it is",
    "REQUEST": "says which message it is",
    "RESPONSE": "says which message it is",
    "TYPE": "says which message it is",
    "VERSION": "says which message it is",
    "_codec": "what the kernel has made of the class",
    "_has_equal_defaults": "of comparisons",
    "_plan": "made of FIELDS",
}
"""Attributes of generated classes that the kernel may ignore in a derived class, each with the reason."""

NOT_OF_THE_BYTES = {
    "compact": "`prefix` and `element_prefix` say it",
    "element_width": "`KINDS` has it",
    "ends_at_limit": "reading ends a struct where its cursor does",
    "has_empty_elements": "`minimum_size` says it",
    "in_order": "the order of the spec, where bytes have another one",
    "integer": "`number` is its place",
    "mask": "`lowest` and `bit_count` say it",
    "unnamed": "the bits say it",
    "varint": "`kind` says it",
    "width_to_end": "for the tracer, which names the place of a checksum that is missing",
}
"""Attributes of plans that the kernel does not read, each with the reason."""


def messages_of(package: ModuleType) -> dict[tuple[str, str, int], type[Message]]:
    """Return the classes of a package, by the names of package and message, and the version."""
    names = ((name, version) for name in package.names() for version in package.versions(name))
    return {(package.__name__, *one): package.message(*one) for one in names}


@pytest.fixture(scope="module")
def classes(forms_package: ModuleType, layouts_package: ModuleType) -> dict[tuple[str, str, int], type[Message]]:
    """Every generated class: of Kafka, of drafts, of every form of the language, and of the kept levels."""
    found = {one: import_module(one[0]).message(*one[1:]) for one in EVERY_CLASS}
    for package in (forms_package, layouts_package):
        found |= messages_of(package)
    for level in range(OLDEST, LEVEL + 1):
        with importable(folder(level)):
            found |= messages_of(import_module(f"level_{level}"))
    return found


def structs_of(cls: type[Struct], found: dict[type[Struct], None]) -> dict[type[Struct], None]:
    """Add a class and the structs in it, at any depth, to the found ones, and return them."""
    if cls not in found:
        found[cls] = None
        for field in cls.FIELDS:
            if field.struct is not None:
                structs_of(field.struct, found)
    return found


def is_served_by(make: Any, *arguments: object) -> bool:
    """True if the kernel makes this of a class."""
    try:
        make(*arguments)
    except KERNEL.NotServed:
        return False
    return True


def test_every_class_is_served_or_listed_with_the_property_that_the_kernel_does_not_know(classes: Any) -> None:
    left = {}
    for one, cls in classes.items():
        if not KERNEL.serves(cls):
            fields = [field for struct in structs_of(cls, {}) for field in struct.FIELDS]
            left[one] = {name for name in KERNEL.UNKNOWN_PROPERTIES if any(getattr(field, name) for field in fields)}
    assert left == LEFT_TO_PYTHON


def test_columns_and_projections_are_served_of_every_class_but_those_with_computed_items(classes: Any) -> None:
    wrong = []
    for one, cls in classes.items():
        is_plain = all(struct_plan(struct).is_plain for struct in structs_of(cls, {}))
        is_nan = any(field.default != field.default for struct in structs_of(cls, {}) for field in struct.FIELDS)
        columns = is_served_by(KERNEL.write_columns, cls, (), (0, 0, [None], []))
        projections = is_served_by(KERNEL.Projector, cls, {}, 0)
        if KERNEL.serves_columns(cls) != is_plain or columns != is_plain or projections != (is_plain and not is_nan):
            wrong.append((one, is_plain, KERNEL.serves_columns(cls), columns, projections))
    assert not wrong


def test_the_kernel_knows_every_property_of_fields_but_one() -> None:
    assert set(Field.__slots__) - KERNEL.KNOWN_PROPERTIES == {"required_if"}, "may the kernel ignore it?"
    assert not KERNEL.KNOWN_PROPERTIES - set(Field.__slots__), "no field has this any more"


def test_a_property_that_the_kernel_does_not_know_may_be_zero(monkeypatch: Any, tmp_path: Path) -> None:
    # `default` in its place: for an int32 the default is 0, and a field without one has another.
    monkeypatch.setattr(KERNEL, "UNKNOWN_PROPERTIES", ("default",))
    assert not KERNEL.serves(modules_of(spec(LEAF), "unknown_property", tmp_path)[0].Probe)


def test_a_class_derived_from_a_generated_one_is_looked_at_for_everything_that_templates_print(classes: Any) -> None:
    structs: dict[type[Struct], None] = {}
    for cls in classes.values():
        structs_of(cls, structs)
    names = {
        name
        for cls in structs
        if "FIELDS" in vars(cls)
        for name in vars(cls).keys() - {one for field in cls.FIELDS for one in (field.name, field.slot)}
    }
    assert not names - KERNEL.CODEC_NAMES - NOT_OF_THE_CODEC.keys(), "is it of the codec? Then add it to CODEC_NAMES"
    assert KERNEL.CODEC_NAMES - names <= {"FLEXIBLE"}, "no class has this any more"  # their bases have it


def test_the_kernel_knows_every_role_of_an_item() -> None:
    roles = set(
        get_args(eval(str(Role), {"Literal": Literal}))
    )  # an alias in quotes, since `typing` is not imported there
    assert set(KERNEL.ROLES) == roles - {"value", "presence"}, "bits of presence are in the items of their integers"


def test_the_kernel_knows_every_prefix_that_specs_and_types_have() -> None:
    schema = json.loads((ROOT / "schemas/message-spec.schema.json").read_text())
    fields = [one for one in objects(schema) if {"size", "count", "checksum"} <= one.keys()]
    # Snippets and lists of allowed properties have these names, too.
    (properties,) = (one for one in fields if "properties" in _keys(one["checksum"]) and "enum" in _keys(one["size"]))
    words = {*properties["size"]["enum"], *properties["count"]["enum"], *(row.prefix for row in TYPES.values())}
    assert words | {"uvarint_plus_one"} == PREFIXES.keys() | {"", "rest"}  # flexible versions have it (KIP-482)
    assert KERNEL.PREFIXES.keys() == PREFIXES.keys() | {"", "rest"}
    assert set(properties["checksum"]["properties"]["algorithm"]["enum"]) == {"crc32", "crc32c"}
    assert callable(checksums.crc32c), "the kernel has both, in checksums.pxd"


def _keys(value: object) -> set[str]:
    return set(value) if isinstance(value, dict) else set()


def objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(one)


def test_the_kernel_knows_which_integers_have_a_sign() -> None:
    integers = {row.name: row for row in TYPES.values() if row.kind == "integer"}
    varints = {name for name, one in ENCODINGS.items() if one.scheme != "fixed"}
    assert integers.keys() | varints == KERNEL.INTEGERS
    assert {name for name, row in integers.items() if not row.signed} == KERNEL.UNSIGNED


@pytest.mark.parametrize("of", [Item, Plan], ids=["item", "plan"])
def test_the_kernel_reads_everything_that_plans_say(of: type) -> None:
    cls = import_module("kafka_messages.fetch_request.v17").FetchRequest
    plan = struct_plan(cls)
    words = {*dir(of), *vars(plan if of is Plan else plan.items[0])}
    text = "\n".join(file.read_text() for file in (ROOT / "runtime/kernel").glob("*.pxi"))
    read = set(re.findall(r"\.(\w+)", text))
    assert {word for word in words if not word.startswith("_")} - read == NOT_OF_THE_BYTES.keys() & words
