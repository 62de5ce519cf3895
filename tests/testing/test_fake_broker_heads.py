"""The heads of the fake broker's APIs list served versions and differences, and docs/testing.md agrees with them."""

from __future__ import annotations

import re
from types import ModuleType

from kafka_messages import REGISTRY
from kafka_messages.enums import ApiKey
from kipwire.testing.broker import apis
from kipwire.testing.broker.apis import MODULES, SERVED
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "testing.md").read_text()
UNLIKE = "Unlike Kafka:"


def differences(module: ModuleType) -> list[str]:
    """Return the differences that a head lists, one line each."""
    text = (module.__doc__ or "").partition(UNLIKE)[2]
    return [" ".join(one.split()) for one in re.split(r"^\* ", text, flags=re.MULTILINE)[1:]]


def title(key: int) -> str:
    """Return the name of an API as Kafka's specs have it."""
    return REGISTRY.request(key, SERVED[key][-1]).__name__.removesuffix("Request")


def test_each_module_is_named_by_its_key_and_its_name() -> None:
    for key, module in MODULES.items():
        assert module.__name__.rpartition(".")[2] == f"k{key:02}_{ApiKey(key).name.lower()}"


def test_each_head_begins_with_the_name_and_the_versions() -> None:
    for key, module in MODULES.items():
        first, last = SERVED[key][0], SERVED[key][-1]
        expected = f"{title(key)}, {f'version {first}' if first == last else f'versions {first} to {last}'}: "
        assert (module.__doc__ or "").startswith(expected), module.__name__


def test_the_page_lists_the_apis_that_are_served() -> None:
    table = PAGE.partition("### What it serves")[2].partition("\n\nThe versions are")[0]
    cells = re.findall(r"^\| [a-z ]+ \| (.*) \|$", table, re.MULTILINE)
    found = [one for cell in cells for one in re.sub(r" \(.*?\)", "", cell).split(", ")]
    assert sorted(found) == sorted(title(key) for key in SERVED)


def test_the_page_has_the_differences_of_all_heads_in_their_order() -> None:
    listed = PAGE.partition("in the heads of the modules in")[2]
    found = [" ".join(one.split()) for one in re.split(r"^\* ", listed, flags=re.MULTILINE)[1:]]
    assert found == [
        one for module in (apis, *(MODULES[key] for key in sorted(MODULES))) for one in differences(module)
    ]
