"""`kipgen compat` on enums: its verdicts beside what the generated classes of both sides make of every number."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from kipgen.commands.compat.enums import (
    EnumRevision,
    compare_field_enums,
    enum_findings,
    match_enums,
)
from kipgen.commands.compat.history import forgotten_values
from kipgen.commands.compat.revisions import SpecErrors, compare_paths
from kipgen.commands.compat.rules import Revisions
from kipgen.language.spec import MessageSpec
from kipgen.python.render import registry_entry
from kipgen.python.render_enums import render_enums
from kipgen.reading.check import read_bytes
from kipgen.reading.rules.examples import field_of, spec
from kipgen.resolve.headers import HeaderVersions
from tests.support.subjects.compat_changes import write_revisions

Values = tuple[tuple[int, str], ...]
"""The numbers and names of an enum."""

COLOURS = ((0, "RED"), (1, "BLUE"))
SHAPES = ((0, "FLAT"), (1, "ROUND"))


def enum(values: Values, name: str = "Colour", **more: Any) -> str:
    rows = [{"value": number, "name": one, "about": "A thing."} for number, one in sorted(values)]
    # The example's text, by which `file_name` knows an enum.
    return json.dumps({"name": name, "about": "A light.", "values": rows, **more}, indent=1)


def probe(type_: str = "int8", name: str = "Alpha", **more: Any) -> str:
    return spec(field_of(type_, name, **more))


def compare(folder: Path, old: tuple[str, ...], new: tuple[str, ...]) -> list[tuple[str, str, str, str]]:
    found = compare_paths(*write_revisions(folder, Revisions(old, new))).findings
    return [(one.rule.id, one.severity, one.path, one.text) for one in found]


# Values

CHANGES: dict[str, tuple[Values, dict[str, Any], list[tuple[str, str, str, str]]]] = {
    "none": (COLOURS, {}, []),
    "a new value": ((*COLOURS, (7, "GREEN")), {}, []),
    "a new value between": ((*COLOURS, (-1, "GREEN")), {}, []),
    "renumbered": (
        ((0, "RED"), (2, "BLUE")),
        {},
        [("enum-value-changed", "wire", "Colour.BLUE", "was 1, is now 2")],
    ),
    "renumbered, the number taken": (
        ((0, "RED"), (1, "GREEN"), (2, "BLUE")),
        {},
        [("enum-value-changed", "wire", "Colour.BLUE", "was 1, is now 2; 1 is now GREEN")],
    ),
    "exchanged": (
        ((0, "BLUE"), (1, "RED")),
        {},
        [
            ("enum-value-changed", "wire", "Colour.BLUE", "was 1, is now 0; 1 is now RED; 0 was RED"),
            ("enum-value-changed", "wire", "Colour.RED", "was 0, is now 1; 0 is now BLUE; 1 was BLUE"),
        ],
    ),
    "moved to the number of a removed one": (
        ((1, "RED"),),
        {},
        [("enum-value-changed", "wire", "Colour.RED", "was 0, is now 1; 1 was BLUE")],
    ),
    "renamed": (
        ((0, "RED"), (1, "NAVY")),
        {},
        [("enum-value-renamed", "source", "Colour.NAVY", "1 was BLUE")],
    ),
    "removed": (
        ((0, "RED"),),
        {},
        [
            (
                "enum-value-forgotten",
                "source",
                "Colour.BLUE",
                "1 was removed, and neither its number nor its name is reserved",
            )
        ],
    ),
    "removed, half of it reserved": (
        ((0, "RED"),),
        {"reservedValues": [1]},
        [("enum-value-forgotten", "source", "Colour.BLUE", "1 was removed, and its name is not reserved")],
    ),
    "removed and reserved": (
        ((0, "RED"),),
        {"reservedValues": [1], "reservedNames": ["BLUE"]},
        [("enum-value-removed", "source", "Colour.BLUE", "1 was removed")],
    ),
}


@pytest.mark.parametrize("row", CHANGES)
def test_change_of_values_has_its_verdict(row: str, tmp_path: Path) -> None:
    values, more, expected = CHANGES[row]
    assert compare(tmp_path, (spec(), enum(COLOURS)), (spec(), enum(values, **more))) == expected


def test_what_peers_cannot_see_and_code_does_not_use_is_no_finding(tmp_path: Path) -> None:
    old = enum(COLOURS)
    new = old.replace("A thing.", "Another thing.").replace('"name": "RED"', '"kip": 7, "name": "RED"')
    assert compare(tmp_path, (spec(), old), (spec(), new)) == []


RESERVED: dict[str, Any] = {"reservedValues": [5, 6], "reservedNames": ["FIVE", "SIX"]}


@pytest.mark.parametrize(
    ("values", "more", "expected"),
    [
        ((), RESERVED, []),
        (
            ((5, "GREEN"),),
            {"reservedValues": [6], "reservedNames": ["FIVE", "SIX"]},
            [("enum-value-reused", "Colour.GREEN", "5 was reserved: it once had another name")],
        ),
        (
            ((5, "FIVE"),),
            {"reservedValues": [6], "reservedNames": ["SIX"]},
            [("enum-value-reused", "Colour.FIVE", "5 was reserved: it once had another name")],
        ),
        (
            ((7, "SIX"),),
            {"reservedValues": [5, 6], "reservedNames": ["FIVE"]},
            [("enum-value-reused", "Colour.SIX", "SIX was reserved: it once was the name of another number")],
        ),
        (
            (),
            {"reservedValues": [5], "reservedNames": ["SIX"]},
            [
                ("enum-value-forgotten", "Colour", "6 is no longer reserved"),
                ("enum-value-forgotten", "Colour", "FIVE is no longer reserved"),
            ],
        ),
    ],
    ids=["kept", "number", "both", "name", "dropped"],
)
def test_what_was_reserved_stays_reserved(
    values: Values, more: dict[str, Any], expected: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    found = compare(tmp_path, (spec(), enum(COLOURS, **RESERVED)), (spec(), enum((*COLOURS, *values), **more)))
    assert [(rule, path, text) for rule, _, path, text in found] == expected
    assert {severity for rule, severity, *_ in found if rule == "enum-value-reused"} <= {"wire"}


def test_findings_have_the_places_of_the_values_on_both_sides(tmp_path: Path) -> None:
    old, new = enum(COLOURS), enum(((0, "RED"), (3, "BLUE")))
    (found,) = compare_paths(*write_revisions(tmp_path, Revisions((spec(), old), (spec(), new)))).findings
    assert (found.location.file, found.was.file) == tuple(
        str(tmp_path / side / "1.enum.json") for side in ("new", "old")
    )
    lines = old.splitlines(), new.splitlines()
    assert lines[0][found.was.line - 1][found.was.column - 1 :].startswith("1,")
    assert lines[1][found.location.line - 1][found.location.column - 1 :].startswith("3,")


# Enums as a whole


def test_an_enum_that_is_gone_or_has_another_name_breaks_code(tmp_path: Path) -> None:
    old = spec(), enum(COLOURS), enum(SHAPES, "Shape")
    gone = [("enum-removed", "source", "Shape", "the enum was removed")]
    assert compare(tmp_path / "gone", old, old[:2]) == gone
    (tmp_path / "moved" / "new").mkdir(parents=True)
    renamed = [("enum-renamed", "source", "Form", "was Shape")]
    assert compare(tmp_path / "renamed", old, (spec(), enum(COLOURS), enum(SHAPES, "Form"))) == renamed
    # Known by its values in another file, too; with other values as well it would be another enum.
    assert (
        compare(tmp_path / "filed", old, (spec(), enum(COLOURS), spec(name="Other"), enum(SHAPES, "Form"))) == renamed
    )
    other = spec(), enum(COLOURS), spec(name="Other"), enum(((4, "OVAL"),), "Form")
    assert compare(tmp_path / "other", old, other) == gone


def test_a_renamed_enum_is_one_finding_also_where_fields_follow(tmp_path: Path) -> None:
    old, new = (probe(enum=name) for name in ("Colour", "Hue"))
    found = compare(tmp_path, (old, enum(COLOURS)), (new, enum(COLOURS, "Hue")))
    assert found == [("enum-renamed", "source", "Hue", "was Colour")]


def test_two_files_with_enums_are_compared_alone(tmp_path: Path) -> None:
    files = [tmp_path / f"{side}.enum.json" for side in ("old", "new")]
    files[0].write_text(enum(COLOURS))
    files[1].write_text(enum(((0, "BLUE"),), "Hue"))
    compared = compare_paths(*files)
    assert [one.rule.id for one in compared.findings] == ["enum-renamed", "enum-value-changed"]
    assert (compared.messages, compared.enums) == (0, 1)


def test_attributes_of_values_stay(tmp_path: Path) -> None:
    request = spec(name="ProbeRequest", type_="request", more='"apiKey": 0')
    messages = request, spec(name="ProbeResponse", type_="response", more='"apiKey": 0')
    plain = enum(((0, "PROBE"),))
    errors = plain.replace('"about": "A thing."', '"about": "A thing.", "retriable": true')
    apis = json.dumps({"name": "Colour", "about": "A light.", "valuesFrom": {"type": "request"}})
    kind = "enum-kind-changed", "source", "Colour"
    for old, new, lost in (
        (plain, errors, ""),
        (plain, apis, ""),
        (errors, plain, "retriable"),
        (apis, plain, "message and versions"),
        (apis, errors, "message and versions"),
        (apis, apis, ""),
    ):
        expected = [(*kind, f"its values no longer have {lost}")] if lost else []
        assert compare(tmp_path / str(hash((old, new))), (*messages, old), (*messages, new)) == expected
    found = compare(tmp_path / "number", (*messages, plain.replace('"value": 0', '"value": 3')), (*messages, apis))
    assert found == [("enum-value-changed", "wire", "Colour.PROBE", "was 3, is now 0")]


def test_the_messages_behind_an_enum_have_their_own_findings(tmp_path: Path) -> None:
    def messages(key: int) -> tuple[str, ...]:
        more = f'"apiKey": {key}'
        request = spec(name="ProbeRequest", type_="request", more=more)
        return request, spec(name="ProbeResponse", type_="response", more=more)

    apis = json.dumps({"name": "Api", "about": "A light.", "valuesFrom": {"type": "request"}})
    found = compare(tmp_path, (*messages(1), apis), (*messages(2), apis))
    assert [(rule, path) for rule, _, path, _ in found] == [
        ("api-key-changed", "ProbeRequest"),
        ("api-key-changed", "ProbeResponse"),
    ]


# Fields


ENUMS = enum(COLOURS), enum(SHAPES, "Shape"), enum(((0, "RED"), (1, "BLUE"), (2, "GREEN")), "Paint")
MORE = enum(((7, "BLUE"),), "Late"), enum(((0, "BLUE"),), "First")
FIELDS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, str, str] | None]] = {
    "new": ({}, {"enum": "Colour"}, None),
    "dropped": ({"enum": "Colour"}, {}, ("enum-replaced", "notice", "enum Colour became none")),
    "a wider one": ({"enum": "Colour"}, {"enum": "Paint"}, ("enum-replaced", "notice", "enum Colour became Paint")),
    "a narrower one": ({"enum": "Paint"}, {"enum": "Colour"}, ("enum-replaced", "notice", "enum Paint became Colour")),
    "another": (
        {"enum": "Colour"},
        {"enum": "Shape"},
        ("enum-changed", "wire", "enum Colour became Shape: 0 was RED, is now FLAT"),
    ),
    "bits": (
        {"enum": "Colour"},
        {"enum": "Colour", "enumBits": True},
        ("enum-changed", "wire", "enumBits false became true: 1 was BLUE, is now RED"),
    ),
    "no bits": (
        {"enum": "Paint", "enumBits": True},
        {"enum": "Paint"},
        ("enum-changed", "wire", "enumBits true became false: 1 was RED, is now BLUE"),
    ),
    "a moved name": (
        {"enum": "Colour"},
        {"enum": "Late"},
        ("enum-changed", "wire", "enum Colour became Late: 1 was BLUE, is now without a name"),
    ),
    "bits that read alike alone": (
        {"enum": "Colour"},
        {"enum": "First", "enumBits": True},
        ("enum-changed", "wire", "enum Colour became First and enumBits false became true"),
    ),
    "both": (
        {"enum": "Colour", "enumBits": True},
        {"enum": "Shape"},
        ("enum-changed", "wire", "enum Colour became Shape and enumBits true became false: 1 was RED, is now ROUND"),
    ),
}


@pytest.mark.parametrize("row", FIELDS)
def test_change_of_the_enum_of_a_field_has_its_verdict(row: str, tmp_path: Path) -> None:
    old, new, expected = FIELDS[row]
    found = compare(tmp_path, (probe(**old), *ENUMS, *MORE), (probe(**new), *ENUMS, *MORE))
    if expected is None:
        assert found == []
    else:
        rule, severity, text = expected
        assert found == [(rule, severity, "Probe.Alpha", f"{text} (versions 0-3)")]


def test_enums_of_fields_are_compared_wherever_the_fields_are(tmp_path: Path) -> None:
    def message(name: str, alpha: str = "Alpha", type_: str = "int64") -> str:
        fields = (
            field_of(type_, alpha, enum=name, encoding="fixed32"),
            field_of("[]Inner", "Beta", fields=[field_of("[]int32", "Leaf", versions="2+", enum=name)]),
            field_of("int8", "Gamma", versions="2+", taggedVersions="2+", tag=0, enum=name),
        )
        return spec(*fields)

    found = compare(tmp_path, (message("Colour", "Old", "int32"), *ENUMS), (message("Shape"), *ENUMS))
    changed = [(path, text.partition("(")[2]) for rule, _, path, text in found if rule == "enum-changed"]
    assert changed == [
        ("Probe.Alpha", "versions 0-3)"),
        ("Probe.Beta.Leaf", "versions 2-3)"),
        ("Probe.Gamma", "versions 2-3)"),
    ]


def test_error_codes_have_their_enum_by_name(tmp_path: Path) -> None:
    codes, other = enum(COLOURS, "ErrorCode"), enum(SHAPES, "Shape")
    old, new = probe("int16", "ErrorCode"), probe("int16", "ErrorCode", enum="Shape")
    ((rule, _, path, _),) = compare(tmp_path / "named", (old, codes, other), (new, codes, other))
    assert (rule, path) == ("enum-changed", "Probe.ErrorCode")
    # Without names for them, nothing was ever said of their numbers.
    assert compare(tmp_path / "bare", (old, other), (new, other)) == []


def test_numbers_that_the_field_cannot_have_do_not_count(tmp_path: Path) -> None:
    old, new = enum(((1, "LOW"), (200, "HIGH")), "Old"), enum(((1, "LOW"), (200, "TALL")), "New")
    for type_, rule in (("int8", "enum-replaced"), ("int16", "enum-changed")):
        pair = (probe(type_, enum="Old"), old, new), (probe(type_, enum="New"), old, new)
        assert [one[0] for one in compare(tmp_path / type_, *pair)] == [rule]


def test_the_enum_of_an_unstable_version_may_change(tmp_path: Path) -> None:
    def request(name: str) -> tuple[str, ...]:
        field = field_of("int8", "Alpha", versions="3+", enum=name)
        more = '"apiKey": 900, "latestVersionUnstable": true'
        return spec(field, name="ProbeRequest", type_="request", more=more), *ENUMS

    ((rule, severity, _, text),) = compare(tmp_path, request("Colour"), request("Shape"))
    assert (rule, severity, text.partition(" (")[2]) == ("enum-changed", "notice", "version 3)")


def test_files_without_their_package_have_no_enums_to_compare(tmp_path: Path) -> None:
    old, new = write_revisions(tmp_path, Revisions((probe(enum="Colour"),), (probe(enum="Shape"),)))
    (found,) = compare_paths(old / "0.json", new / "0.json").findings
    assert (found.rule.id, found.severity) == ("enum-replaced", "notice")


# What cannot be compared


def test_an_enum_with_errors_is_named_with_its_place(tmp_path: Path) -> None:
    folders = write_revisions(tmp_path, Revisions((spec(), enum(COLOURS)), (spec(), enum(COLOURS))))
    (tmp_path / "new" / "1.enum.json").write_text(enum(COLOURS).replace("BLUE", "blue"))
    with pytest.raises(SpecErrors) as caught:
        compare_paths(*folders)
    (problem,) = caught.value.problems
    assert (problem.rule, problem.location.file) == ("name-form", str(tmp_path / "new" / "1.enum.json"))


@pytest.mark.parametrize("name", ["Colour", "Hue"])
def test_an_old_enum_with_errors_is_not_compared_and_hides_no_other(name: str, tmp_path: Path) -> None:
    shape = enum(SHAPES, "Shape")
    old = probe(enum="Colour"), enum(COLOURS).replace("BLUE", "blue"), shape
    new = probe(enum=name), enum(((0, "BLUE"),), name), shape.replace("ROUND", "BENT")
    compared = compare_paths(*write_revisions(tmp_path, Revisions(old, new)))
    (left_out,) = compared.not_compared
    assert (left_out.path, left_out.location.file) == (name, str(tmp_path / "new" / "1.enum.json"))
    assert [problem.rule for problem in left_out.errors] == ["name-form"]
    found = [(one.rule.id, one.path) for one in compared.findings if one.path.partition(".")[0] != "Probe"]
    assert found == [("enum-value-renamed", "Shape.BENT")]
    assert compared.enums == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_in_the_place_of_an_enum_is_not_read(tmp_path: Path) -> None:
    folders = write_revisions(tmp_path, Revisions((spec(),), (spec(),)))
    os.mkfifo(tmp_path / "new" / "Pipe.enum.json")
    with pytest.raises(SpecErrors) as caught:
        compare_paths(*folders)
    assert "is a pipe or a device" in caught.value.problems[0].text


# Beside the generated classes

Names = dict[int, frozenset[str]]
"""The names that generated classes give the numbers of a field; those without a name are left out."""


@lru_cache(maxsize=4096)
def read_enum(text: str) -> EnumRevision:
    checked = read_bytes(text.encode(), "Colour.enum.json")
    assert checked.enum is not None and checked.problems == ()
    return EnumRevision("Colour.enum.json", checked.enum, ())


@lru_cache(maxsize=4096)
def read_message(text: str) -> MessageSpec:
    message = read_bytes(text.encode(), "Probe.json").spec
    assert message is not None
    return message


def generated(message: MessageSpec, *enums: EnumRevision) -> dict[str, Any]:
    """Return the content of the module `enums` of a package."""
    content: dict[str, Any] = {"__name__": "probe.enums"}
    entries = [registry_entry(message, HeaderVersions())]
    exec(render_enums("probe", [one.spec for one in enums], entries), content)
    return content


@lru_cache(maxsize=4096)
def generated_class(one: EnumRevision) -> Any:
    return generated(read_message(spec()), one)["Colour"]


def is_misread(writer: Any, reader: Any) -> bool:
    """True if a name that one class writes is not what the other reads, although it is more than a new name."""
    for number in writer:
        read = reader.find(int(number))
        is_same = read is not None and read.name == number.name
        if not is_same and (number.name in reader.__members__ or (read and read.name in writer.__members__)):
            return True
    return False


def check_values(old: EnumRevision, new: EnumRevision) -> str:
    """Check the verdict on two enums; return it."""
    found = {one.severity for one in enum_findings(match_enums([old], [new]), Path())}
    before, after = generated_class(old), generated_class(new)
    lost = before.__members__.keys() - after.__members__.keys()  # AttributeError in code that has these names
    misread = is_misread(before, after) or is_misread(after, before)
    assert ("wire" in found) == misread, (old.names, new.names)
    if not misread:
        assert ("source" in found) == bool(lost), (old.names, new.names)
    return "wire" if misread else "source" if lost else "nothing"


def small_enums() -> list[EnumRevision]:
    """Make every enum of up to three names and three numbers."""
    return [
        read_enum(enum(tuple(zip(numbers, names, strict=True))))
        for size in (1, 2, 3)
        for names in itertools.combinations("ABC", size)
        for numbers in itertools.permutations((-1, 0, 1), size)
    ]


def test_verdict_on_every_pair_of_small_enums_is_what_generated_classes_read() -> None:
    enums = small_enums()
    verdicts = Counter(check_values(old, new) for old in enums for new in enums)
    assert verdicts.total() == 33**2
    assert min(verdicts[one] for one in ("wire", "source", "nothing")) > 50


def random_enum(dice: random.Random, name: str = "Colour", after: EnumRevision | None = None) -> str:
    """Make an enum of any numbers, also of some that an int8 cannot have; often a change of another."""
    pool = [-129, -128, -1, *range(10), 64, 127, 128]
    values = dict(after.names) if after and dice.random() < 0.7 else {}
    for _ in range(dice.randrange(4) if values else dice.randrange(1, 7)):
        name_ = dice.choice("ABCDEFGH")
        values = {number: one for number, one in values.items() if one != name_}
        if dice.random() < 0.8 or not values:
            values[dice.choice(pool)] = name_
    values = values or {0: "A"}
    reserved = {
        "reservedValues": [one for one in pool if one not in values and dice.random() < 0.2],
        "reservedNames": [one for one in "ABCDEFGH" if one not in values.values() and dice.random() < 0.2],
    }
    return enum(tuple(values.items()), name, **({} if after is None else reserved))


def check_random_values(dice: random.Random) -> str:
    old = read_enum(random_enum(dice))
    return check_values(old, read_enum(random_enum(dice, after=old)))


@lru_cache(maxsize=1024)
def field_names(message: MessageSpec, *enums: EnumRevision) -> tuple[Names, bool]:
    """Return the names of all numbers of an int8, by the module that is generated for it; and if its bits have them."""
    content = generated(message, *enums)
    bits, plain = (content.get(table, {}).get("probe.Probe.alpha") for table in ("BITS", "FIELDS"))
    shown: Names = {}
    for number in range(-128, 128):
        found = bits.of_bits(number) if bits else (plain.find(number),) if plain else ()
        if found and found != (None,):
            shown[number] = frozenset(one.name for one in found)
    return shown, bits is not None


def is_field_misread(writer: Names, reader: Names, are_bits: bool) -> bool:
    vocabulary = frozenset[str]().union(*reader.values())
    for number, written in writer.items():
        read = reader.get(number, frozenset())
        lost, come = written - read, read - written
        # Of several bits, one name may be gone and another new.
        is_one = not are_bits or (number & 0xFF).bit_count() == 1
        if lost & vocabulary or (lost and come and is_one):
            return True
    return False


def check_random_field(dice: random.Random) -> str:
    """Check the verdict on a field that gets another enum, or other bits; return its rule."""
    colour, shape = (read_enum(random_enum(dice, name)) for name in ("Colour", "Shape"))
    enums = (colour, shape)
    choices: list[dict[str, Any]] = [
        {},
        *({"enum": one, "enumBits": bits} for one in ("Colour", "Shape") for bits in (True, False)),
    ]
    old, new = (read_message(probe(**more)) for more in dice.sample(choices, 2))
    change = compare_field_enums(match_enums(enums, enums), old.fields[0], new.fields[0])
    (before, bits), (after, other_bits) = field_names(old, *enums), field_names(new, *enums)
    are_bits = bits and other_bits
    misread = is_field_misread(before, after, are_bits) or is_field_misread(after, before, are_bits)
    assert (change is not None and change.rule == "enum-changed") == misread, (change, colour.names, shape.names)
    return change.rule if change else "nothing"


def check_random_history(dice: random.Random) -> str:
    """Check that what the history of an enum calls WIRE is a number with another name than it had, and the reverse."""
    past = [read_enum(random_enum(dice))]
    for _ in range(dice.randrange(1, 5)):
        past.append(read_enum(random_enum(dice, after=past[-1])))
    new = past.pop()
    commits = [(str(number), one.spec) for number, one in reversed([*enumerate(past)])]
    found = list(forgotten_values(past[-1], new, commits))
    now = generated_class(new)
    steps = [*map(generated_class, past), now]
    for one in found:
        name = one.path.partition(".")[2]
        if one.rule.id == "enum-value-changed":
            assert any(name in step.__members__ and step[name] != now[name] for step in steps)
        elif one.rule.id == "enum-value-reused":
            assert any((was := step.find(now[name])) is not None and was.name != name for step in steps)
        else:
            assert name not in now.__members__
    if not found:
        for member in itertools.chain(*steps):
            # Nothing is said of a number only if it kept its name, was renamed step by step, or is reserved.
            starts = [at for at, step in enumerate(steps) if (member.name, member) in step.__members__.items()]
            assert any(is_followed(member, steps[at:]) for at in starts) or member in new.spec.reserved_values
    return found[0].rule.id if found else "nothing"


def is_followed(number: int, steps: list[Any]) -> bool:
    """True if the name that a number has in the first class became the one in the last by renaming alone."""
    for before, after in itertools.pairwise(steps):
        was, heir = before.find(number), after.find(number)
        if was is None or heir is None:
            return False
        if was.name != heir.name and (was.name in after.__members__ or heir.name in before.__members__):
            return False
    return True


CHECKS = (check_random_values, check_random_field, check_random_history)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_verdict_on_random_revisions_is_what_generated_classes_read(check: Any) -> None:
    verdicts = Counter(check(random.Random(seed)) for seed in range(60))
    assert len(verdicts) > 2


@pytest.mark.night
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("part", range(4))
def test_verdict_on_thousands_of_random_revisions_is_what_generated_classes_read(check: Any, part: int) -> None:
    verdicts = Counter(check(random.Random(seed)) for seed in range(1000 + 5000 * part, 6000 + 5000 * part))
    assert len(verdicts) > 2
