"""Station "render": layouts and templates -> the text of every generated file, still to be laid out by black.

A file comes as pieces that stand between pairs of empty lines, so that black sees each only once: versions of a
message share most of their classes.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

import jinja2

from kipgen import names
from kipgen.code import Code, CodeEnvironment, comment, fit
from kipgen.layout import MessageLayout, lay_out
from kipgen.pymodel import LINE_LENGTH, docstring_text, formats, python_structs
from kipgen.resources import template_folder
from kipgen.runtime_names import RUNTIME_NAMES
from kipgen.spec import MessageSpec
from kipgen.steps import fixed_code
from kipwire.contract import LEVEL

Pieces = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeaderVersions:
    """The versions of the headers before inflexible and before flexible messages of a package."""

    request: tuple[int, int] = (1, 2)
    response: tuple[int, int] = (0, 1)
    oldest_request: int = 1

    def before(self, spec: MessageSpec) -> tuple[int, ...] | None:
        """What goes for a message: the versions before inflexible and before flexible ones; None if it has no header.

        One more comes first where version 0 has a header of its own.
        """
        if spec.has_oldest_header:
            return self.response[0], self.response[0]
        if spec.begins_with_oldest_header and self.oldest_request < self.request[0]:
            return self.oldest_request, *self.request
        return {"request": self.request, "response": self.response}.get(spec.type)


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """What the registry of a package knows about a message without importing it."""

    name: str
    module: str
    type: str
    api_key: int | None
    lowest: int
    highest: int
    first_flexible: int
    headers: tuple[int, ...] | None
    served: tuple[int, int] | None
    """The lowest and the highest served version; None if all are."""


def registry_entry(spec: MessageSpec, headers: HeaderVersions) -> RegistryEntry:
    """A message's entry in the registry."""
    highest = spec.valid_versions.highest
    flexible = spec.flexible_versions.intersect(spec.valid_versions)
    served = spec.served_versions
    return RegistryEntry(
        name=spec.name,
        module=names.module_name(spec.name),
        type=spec.type,
        api_key=spec.api_key,
        lowest=spec.valid_versions.lowest,
        highest=highest,
        first_flexible=highest + 1 if flexible.is_empty else flexible.lowest,
        headers=headers.before(spec),
        served=None if served == spec.valid_versions else (served.lowest, served.highest),
    )


def render_message(spec: MessageSpec, headers: HeaderVersions, source: str) -> dict[PurePosixPath, Pieces]:
    """Every file of a message, by its path in the package; a retired message has none."""
    layouts = [_layout(spec, version, headers) for version in spec.valid_versions.each()]
    if not layouts:
        return {}
    folder = PurePosixPath(names.module_name(spec.name))
    origins = _origins(layouts)
    files = {folder / "__init__.py": _package_of_message(spec, origins, source)}
    for layout in layouts:
        origin = origins[layout.version]
        pieces = _module(layout, source) if origin == layout.version else _same(layout, origin, source)
        files[folder / f"v{layout.version}.py"] = pieces
    return files


def render_package(package: str, entries: list[RegistryEntry]) -> Pieces:
    """The `__init__` of the whole package: its registry."""
    return (_render("package.py.j2", package=comment(package), entries=entries, level=LEVEL),)


def _layout(spec: MessageSpec, version: int, headers: HeaderVersions) -> MessageLayout:
    before = headers.before(spec)
    if before is None:
        return lay_out(spec, version)
    *first, inflexible, flexible = before
    if first and version == 0:
        return lay_out(spec, version, first[0])
    return lay_out(spec, version, flexible if version in spec.flexible_versions else inflexible)


def _origins(layouts: list[MessageLayout]) -> dict[int, int]:
    """By version: the version whose code it has; its own number where its form is new."""
    origins: dict[int, int] = {}
    previous: MessageLayout | None = None
    for layout in layouts:
        shares = previous is not None and layout.same_form(previous)
        origins[layout.version] = origins[layout.version - 1] if shares else layout.version
        previous = layout
    return origins


def _module(layout: MessageLayout, source: str) -> Pieces:
    """The module of a version with code of its own."""
    structs = python_structs(layout)
    read_formats, write_formats = formats(structs)
    root = structs[-1]
    classes = [_render("class.py.j2", struct=struct, message=layout if struct is root else None) for struct in structs]
    head = _render(
        "head.py.j2",
        source=comment(source),
        message=layout,
        structs=structs,
        imports=_imports(
            "\n".join((*classes, "RowPackers" * any(struct.packed for struct in structs))),
            has_formats=bool(read_formats or write_formats),
        ),
        read_formats=read_formats,
        write_formats=write_formats,
    )
    return (head, *classes)


def _same(layout: MessageLayout, origin: int, source: str) -> Pieces:
    """The module of a version that shares the code of an earlier one."""
    return (_render("same.py.j2", source=comment(source), message=layout, origin=origin),)


def _package_of_message(spec: MessageSpec, origins: dict[int, int], source: str) -> Pieces:
    forms = [version for version, origin in origins.items() if version == origin]
    text = f"{spec.name}: {spec.about}" if spec.about else f"{spec.name}."
    versions = f"Versions {spec.valid_versions}; " + (
        "all of one form." if len(forms) == 1 else f"the form changes with {', '.join(map(str, forms[1:]))}."
    )
    lines = [*textwrap.wrap(text, LINE_LENGTH - 4), "", *textwrap.wrap(versions, LINE_LENGTH - 4)]
    return (_render("message.py.j2", source=comment(source), docstring=docstring_text(lines)),)


def _imports(classes: str, *, has_formats: bool) -> Code:
    """The import statements that the text of the classes needs."""
    words = set(re.findall(r"\w+", classes))
    standard = ["import struct"] if has_formats else []
    standard += [f"import {name}" for name in ("typing", "uuid") if f"{name}." in classes]
    runtime = ["import kipwire"]
    if "checksums." in classes:
        runtime.append("from kipwire import checksums")
    for module, available in sorted(RUNTIME_NAMES.items()):
        used = sorted(available & words)
        # Lines of several names each: black gives each name a line of its own where an import is longer.
        lines = textwrap.wrap(", ".join(used), LINE_LENGTH - len(f"from {module} import "))
        runtime += [f"from {module} import {line.removesuffix(',')}" for line in lines]
    return Code("\n".join([*standard, "", *runtime]).strip())


@cache
def _environment() -> jinja2.Environment:
    # Without a cache of compiled templates: whoever could write there could have code run here.
    environment = CodeEnvironment(
        loader=jinja2.FileSystemLoader(template_folder()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # it is Python, not HTML
    )
    environment.filters["dense"] = _dense
    environment.filters["local"] = names.local_name
    environment.filters["code"] = fixed_code
    return environment


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render({name: fit(value) for name, value in values.items()})


def _dense(text: str) -> str:
    """Without the empty lines that conditions in a template leave behind."""
    return "\n".join(line for line in text.splitlines() if line.strip())
