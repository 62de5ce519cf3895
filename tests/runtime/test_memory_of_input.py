"""No valid input takes more memory than is promised: at most 100 bytes for each of its bytes, by either engine."""

from __future__ import annotations

from types import ModuleType

import pytest

from benchmarks.hostile import attacks, classes, memory_of
from kipwire import Message

MOST = 100
"""Bytes of memory for a byte, as docs/strictness.md promises it."""
OF_MANY_TAGS = ("ClashingStructs", 0)
"""Its elements have 27 tagged fields, and take a byte without them: so says the spec, not the input."""
PARTS = 4


def assert_bounded(cls: type[Message]) -> int:
    """Check that no attack takes too much memory; return the number of attacks."""
    made = list(attacks(cls))
    for attack in made:
        memory = memory_of(cls, attack.data)
        assert memory <= MOST, f"{cls.NAME} v{cls.VERSION}, {attack.name}: {memory:.0f} bytes a byte"
    return len(made)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_class_of_kafka_messages_keeps_to_a_small_multiple(part: int) -> None:
    assert sum(map(assert_bounded, classes("kafka_messages")[part::PARTS])) > 100


@pytest.mark.parametrize("name", ["kafka_records", "kipwire.drafts.proposals"])
def test_every_class_of_the_other_packages_does(name: str) -> None:
    assert sum(map(assert_bounded, classes(name)))


def test_every_form_of_the_language_does(forms_package: ModuleType) -> None:
    known = [cls for cls in classes(forms_package.__name__) if (cls.NAME, cls.VERSION) != OF_MANY_TAGS]
    assert sum(map(assert_bounded, known)) > 100


def test_every_kind_of_layout_does(layouts_package: ModuleType) -> None:
    assert sum(map(assert_bounded, classes(layouts_package.__name__)))
