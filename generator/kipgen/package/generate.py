"""From a folder of specs to a package of generated code: only what changed is read, rendered and written.

`find_changes` only computes, and `apply_changes` only writes, so a check and a run cannot differ. A spec is rendered
again if its hash, the generator's or the hash of one of its files differs from the manifest. The checks of a whole
package are repeated only if a changed spec looks different to the registry (`_is_as_before`). The manifest is written
last: after a run that broke off, it does not match the files, and the next run makes them again.

The order: hash every spec and every file, find the specs that are done, read and check the others (or all of them, see
`_work`), render, compare with what is there, and look for obstacles. A spec with an error ends this before anything is
rendered, and with an obstacle the command writes nothing. `package_folder` has what belongs to kipgen in a folder,
`manifest` what earlier runs have left, `python.render` the texts.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from kipgen.language.names import need_package_name
from kipgen.language.problems import Problem
from kipgen.language.spec import MessageSpec
from kipgen.package.manifest import (
    ENUMS_FILE,
    FILE_NAME,
    NEWEST_FILE,
    Enums,
    Made,
    Manifest,
    digest,
    entry_digest,
    generator_hash,
    manifest_text,
    read_manifest,
)
from kipgen.package.package_folder import TYPED_MARKER, Obstacle, leftovers, obstacles, present_files
from kipgen.python.render import RegistryEntry, registry_entry, render_message, render_newest, render_package
from kipgen.python.render_enums import render_enums
from kipgen.reading import check
from kipgen.reading.check import spec_files
from kipgen.reading.enum_spec import is_enum_file
from kipgen.reading.source import MAX_BYTES
from kipgen.resolve.headers import HeaderVersions, header_versions
from kipwire.tools.files import read_regular, write_whole

Progress = Callable[[int, int], object]

_SHOWN_BYTES = 64 * 2**20
"""Limit for the part of an edited file that a difference shows; no generated file is longer."""


@dataclass(frozen=True, slots=True)
class PackageChanges:
    """Changes that generating a package would make, before anything is written."""

    package: Path
    problems: tuple[Problem, ...] = ()
    """Errors and warnings of the specs; with an error there are no other changes."""
    contents: dict[str, str] = field(default_factory=dict)
    """The text of every file that differs from what is there, by path in the package; the manifest comes last."""
    stale: tuple[str, ...] = ()
    """Generated files that no spec needs any more."""
    obstacles: tuple[Obstacle, ...] = ()
    """Obstacles to writing or importing the files."""
    strays: tuple[str, ...] = ()
    """Modules and stubs that lie among the package's own, although no spec makes them; they are kept."""
    is_up_to_date: bool = False
    """True if the package is what the specs describe. The manifest may still name another release of kipgen or black.
    """

    @property
    def has_errors(self) -> bool:
        return bool(self.obstacles) or any(problem.severity == "error" for problem in self.problems)


class _Work(NamedTuple):
    """Specs to render."""

    specs: dict[str, MessageSpec]
    """Specs, by source."""
    headers: HeaderVersions
    enums: tuple[str, ...]
    """Names of the enums, sorted."""
    entries: list[RegistryEntry] | None
    """The whole registry; None if it is as it was."""
    problems: tuple[Problem, ...]


def find_changes(
    specs: Path,
    package: Path,
    package_name: str,
    progress: Progress,
    read: check.Reader = check.read_file,
    *,
    newest: bool = False,
    vendored: tuple[str, ...] = (),
) -> PackageChanges:
    """Find the changes that make the package what the specs say, from what earlier runs have left.

    Args:
        specs: the folder of specs.
        package: the folder of the generated package; it need not exist.
        package_name: the package's dotted name.
        progress: called from time to time with the specs rendered and the specs to render.
        read: checks one spec.
        newest: True for a module of newest classes.
        vendored: the choices that the folder was cut to by `kipgen vendor`, for the manifest.

    Raises:
        ValueError: the package cannot have that name.
    """
    recorded = read_manifest(package)
    # What another generator or another black has made saves no work, whatever its hashes are.
    earlier = recorded if recorded.made_by == generator_hash() else Manifest()
    return _find_changes(specs, package, package_name, progress, read, earlier, recorded, newest, vendored)


def find_changes_afresh(
    specs: Path,
    package: Path,
    package_name: str,
    progress: Progress,
    read: check.Reader = check.read_file,
    *,
    newest: bool = False,
    vendored: tuple[str, ...] = (),
) -> PackageChanges:
    """Find changes like `find_changes`, but read and render everything: the manifest is not used.

    So a package that is up to date by this is what the specs describe, even if the manifest was tampered with.
    """
    recorded = read_manifest(package)
    return _find_changes(specs, package, package_name, progress, read, Manifest(), recorded, newest, vendored)


