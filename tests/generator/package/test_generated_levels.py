"""Code that was generated at an earlier level does with today's runtime what it did then; other levels are refused."""

from __future__ import annotations

import base64
import importlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import kipwire
from kipwire import LevelError, Message, PackageError, native
from kipwire.message.registry import Registry, registry_of
from kipwire.model import abi
from kipwire.model.abi import LEVEL, OLDEST
from tests.support.level_checks import behaviour, folder, kept, needs
from tests.support.places import DATA
from tests.support.spec_package import importable, write_package

LEVELS = range(OLDEST, LEVEL + 1)
KEPT = [(level, number) for level in LEVELS for number in range(len(kept(level)["messages"]))]


@pytest.fixture(scope="module")
def registries() -> Iterator[dict[int, Registry]]:
    """The registry of each level that still runs, side by side in one process."""
    with ExitStack() as stack:
        for level in LEVELS:
            stack.enter_context(importable(folder(level)))
        yield {level: registry_of(f"level_{level}") for level in LEVELS}


@pytest.fixture(params=["as_installed", "python"])
def methods(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are read and written by the kernel where there is one, and by the generated code."""
    if request.param == "python":
        for name in ("decode", "read", "encode", "encoded_size"):
            method = native.PYTHON[name]
            monkeypatch.setattr(Message, name, classmethod(method) if name in ("decode", "read") else method)


@pytest.mark.usefixtures("methods")
@pytest.mark.parametrize(("level", "number"), KEPT)
def test_code_of_a_level_does_what_it_did(level: int, number: int, registries: dict[int, Registry]) -> None:
    expected: dict[str, Any] = kept(level)["messages"][number]
    cls = registries[level].message(expected.pop("name"), expected.pop("version"))
    pickled = base64.b64decode(expected.pop("pickle"))
    data = bytes.fromhex(expected["bytes"])
    assert behaviour(cls, data) == expected
    assert cls.from_json(expected["json"]).encode() == cls.from_json(cls.decode(data).to_json()).encode()
    loaded = pickle.loads(pickled)
    assert type(loaded) is cls
    assert loaded.encode() == data
    assert pickle.loads(pickle.dumps(loaded)).encode() == data


@pytest.mark.parametrize("level", LEVELS)
def test_registry_of_a_level_makes_frames_and_versions(level: int, registries: dict[int, Registry]) -> None:
    registry: Any = registries[level]
    assert registry.names() == ("Kinds", "Parts", "PingRequest", "PingResponse")
    ping = registry.message("PingRequest", 1)(number=7)
    header, body = registry.decode_request(registry.encode_request(ping, correlation_id=3))
    assert (header.correlation_id, body) == (3, ping)
    later: Any = registry.message("Kinds", 2)(inner=sys.modules[f"level_{level}.kinds.v2"].Inner(number=5))
    older: Any = kipwire.convert(later, 0)
    assert older.inner.number == 5


@pytest.mark.skipif(not native.in_use, reason="about the compiled kernel")
@pytest.mark.parametrize("level", LEVELS)
def test_kernel_serves_classes_of_every_level(level: int, registries: dict[int, Registry]) -> None:
    from kipwire import _kernel

    registry = registries[level]
    assert all(_kernel.serves(registry.message(n, v)) for n in registry.names() for v in registry.versions(n))


def test_every_level_that_runs_is_kept() -> None:
    assert sorted(DATA.glob("generated_level_*")) == [folder(level) for level in LEVELS]


def test_generated_code_takes_nothing_from_the_runtime_that_its_level_does_not_have() -> None:
    allowed = kept(LEVEL)["needs"]
    new = {where: sorted(set(names) - set(allowed.get(where, ()))) for where, names in needs().items()}
    assert not {
        where: names for where, names in new.items() if names
    }, "an earlier release of this level lacks these: raise kipwire.model.abi.LEVEL and run tests.support.level_checks"


@pytest.fixture
def acme(tmp_path: Path) -> Iterator[str]:
    """A package that this checkout generated."""
    write_package(folder(LEVEL) / "specs", tmp_path / "acme")
    with importable(tmp_path):
        yield "acme"
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme"]:
        del sys.modules[name]


def test_this_release_generates_for_its_own_level(acme: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(abi, "OLDEST", LEVEL)
        importlib.import_module(acme)


@pytest.mark.parametrize(
    ("oldest", "level", "reason"),
    [
        (LEVEL + 1, LEVEL + 2, f"with levels {LEVEL + 1} to {LEVEL + 2}: install an earlier kipwire, or generate acme"),
        (LEVEL + 1, LEVEL + 1, f"with level {LEVEL + 1} alone: install an earlier kipwire, or generate acme"),
        (0, LEVEL - 1, f"with level{'s 0 to' if LEVEL > 1 else ''} {LEVEL - 1}"),
    ],
)
@pytest.mark.parametrize("module", ["acme", "acme.ping_request.v1"])
def test_a_package_of_another_level_is_refused_when_it_is_imported(
    module: str, oldest: int, level: int, reason: str, acme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abi, "OLDEST", oldest)
    monkeypatch.setattr(abi, "LEVEL", level)
    with pytest.raises(ImportError) as caught:
        importlib.import_module(module)
    text = str(caught.value)
    assert text.startswith(f"acme was generated for level {LEVEL} of kipwire's runtime; this is kipwire ")
    assert reason in text
    assert text.endswith("generate acme again with this release's kipgen")
    assert ("upgrade kipwire" in text) == (level < LEVEL)
    assert isinstance(caught.value, LevelError)
    with pytest.raises(PackageError) as by_registry:
        registry_of("acme")
    assert str(by_registry.value) == text
