"""The manifest of a generated package: hashes of what the code was made from, and the files that are kipgen's.

It is committed with the code, and saves work where specs, generator and files have these hashes. It is not a proof: an
edit of a generated file can change the manifest, too, so `kipgen generate --check` does not rely on it.

The file has one line for each spec, in the order of their paths, so that branches which change different specs mostly
merge. A manifest with marks of a conflict is one that cannot be read: the next run makes all of it again. A key that a
later kipgen adds needs a value for manifests without it, as `oldest_request`, `enums`, `newest` and `vendored` have.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

from kipgen.python.render import RegistryEntry
from kipgen.reading.check import MANIFEST
from kipgen.resolve.headers import HeaderVersions
from kipgen.resources import enum_schema_path, package_folder, runtime_folder, schema_path, template_folder
from kipwire.model.abi import LEVEL
from kipwire.model.enums import MODULE
from kipwire.tools.files import read_regular

FILE_NAME = MANIFEST

ENUMS_FILE = f"{MODULE}.py"
"""The module of enums in a generated package."""

NEWEST_FILE = "newest.py"
"""The module of newest classes in a generated package, where the settings ask for it."""

MAX_BYTES = 64 * 2**20
"""Limit for a manifest: some 200 bytes for each generated file."""

_STAGES = ("language/*.py", "reading/**/*.py", "resolve/*.py", "python/*.py", "package/*.py", "code.py")
"""Parts of kipgen from a spec to files; commands use more of the runtime, on which no generated code depends."""
_IMPORT = re.compile(rb"^from kipwire\.([\w.]+) import ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Made:
    """Files made from one spec."""

    spec_hash: str
    entry: str
    """Hash of its entry in the registry."""
    files: dict[str, str]
    """Hash of the content by path in the package."""


@dataclass(frozen=True, slots=True)
class Enums:
    """Origin of the package's module of enums."""

    content: str = ""
    """Hash of the module's content; "" where there is none."""
    specs: dict[str, str] = field(default_factory=dict)
    """Hash of each enum by its path below the folder of specs."""
    names: tuple[str, ...] = ()
    """Names of the enums, sorted; classes of messages refer to them."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Origin of a package: hashes of the generator, the specs and the files."""

    made_by: str = ""
    """Changes with the generator and with black."""
    package_hash: str = ""
    """Hash of the content of the package's own `__init__.py`."""
    headers: HeaderVersions = field(default_factory=HeaderVersions)
    enums: Enums = field(default_factory=lambda: Enums())
    specs: dict[str, Made] = field(default_factory=dict)
    """Generated files, by the spec's path below the folder of specs."""
    newest: str = ""
    """Hash of the content of the module of newest classes; "" where there is none."""
    vendored: tuple[str, ...] = ()
    """The choices that `kipgen vendor` made the package of; empty where it has all messages of a folder of specs."""

    @property
    def files(self) -> dict[str, str]:
        """Hash of the content of every file, by path in the package; none where nothing was made."""
        if not self.package_hash:
            return {}
        made = {path: content for one in self.specs.values() for path, content in one.files.items()}
        enums = {ENUMS_FILE: self.enums.content} if self.enums.content else {}
        newest = {NEWEST_FILE: self.newest} if self.newest else {}
        return {"__init__.py": self.package_hash, **enums, **newest, **made}


def digest(data: bytes) -> str:
    """Compute the hash by which specs and files are compared."""
    return hashlib.sha256(data).hexdigest()[:32]


def entry_digest(entry: RegistryEntry) -> str:
    """Compute the hash by which entries of the registry are compared."""
    return digest(json.dumps(asdict(entry), sort_keys=True).encode())


@cache
def generator_hash() -> str:
    """Hash all that generated code depends on, except specs.

    That is kipgen's code with the modules of the runtime that it takes facts and names from, templates, black, the
    level.
    """
    package, templates = package_folder(), template_folder()
    stages = [file for part in _STAGES for file in package.glob(part)]
    # By the path in its folder alone: a checkout and an installed wheel keep the folders in different places.
    files = {
        **{f"kipgen/{file.relative_to(package).as_posix()}": file for file in package.rglob("*.py")},
        **{f"kipwire/{file.relative_to(runtime_folder()).as_posix()}": file for file in _imported(stages)},
        **{f"templates/{file.relative_to(templates).as_posix()}": file for file in templates.rglob("*.j2")},
        "schema": schema_path(),
        "enum schema": enum_schema_path(),
    }
    hashes = {name: digest(file.read_bytes()) for name, file in sorted(files.items())}
    # black breaks the long lines, and another release of it may break them elsewhere.
    return digest(json.dumps({"black": version("black"), "files": hashes, "level": LEVEL}).encode())


def _imported(files: Iterable[Path]) -> set[Path]:
    """Find the modules of the runtime that the files import, and those that these import in turn."""
    found: set[Path] = set()
    pending = [*files]
    while pending:
        for name in _IMPORT.findall(pending.pop().read_bytes()):
            place = runtime_folder().joinpath(*name.decode().split("."))
            module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            if module not in found:
                found.add(module)
                pending.append(module)
    return found


def read_manifest(package: Path) -> Manifest:
    """Read the manifest of a package; return an empty one where there is none or none that can be read."""
    try:
        data = json.loads(read_regular(package / FILE_NAME, MAX_BYTES))
        specs = {_text(source): _parse_made(made) for source, made in data["specs"].items()}
        request, response = (_pair(data["headers"][part]) for part in ("request", "response"))
        oldest = _number(data["headers"].get("oldest_request", 1))  # of packages without, as earlier releases made them
        headers = HeaderVersions(request, response, oldest)
        named = data.get("enums", {"content": "", "specs": {}})  # likewise
        hashes = {_text(p): _text(h) for p, h in named["specs"].items()}
        enums = Enums(_text(named["content"]), hashes, tuple(map(_text, named.get("names", ()))))
        newest = _text(data.get("newest", ""))  # likewise
        vendored = tuple(map(_text, data.get("vendored", ())))  # likewise
        return Manifest(_text(data["made_by"]), _text(data["package_hash"]), headers, enums, specs, newest, vendored)
    # A damaged or badly merged manifest is none at all: it costs only the work that it would have saved.
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Manifest()


def _parse_made(made: dict[str, object]) -> Made:
    files = made["files"]
    if not isinstance(files, dict):
        raise TypeError
    return Made(_text(made["spec_hash"]), _text(made["entry"]), {_text(p): _text(h) for p, h in files.items()})


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError
    return value


def _pair(value: object) -> tuple[int, int]:
    match value:
        case [int(inflexible), int(flexible)]:
            return inflexible, flexible
    raise TypeError


def manifest_text(manifest: Manifest) -> str:
    """Write the manifest in a form that merges well: one line for each spec."""
    lines = [
        f"    {json.dumps(source)}: {json.dumps(asdict(made), sort_keys=True)}"
        for source, made in sorted(manifest.specs.items())
    ]
    head = {name: getattr(manifest, name) for name in ("made_by", "package_hash")}
    head["headers"] = asdict(manifest.headers)
    if manifest.enums.content:
        head["enums"] = asdict(manifest.enums)
    if manifest.newest:
        head["newest"] = manifest.newest
    if manifest.vendored:
        head["vendored"] = manifest.vendored
    return (
        "{\n"
        + "".join(f"  {json.dumps(name)}: {json.dumps(value)},\n" for name, value in head.items())
        + '  "specs": {\n'
        + ",\n".join(lines)
        + "\n  }\n}\n"
    )
