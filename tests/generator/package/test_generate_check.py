"""Guarantees of `kipgen generate --check`, and the files that a run may touch."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kipgen.commands.new_command import new_specs
from kipgen.package import manifest
from kipgen.package.generate import PackageChanges, apply_changes, differences, find_changes, find_changes_afresh
from kipgen.package.manifest import FILE_NAME, digest
from kipwire.tools.files import write_whole
from tests.support.places import ROOT
from tests.support.subjects.package_runs import change, content, generate, planned

STAGES = ("language", "reading", "resolve", "python", "package")
"""The parts of kipgen that make code."""

# Guarantees of --check, and files that a run may touch


def checked(specs: Path, package: Path) -> PackageChanges:
    return find_changes_afresh(specs, package, package.name, lambda done, total: None)


def test_a_check_is_not_fooled_by_a_manifest_that_was_edited_too(specs: Path, package: Path) -> None:
    generate(specs, package)
    assert checked(specs, package).is_up_to_date
    module = package / "bar/v0.py"
    before = digest(module.read_bytes())
    module.write_text(f"{module.read_text()}\nprint('not from a spec')\n")
    change(package / FILE_NAME, before, digest(module.read_bytes()))
    result = checked(specs, package)
    assert not result.is_up_to_date
    assert any(line == "-print('not from a spec')" for line in differences(result))


def test_the_registry_is_rendered_from_specs_whatever_the_manifest_says(specs: Path, package: Path) -> None:
    generate(specs, package)
    before = (package / "__init__.py").read_text()
    data = json.loads((package / FILE_NAME).read_text())
    evil = 'x", print("code"), "'
    for made in data["specs"].values():
        made["entry"] = {**made["entry"], "name": evil} if isinstance(made["entry"], dict) else evil
    (package / FILE_NAME).write_text(json.dumps(data))
    (package / "__init__.py").unlink()
    generate(specs, package)
    assert (package / "__init__.py").read_text() == before


def test_a_run_keeps_nothing_outside_the_package_that_a_later_run_would_trust(
    specs: Path, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(elsewhere))
    generate(specs, package)
    assert checked(specs, package).is_up_to_date
    assert list(elsewhere.rglob("*")) == []


def test_what_python_would_import_instead_of_a_generated_module_is_in_the_way(specs: Path, package: Path) -> None:
    generate(specs, package)
    (package / "bar/v0").mkdir()
    (package / "bar/v0/__init__.py").write_text("print('instead')\n")
    (package / "foo_request/v0.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    for result in (planned(specs, package), checked(specs, package)):
        assert {it.path for it in result.obstacles} == {"bar/v0", "foo_request/v0.cpython-311-x86_64-linux-gnu.so"}
        assert result.has_errors


def test_another_release_of_the_formatter_rewrites_only_files_whose_text_differs(
    specs: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(specs, package)
    monkeypatch.setattr(manifest, "version", lambda name: "99.9")
    manifest.generator_hash.cache_clear()
    try:
        assert checked(specs, package).is_up_to_date, "the same text is right, whoever laid it out"
        result = planned(specs, package)
        assert result.is_up_to_date
        assert set(result.contents) <= {FILE_NAME}
        assert list(differences(result)) == []
        generate(specs, package)
        assert planned(specs, package).contents == {}
    finally:
        manifest.generator_hash.cache_clear()


def runtime_modules(source: str) -> set[str]:
    """Return the modules of kipwire that a module imports when it runs, by their dotted names below kipwire."""
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "kipwire":
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.split(".")[0] == "kipwire"}
    return names - {"kipwire"}


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[Path, bytes]]:
    """Return the files that the next hash of the generator is made of; a text that a test gives replaces the file's."""
    seen: dict[Path, bytes] = {}
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: seen.setdefault(self, read(self)))
    manifest.generator_hash.cache_clear()
    yield seen
    manifest.generator_hash.cache_clear()