def _find_changes(
    specs: Path,
    package: Path,
    package_name: str,
    progress: Progress,
    read: check.Reader,
    earlier: Manifest,
    recorded: Manifest,
    has_newest: bool,
    vendored: tuple[str, ...],
) -> PackageChanges:
    """Find the changes, where `earlier` is the manifest that saves work, and `recorded` the one in the package."""
    need_package_name(package_name)
    messages, enums = _hashes(specs)
    present = present_files(package)

    # A spec is done if the manifest has its hash and the hashes of its files: an edit of either renders it again.
    done = {
        source: made
        for source, made in earlier.specs.items()
        if messages.get(source) == made.spec_hash and made.files.items() <= present.items()
    }
    has_same_enums = enums == earlier.enums.specs and present.get(ENUMS_FILE, "") == earlier.enums.content
    has_same_newest = has_newest == bool(earlier.newest) and present.get(NEWEST_FILE, "") == earlier.newest
    is_same = has_same_enums and has_same_newest
    work = _work(specs, read, earlier, set(messages), set(messages) - set(done), present, is_same)
    if any(problem.severity == "error" for problem in work.problems):
        return PackageChanges(package, work.problems)

    # The new manifest has the hashes of the texts that are rendered now, and keeps the others.
    rendered = _render_messages(specs, work, progress)
    texts = {path: text for files in rendered.values() for path, text in files.items()}
    texts |= _render_registry(specs, package_name, work, has_enums=bool(enums), has_newest=has_newest)
    texts[TYPED_MARKER] = ""
    hashes = {path: digest(text.encode()) for path, text in texts.items()}
    made = {
        source: Made(
            messages[source],
            entry_digest(registry_entry(work.specs[source], work.headers)),
            {path: hashes[path] for path in files},
        )
        for source, files in rendered.items()
    }
    new = Manifest(
        made_by=generator_hash(),
        package_hash=hashes.get("__init__.py", earlier.package_hash),
        headers=work.headers,
        enums=Enums(hashes.get(ENUMS_FILE, earlier.enums.content), enums, work.enums) if enums else Enums(),
        specs={**done, **made},
        newest=hashes.get(NEWEST_FILE, "" if work.entries else earlier.newest) if has_newest else "",
        vendored=vendored,
    )
    texts[FILE_NAME] = manifest_text(new)
    hashes[FILE_NAME] = digest(texts[FILE_NAME].encode())

    # A text that the package has already is not written, and a file that no spec makes is removed only if it is listed
    # in the manifest of the package, which counts here even where it saves no work.
    changed = {path: text for path, text in texts.items() if present.get(path) != hashes[path]}
    wanted = {*new.files, FILE_NAME, TYPED_MARKER}
    stale, strays = leftovers(package, present, wanted, recorded.files)
    in_the_way = obstacles(package, package_name.count("."), wanted, changed)
    # Another kipgen or black that makes the same texts leaves code that is up to date; only `made_by` would change.
    is_same_code = set(changed) <= {FILE_NAME} and replace(recorded, made_by=new.made_by) == new and not stale
    return PackageChanges(package, work.problems, changed, stale, tuple(in_the_way), strays, is_same_code)


def _render_messages(specs: Path, work: _Work, progress: Progress) -> dict[str, dict[str, str]]:
    """Render the messages; return the text of each file by its path in the package, for each spec by its source."""
    rendered: dict[str, dict[str, str]] = {}
    for source, spec in work.specs.items():
        shown = PurePosixPath(specs.resolve().name, source)
        files = render_message(spec, work.headers, str(shown), work.enums)
        rendered[source] = {str(path): text for path, text in files.items()}
        progress(len(rendered), len(work.specs))
    return rendered


def _render_registry(
    specs: Path, package_name: str, work: _Work, *, has_enums: bool, has_newest: bool
) -> dict[str, str]:
    """Render the registry of a package, its enums and newest classes, by path; nothing if they are as they were."""
    if work.entries is None:
        return {}
    entries = sorted(work.entries, key=lambda entry: entry.name)
    texts = {"__init__.py": render_package(package_name, entries)}
    # Enums become one module of the package, not a folder for each.
    if has_enums:
        texts[ENUMS_FILE] = render_enums(package_name, check.read_enums(specs), entries)
    if has_newest and any(entry.lowest <= entry.highest for entry in entries):
        texts[NEWEST_FILE] = render_newest(package_name, entries)
    return texts


