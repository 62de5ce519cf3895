"""The manifest of a generated package: from which specs and by which generator each of its files was made.

It is committed with the code. As long as specs, generator and files are what it says, there is nothing to do.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

from kipgen.render import RegistryEntry
from kipgen.resources import schema_path, template_folder

FILE_NAME = "kipgen.manifest.json"

_COMMAND_LINE = (
    "__main__.py",
    "advise.py",
    "advise_command.py",
    "advise_plot.py",
    "advise_samples.py",
    "advise_text.py",
    "cli.py",
    "compat",
    "console.py",
    "drift.py",
    "drift_command.py",
    "drift_edit.py",
    "drift_facts.py",
    "drift_jars.py",
    "drift_layout.py",
    "drift_write.py",
    "inspect.html.j2",
    "inspect.py",
    "inspect_command.py",
    "inspect_html.py",
    "inspect_input.py",
    "inspect_json.py",
    "inspect_text.py",
    "inspect_values.py",
    "starter.py",
    "watch.py",
)
"""The modules, packages and templates that have no part in what is generated."""


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of one spec."""

    spec_hash: str
    entry: RegistryEntry
    files: dict[str, str]
    """Hash of the content by path in the package."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a package was made of."""

    generator: str = ""
    package_hash: str = ""
    """Hash of the content of the package's own `__init__.py`."""
    specs: dict[str, Made] = field(default_factory=dict)
    """By the spec's path below the folder of specs."""

    @property
    def files(self) -> dict[str, str]:
        """Hash of the content of every file, by path in the package."""
        return {
            "__init__.py": self.package_hash,
            **{p: h for made in self.specs.values() for p, h in made.files.items()},
        }


def digest(data: bytes) -> str:
    """The hash by which specs and files are compared."""
    return hashlib.sha256(data).hexdigest()[:32]


@cache
def generator_hash() -> str:
    """Changes with whatever the generated code depends on besides the specs: our code, the templates, black."""
    package = Path(__file__).parent
    candidates = [*package.rglob("*.py"), *template_folder().glob("*.j2"), schema_path()]
    files = [file for file in candidates if {file.name, file.parent.name}.isdisjoint(_COMMAND_LINE)]
    # By folder and name alone: a checkout and an installed wheel keep the folders in different places.
    ordered = sorted(files, key=lambda file: file.parts[-2:])
    content = b"".join(file.name.encode() + b"\0" + file.read_bytes() for file in ordered)
    return digest(version("black").encode() + content)


def read_manifest(package: Path) -> Manifest:
    """The manifest of a package; an empty one where there is none or none that can be read."""
    try:
        data = json.loads((package / FILE_NAME).read_text(encoding="utf-8"))
        specs = {
            source: Made(made["spec_hash"], _entry(made["entry"]), dict(made["files"]))
            for source, made in data["specs"].items()
        }
        return Manifest(data["generator"], data["package_hash"], specs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Manifest()


def _entry(values: dict[str, object]) -> RegistryEntry:
    headers = values.pop("headers")
    return RegistryEntry(**values, headers=tuple(headers) if isinstance(headers, list) else None)  # type: ignore[arg-type]


def manifest_text(manifest: Manifest) -> str:
    """The manifest as it is written, in a form that merges well: one line for each spec."""
    lines = [
        f"    {json.dumps(source)}: {json.dumps(asdict(made), sort_keys=True)}"
        for source, made in sorted(manifest.specs.items())
    ]
    head = f'  "generator": {json.dumps(manifest.generator)},\n  "package_hash": {json.dumps(manifest.package_hash)},\n'
    return "{\n" + head + '  "specs": {\n' + ",\n".join(lines) + "\n  }\n}\n"