def test_what_makes_code_stale_is_every_file_that_it_is_made_by(hashed: dict[Path, bytes]) -> None:
    manifest.generator_hash()
    runtime = ROOT / "runtime/kipwire"
    files = {*(ROOT / "generator/kipgen").rglob("*.py"), *(ROOT / "templates").glob("*.j2")}
    files |= {ROOT / "schemas/message-spec.schema.json", ROOT / "schemas/enum.schema.json"}
    assert {file for file in hashed if not file.is_relative_to(runtime)} == files
    stages = [file for part in STAGES for file in (ROOT / "generator/kipgen" / part).rglob("*.py")]
    made_by = {file for file in hashed if file.is_relative_to(runtime)}
    for file in [*stages, *made_by]:
        for name in runtime_modules(file.read_text()):
            module = ROOT / "runtime" / f"{name.replace('.', '/')}.py"
            assert not module.exists() or module in made_by, f"{file} imports {name}"


@pytest.mark.parametrize("name", ["model/types.py", "model/structs.py", "model/abi.py", "drafts/header_keys.py"])
def test_code_is_stale_after_a_change_of_the_runtime_that_it_is_made_by(name: str, hashed: dict[Path, bytes]) -> None:
    before = manifest.generator_hash()
    hashed[ROOT / "runtime/kipwire" / name] += b"# changed\n"
    manifest.generator_hash.cache_clear()
    assert manifest.generator_hash() != before


def test_packages_in_each_other_both_stay(specs: Path, tmp_path: Path) -> None:
    outer, inner = tmp_path / "out/acme", tmp_path / "out/acme/messages"
    (tmp_path / "inner").mkdir()
    for name, text in new_specs("Baz", "data", 0).items():
        (tmp_path / "inner" / name).write_text(text)

    def run_both() -> tuple[PackageChanges, PackageChanges]:
        plans = (
            find_changes(tmp_path / "inner", inner, "acme.messages", lambda done, total: None),
            find_changes(specs, outer, "acme", lambda done, total: None),
        )
        for one in plans:
            assert not one.has_errors
            assert not one.stale
            apply_changes(one)
        return plans

    run_both()
    before = content(outer)
    assert "messages/baz/v0.py" in before
    assert all(one.is_up_to_date for one in run_both())
    assert content(outer) == before
    assert find_changes_afresh(specs, outer, "acme", lambda done, total: None).is_up_to_date
    assert find_changes_afresh(tmp_path / "inner", inner, "acme.messages", lambda done, total: None).is_up_to_date


def test_a_package_cannot_be_generated_into_a_message_of_another(specs: Path, tmp_path: Path) -> None:
    outer = tmp_path / "out/acme"
    apply_changes(find_changes(specs, outer, "acme", lambda done, total: None))
    before = content(outer)
    result = find_changes(specs, outer / "bar", "acme.bar", lambda done, total: None)
    assert result.has_errors
    assert content(outer) == before


def test_only_what_the_manifest_names_is_removed(specs: Path, package: Path) -> None:
    generate(specs, package)
    (package / "helpers.py").write_text(f"{(package / 'bar/v0.py').read_text()}\nmine = 1\n")
    outside = package.parent / "outside.py"
    outside.write_text("# Generated by kipgen from nothing\n")
    data = json.loads((package / FILE_NAME).read_text())
    data["specs"]["Gone.json"] = {"spec_hash": "", "entry": "", "files": {"../outside.py": "", "own.py": ""}}
    (package / "own.py").write_text("mine = 1\n")
    (package / FILE_NAME).write_text(json.dumps(data))
    result = generate(specs, package)
    assert (result.stale, result.strays) == ((), ("helpers.py", "own.py"))
    assert all(file.exists() for file in (package / "helpers.py", package / "own.py", outside))
    assert checked(specs, package).strays == result.strays


STRAYS = {
    "foo_request/v9.py": "# Generated by kipgen from Foo.json; do not edit.\nEVIL = 1\n",
    "extra.py": "EVIL = 1\n",
    "marked.py": "# Generated by kipgen from Foo.json; do not edit.\n",
    "__init__.pyi": "EVIL: int\n",
    "bar/__init__.pyi": "",
    "bar/v0.pyi": "",
    "bar/below/__init__.py": "",
    "bar/v9.pyc": "",
    "bar/extra.cpython-311-x86_64-linux-gnu.so": "",
    "gone/v0.py": "# Generated by kipgen from Gone.json; do not edit.\n",
}
LEFT_ALONE = {
    "README.md": "mine\n",
    "bar/notes.txt": "mine\n",
    "tools/__init__.py": "mine = 1\n",
    "tools/stub.pyi": "",
    "bar/__pycache__/v0.cpython-311.pyc": "",
    "data.json": "{}",
}