def apply_changes(changes: PackageChanges) -> None:
    """Write the changes: every file at once or not at all, the manifest after all others.

    Raises:
        OSError: something cannot be written. Files written until then are complete; the next run does the rest.
    """
    for path, text in changes.contents.items():
        write_whole(changes.package / path, text)
    for path in changes.stale:
        (changes.package / path).unlink()
    # The deepest first, so that a folder is empty when its turn comes.
    for folder in sorted({(changes.package / path).parent for path in changes.stale}, reverse=True):
        if folder != changes.package:
            _remove_if_empty(folder)


def differences(changes: PackageChanges) -> Iterator[str]:
    """Write the changes as lines of a unified diff."""
    if changes.is_up_to_date:
        return
    for path, text in changes.contents.items():
        file = changes.package / path
        old = read_regular(file, _SHOWN_BYTES).decode(errors="backslashreplace") if file.exists() else ""
        yield from difflib.unified_diff(
            old.splitlines(), text.splitlines(), f"{file} (on disk)", f"{file} (from specs)", lineterm=""
        )
    for path in changes.stale:
        yield f"--- {changes.package / path} (on disk)"
        yield "+++ no longer generated from any spec"


def _hashes(specs: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Hash the specs of messages, and the enums, by path below the folder; of a file too long for one, its start."""
    hashes = {
        file.relative_to(specs).as_posix(): digest(read_regular(file, MAX_BYTES))
        for file in spec_files(specs)
        if file.is_file()
    }
    enums = {source: hash_ for source, hash_ in hashes.items() if is_enum_file(source)}
    return {source: hash_ for source, hash_ in hashes.items() if source not in enums}, enums


def _work(
    specs: Path,
    read: check.Reader,
    earlier: Manifest,
    sources: set[str],
    changed: set[str],
    present: dict[str, str],
    has_same_modules: bool,
) -> _Work:
    """Decide what has to be rendered again, and find the problems of the specs and the package."""
    is_same_package = present.get("__init__.py") == earlier.package_hash and has_same_modules
    # The registry and the rules of packages, such as the one on pairs of requests and responses, need no more of a
    # message than its entry has. So as long as no spec came or went, the changed ones are read first, and the others
    # only if an entry has changed.
    if sources == set(earlier.specs) and is_same_package:
        checked = {source: read(specs / source, kafka=False) for source in sorted(changed)}
        fresh = {source: one.spec for source, one in checked.items() if one.spec is not None}
        if len(fresh) == len(checked) and _is_as_before(earlier, fresh):
            problems = tuple(problem for one in checked.values() for problem in one.problems)
            return _Work(fresh, earlier.headers, earlier.enums.names, None, problems)
    # The package as a whole may break a rule now, or its headers may have changed.
    everything, problems = check.read_folder(specs, read=read)
    found = {Path(one.file).relative_to(specs).as_posix(): one.spec for one in everything if one.spec is not None}
    headers = header_versions(found.values())
    entries = {source: registry_entry(spec, headers) for source, spec in found.items()}
    is_wrong = any(problem.severity == "error" for problem in problems)
    enums = () if is_wrong else tuple(enum.name for enum in check.read_enums(specs))
    # With other headers, every message before which they come has another header version. A field that is an error code
    # by its name has the enum of error codes in its type as soon as there is one.
    came_or_went = {*enums}.symmetric_difference(earlier.enums.names)
    if headers == earlier.headers:
        found = {
            source: spec
            for source, spec in found.items()
            if source in changed or any(field.enum in came_or_went for field in entries[source].enum_fields)
        }
    return _Work(found, headers, enums, [*entries.values()], problems)


def _is_as_before(earlier: Manifest, fresh: dict[str, MessageSpec]) -> bool:
    """True if the changed specs look to the registry and to the rules of packages as they did before."""
    # The versions of a header stand in its own entry, so a header needs no case here. Reading all specs of Kafka for
    # each edit of a header took 1.6 s in place of 0.6 s.
    return bool(earlier.specs) and all(
        entry_digest(registry_entry(spec, earlier.headers)) == earlier.specs[source].entry
        for source, spec in fresh.items()
    )


def _remove_if_empty(folder: Path) -> None:
    """Remove a folder that has nothing left but what Python has compiled."""
    cache = folder / "__pycache__"
    compiled = list(cache.iterdir()) if cache.is_dir() and not cache.is_symlink() else []
    if any(child != cache for child in folder.iterdir()) or any(file.suffix != ".pyc" for file in compiled):
        return
    for file in compiled:
        file.unlink()
    if cache.is_symlink():
        return
    if cache.exists():
        cache.rmdir()
    folder.rmdir()
