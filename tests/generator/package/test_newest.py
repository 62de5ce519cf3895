"""The module of newest classes: a name without a version, for each message, as stale as its specs make it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import black
import pytest
from black.mode import TargetVersion
from click.testing import CliRunner

from kipgen.commands.app import app
from kipgen.commands.new_command import new_specs
from kipgen.package.generate import PackageChanges, apply_changes, find_changes, find_changes_afresh
from kipgen.package.manifest import FILE_NAME
from tests.support.places import FORMS, LAYOUTS
from tests.support.spec_package import importable
from tests.support.subjects.package_runs import change

RETIRED = """{"type": "data", "name": "Gone", "validVersions": "none", "fields": []}"""


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    folder = tmp_path / "specs"
    folder.mkdir()
    # The module of a message `Newest` must not take the place of the module of newest classes.
    texts = {**new_specs("Get", "request", 1), **new_specs("Newest", "data", 0), "Gone.json": RETIRED}
    for file, text in texts.items():
        (folder / file).write_text(text)
    return folder


def planned(specs: Path, package: Path, *, newest: bool = True, afresh: bool = False) -> PackageChanges:
    find = find_changes_afresh if afresh else find_changes
    found = find(specs, package, package.name, lambda done, total: None, newest=newest)
    assert not found.has_errors, found.problems
    return found


def raise_to(specs: Path, version: int) -> None:
    """Give Get new versions."""
    for file in ("GetRequest.json", "GetResponse.json"):
        change(specs / file, '"validVersions": "0"', f'"validVersions": "0-{version}"')


def test_the_newest_class_of_each_message_has_its_name_and_its_module_the_structs(specs: Path, tmp_path: Path) -> None:
    raise_to(specs, 2)
    apply_changes(planned(specs, tmp_path / "newest_of_two"))
    with importable(tmp_path):
        newest = import_module("newest_of_two.newest")
        assert "newest_of_two.get_request.v2" not in sys.modules  # until it is asked for
        assert newest.GetRequest is import_module("newest_of_two.get_request.v2").GetRequest
        assert newest.get_request.Item is newest.GetRequest.FIELDS[1].struct
        assert newest.Newest is import_module("newest_of_two.newest_.v0").Newest
        assert dir(newest) == sorted(newest.__all__)
        assert [one for one in newest.__all__ if one[0].isupper()] == ["GetRequest", "GetResponse", "Newest"]
        with pytest.raises(AttributeError, match="did you mean GetRequest"):
            newest.GetReqest  # noqa: B018
        with pytest.raises(ImportError, match="Gone is retired"):
            newest.Gone  # noqa: B018


def test_the_module_is_as_stale_as_the_specs_make_it(specs: Path, tmp_path: Path) -> None:
    package = tmp_path / "stale_newest"
    apply_changes(planned(specs, package))
    assert planned(specs, package).is_up_to_date
    raise_to(specs, 1)
    get = {f"get_{one}/{file}.py" for one in ("request", "response") for file in ("__init__", "v0", "v1")}
    new_files = {*get, "newest.py", "__init__.py", FILE_NAME}
    assert set(planned(specs, package).contents) == new_files
    apply_changes(planned(specs, package))
    module = package / "newest.py"
    text = module.read_text()
    module.write_text(text.replace("get_request.v1", "get_request.v0"))
    for afresh in (False, True):
        assert set(planned(specs, package, afresh=afresh).contents) == {"newest.py"}
    module.unlink()
    apply_changes(planned(specs, package))
    assert module.read_text() == text
    assert planned(specs, package, newest=False).stale == ("newest.py",)
    apply_changes(planned(specs, package, newest=False))
    assert not module.exists()
    assert planned(specs, package, newest=False).is_up_to_date


def test_the_settings_ask_for_the_module(specs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text, is_there in (("", False), ("newest = true\n", True), ("newest = 1\n", None)):
        (tmp_path / "kipgen.toml").write_text(f'specs = "specs"\npackage = "asked"\nout = "."\n{text}')
        done = CliRunner().invoke(app, ["generate"])
        assert done.exit_code == (2 if is_there is None else 0), done.output
        if is_there is not None:
            assert (tmp_path / "asked/newest.py").exists() == is_there
            assert CliRunner().invoke(app, ["generate", "--check"]).exit_code == 0


def test_a_package_of_retired_messages_has_no_newest(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/Gone.json").write_text(RETIRED)
    apply_changes(planned(tmp_path / "specs", tmp_path / "all_gone"))
    assert not (tmp_path / "all_gone/newest.py").exists()
    assert planned(tmp_path / "specs", tmp_path / "all_gone").is_up_to_date


@pytest.mark.parametrize("specs", [pytest.param(FORMS, marks=pytest.mark.night), LAYOUTS], ids=lambda one: one.name)
def test_messages_of_any_name_have_a_newest_class_in_black_s_form(specs: Path, tmp_path: Path) -> None:
    package = tmp_path / f"newest_{specs.name}"
    apply_changes(planned(specs, package))
    text = (package / "newest.py").read_text()
    mode = black.Mode(target_versions={TargetVersion.PY311}, line_length=120)
    assert black.format_str(text, mode=mode) == text
    with importable(tmp_path):
        newest = import_module(f"{package.name}.newest")
        registry = import_module(package.name).REGISTRY
        classes = {getattr(newest, one) for one in newest.__all__} - {
            module for one in newest.__all__ if not isinstance(module := getattr(newest, one), type)
        }
        assert classes == {registry.message(one, registry.versions(one)[-1]) for one in registry.names()}