@pytest.mark.parametrize("path", STRAYS)
def test_a_file_that_python_could_read_instead_of_or_beside_generated_code_is_a_stray(
    path: str, specs: Path, package: Path
) -> None:
    generate(specs, package)
    (package / path).parent.mkdir(exist_ok=True)
    (package / path).write_text(STRAYS[path])
    for result in (planned(specs, package), checked(specs, package)):
        assert (result.strays, result.stale, result.obstacles, result.contents) == ((path,), (), (), {})
    generate(specs, package)
    assert (package / path).read_text() == STRAYS[path], "it is somebody's"


def test_a_link_among_modules_is_a_stray(specs: Path, package: Path, tmp_path: Path) -> None:
    generate(specs, package)
    (tmp_path / "elsewhere.py").write_text("EVIL = 1\n")
    (package / "bar/v9.py").symlink_to(tmp_path / "elsewhere.py")
    (package / "bar/v8.py").symlink_to(tmp_path / "nowhere.py")
    assert checked(specs, package).strays == ("bar/v8.py", "bar/v9.py")


def test_folders_of_ones_own_and_files_that_are_no_code_are_left_alone(specs: Path, package: Path) -> None:
    generate(specs, package)
    for path, text in LEFT_ALONE.items():
        (package / path).parent.mkdir(exist_ok=True)
        (package / path).write_text(text)
    assert checked(specs, package).strays == ()


@pytest.mark.parametrize("package", ["kafka_messages", "kafka_records", "kipwire/drafts/proposals"])
def test_the_packages_here_have_no_strays(package: str) -> None:
    name = package.replace("/", ".")
    specs = {"kipwire.drafts.proposals": "proposals"}.get(name, name)
    assert planned_here(ROOT / "schemas" / specs, ROOT / "generated" / package, name).strays == ()


def planned_here(specs: Path, package: Path, name: str) -> PackageChanges:
    return find_changes(specs, package, name, lambda done, total: None)


def test_nothing_is_written_through_links(specs: Path, package: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    package.mkdir(parents=True)
    (package / "bar").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "a_file.py").write_text("# Generated by kipgen from nothing\n")
    (package / "__init__.py").symlink_to(tmp_path / "a_file.py")
    result = planned(specs, package)
    assert {it.path for it in result.obstacles} == {"bar/__init__.py", "bar/v0.py", "__init__.py"}
    assert all("link" in obstacle.reason for obstacle in result.obstacles)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(("name", "text"), [("py.typed", "partial\n"), (FILE_NAME, '{"mine": 1}'), ("__init__.py", "")])
def test_foreign_files_of_any_kind_are_in_the_way(name: str, text: str, specs: Path, package: Path) -> None:
    package.mkdir(parents=True)
    (package / name).write_text(text)
    result = planned(specs, package)
    assert [it.path for it in result.obstacles] == [name]
    assert result.has_errors
    assert (package / name).read_text() == text


def test_folders_and_files_in_the_wrong_place_are_named(specs: Path, package: Path) -> None:
    (package / "bar/v0.py").mkdir(parents=True)
    (package / "foo_request").write_text("a file")
    reasons = {obstacle.path: obstacle.reason for obstacle in planned(specs, package).obstacles}
    assert "is a folder, not a file" in reasons["bar/v0.py"]
    assert "foo_request, which is a file" in reasons["foo_request/v0.py"]


def test_a_file_that_cannot_be_written_is_named_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        write_whole(tmp_path / "taken", "text")
    assert raised.value.filename == str(tmp_path / "taken")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "taken"]


@pytest.mark.parametrize(
    "name", ["import", "a.class.b", "kipwire", "kipwire.mine", "json", "a..b", "not-a-name", "ﬁle"]
)
def test_names_that_no_package_can_have_are_refused(name: str, specs: Path, package: Path) -> None:
    with pytest.raises(ValueError, match="--package"):
        find_changes(specs, package, name, lambda done, total: None)


@pytest.mark.parametrize("package", ["kafka_messages", "kafka_records", "kipwire/drafts/proposals"])
def test_this_generator_has_written_the_manifests_here_so_that_making_all_again_changes_no_file(package: str) -> None:
    recorded = manifest.read_manifest(ROOT / "generated" / package)
    assert recorded.made_by == manifest.generator_hash(), "run `make generate`"
