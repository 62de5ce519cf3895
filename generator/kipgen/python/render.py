"""Rendering: resolved classes and templates -> the text of every generated file.

`resolve` gives a class for each version. A version with the same wire form as an earlier one gets a short module
that refers to its code (`_origins`). Templates write each logical line on one line, so black has to run only over lines
that may be too long, not over whole modules; `make lint` checks with black that the result is the same.

A message goes through `resolve_versions`, `_origins`, then `_module` or `_same` for each version; a package through
`registry_entry` for each message, then `render_package`, `render_newest` and `render_enums`. What these print of a
message must be in its `RegistryEntry`: the manifest keeps a digest of it, and while that stays the same, an edit of a
spec renders that message alone.
"""

from __future__ import annotations

import builtins
import re
import symtable
import textwrap
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath, PurePosixPath

import jinja2

from kipgen.code import Code, CodeEnvironment, comment, fit
from kipgen.language import names
from kipgen.language.spec import MessageSpec, StructSpec, enum_of
from kipgen.python.pymodel import LINE_LENGTH, docstring_text, formats, python_structs
from kipgen.resolve.headers import Before, HeaderVersions, first_flexible, resolve_versions
from kipgen.resolve.wire import WireMessage, same_form
from kipgen.resources import template_folder
from kipwire.model.abi import LEVEL


@dataclass(frozen=True, slots=True)
class EnumField:
    """A field whose numbers have names, if its package has them."""

    key: str
    """Names of the class and the attribute."""
    enum: str
    is_bits: bool
    """True if the names belong to the bits that are set."""


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """Facts in the registry of a package about a message, for use without importing it."""

    name: str
    module: str
    type: str
    api_key: int | None
    lowest: int
    highest: int
    first_flexible: int
    headers: Before | None
    served: tuple[int, int] | None
    """The lowest and the highest served version; None if all are."""
    folder: str
    """The name of the folder of its spec."""
    enum_fields: tuple[EnumField, ...]
    """The fields that may have an enum."""

    @property
    def is_former(self) -> bool:
        """True if it has versions, but none that is served; it may share its API key with one that is."""
        return self.served is not None and self.served[0] > self.served[1]


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The response of a request, or the request of a response, for type checkers only."""

    constant: str
    """Name of the class constant: `REQUEST` or `RESPONSE`."""
    module: str
    class_name: str


def _counterpart(spec: MessageSpec) -> Counterpart | None:
    """Return the counterpart that the rules `pair-missing`, `response-name` and `pair-versions` guarantee."""
    other = {"request": "Response", "response": "Request"}.get(spec.type)
    if other is None:
        return None
    name = spec.name.removesuffix(spec.type.capitalize()) + other
    return Counterpart(other.upper(), names.module_name(name), names.class_name(name))


def registry_entry(spec: MessageSpec, headers: HeaderVersions) -> RegistryEntry:
    """Make a message's entry in the registry."""
    served = spec.served_versions
    return RegistryEntry(
        name=spec.name,
        module=names.module_name(spec.name),
        type=spec.type,
        api_key=spec.api_key,
        lowest=spec.valid_versions.lowest,
        highest=spec.valid_versions.highest,
        first_flexible=first_flexible(spec),
        headers=headers.before(spec),
        served=None if served == spec.valid_versions else (served.lowest, served.highest),
        folder=PurePath(spec.location.file).parent.name,
        enum_fields=() if spec.valid_versions.is_empty else tuple(_enum_fields(spec)),
    )


def _enum_fields(spec: MessageSpec) -> Iterator[EnumField]:
    """Yield the fields that name their enum, and those that are error codes by their name."""
    holders: list[MessageSpec | StructSpec] = [spec, *spec.structs]
    for struct in holders:
        for field in struct.fields:
            enum = enum_of(field)
            if enum is not None:
                key = f"{names.class_name(struct.name)}.{names.attribute_name(field.name)}"
                yield EnumField(key, enum, field.enum_bits)


def render_message(
    spec: MessageSpec, headers: HeaderVersions, source: str, enums: Collection[str] = ()
) -> dict[PurePosixPath, str]:
    """Render every file of a message, by its path in the package; a retired message has none.

    Args:
        spec: the message.
        headers: the versions of the headers of its package.
        source: the path of its spec.
        enums: the names of the enums of its package.
    """
    resolved = resolve_versions(spec, headers)
    if not resolved:
        return {}
    folder = PurePosixPath(names.module_name(spec.name))
    origins = _origins(resolved)
    named = (field for field in _enum_fields(spec) if field.enum in enums and not field.is_bits)
    classes = {field.key: names.class_name(field.enum) for field in named}
    files = {folder / "__init__.py": _package_of_message(spec, origins, source)}
    for message in resolved:
        origin = origins[message.VERSION]
        text = _module(message, source, classes) if origin == message.VERSION else _same(message, origin, source)
        files[folder / f"v{message.VERSION}.py"] = text
    return files


def render_package(package: str, entries: list[RegistryEntry]) -> str:
    """Render the `__init__` of the whole package: its registry."""
    text = render("package.py.j2", package=comment(package), entries=entries, level=LEVEL)
    return whole_module(package, [text])


def render_newest(package: str, entries: list[RegistryEntry]) -> str:
    """Render the module of a package that has the newest class of each message."""
    newest = [
        {"class_name": names.class_name(entry.name), "module": entry.module, "version": entry.highest}
        for entry in entries
        if entry.lowest <= entry.highest
    ]
    text = render("newest.py.j2", package=comment(package), entries=newest, example=newest[0])
    return whole_module(package, [text])


def _origins(resolved: list[type[WireMessage]]) -> dict[int, int]:
    """Map each version to the version whose code it uses; to itself if its wire form is new."""
    origins: dict[int, int] = {}
    previous: type[WireMessage] | None = None
    for message in resolved:
        # Only neighbours are compared, so a form that comes back after another one gets code of its own.
        shares = previous is not None and same_form(message, previous)
        origins[message.VERSION] = origins[message.VERSION - 1] if shares else message.VERSION
        previous = message
    return origins


def _module(message: type[WireMessage], source: str, enums: dict[str, str]) -> str:
    """Render the module of a version with code of its own; `enums` as in `python_structs`."""
    structs = python_structs(message, enums)
    read_formats, write_formats = (
        # What packs one number is made once, in the runtime; a module makes what packs its own runs.
        [code for code in codes if f"{way}_{code}" not in names.RUNTIME_NAMES["kipwire.codec.wire"]]
        for way, codes in zip(("unpack", "pack"), formats(structs), strict=True)
    )
    root = structs[-1]
    counterpart = _counterpart(message.SPEC)
    classes = [
        render("class.py.j2", struct=struct, message=message if struct is root else None, counterpart=counterpart)
        for struct in structs
    ]
    head = render(
        "head.py.j2",
        source=comment(source),
        message=message,
        counterpart=counterpart,
        structs=structs,
        has_enums=any(field.enum for one in structs for field in one.fields),
        imports=_imports("\n".join(classes), has_formats=bool(read_formats or write_formats)),
        read_formats=read_formats,
        write_formats=write_formats,
    )
    return whole_module(source, [head, *classes])


def _same(message: type[WireMessage], origin: int, source: str) -> str:
    """Render the module of a version that shares the code of an earlier one."""
    shown = comment(source)
    text = render("same.py.j2", source=shown, message=message, counterpart=_counterpart(message.SPEC), origin=origin)
    return whole_module(source, [text])


def _package_of_message(spec: MessageSpec, origins: dict[int, int], source: str) -> str:
    forms = [version for version, origin in origins.items() if version == origin]
    text = f"{spec.name}: {spec.about}" if spec.about.strip() else f"{spec.name}."
    versions = f"Versions {spec.valid_versions}; " + (
        "all of one form." if len(forms) == 1 else f"the form changes with {', '.join(map(str, forms[1:]))}."
    )
    lines = [*textwrap.wrap(text, LINE_LENGTH - 4), "", *textwrap.wrap(versions, LINE_LENGTH - 4)]
    text = render("message.py.j2", source=comment(source), docstring=docstring_text(lines, indent=""))
    return whole_module(source, [text])


def _imports(classes: str, *, has_formats: bool) -> Code:
    """Write the import statements that the text of the classes needs."""
    # The text decides, so that a template can use a name of the runtime without a list of uses beside it. No struct and
    # no local variable has such a name (`language.names`); a field with one costs an import that nothing uses. The
    # standard library is imported only where it is used, to keep the import of a message cheap: `typing` and
    # `contextlib` took a sixth of the processor time up to the first decode.
    words = set(re.findall(r"\w+", classes))
    standard = ["import builtins as _builtins"] if "_builtins." in classes else []
    standard += ["import struct"] if has_formats else []
    standard += ["import uuid"] if re.search(r"\buuid\.", classes) else []
    standard += ["import uuid as _uuid"] if "_uuid." in classes else []
    runtime = ["import kipwire"]
    if "checksums." in classes:
        runtime.append("from kipwire.codec import checksums")
    for module, available in sorted(names.RUNTIME_NAMES.items()):
        used = sorted(available & words)
        # Lines of several names each: black gives each name a line of its own where an import is longer.
        lines = textwrap.wrap(", ".join(used), LINE_LENGTH - len(f"from {module} import "))
        runtime += [f"from {module} import {line.removesuffix(',')}" for line in lines]
    return Code("\n".join([*standard, "", *runtime]).strip())


@cache
def environment() -> jinja2.Environment:
    """Make the environment of templates, once."""
    # Without a cache of compiled templates: write access to the cache would allow code to run here.
    made = CodeEnvironment(
        loader=jinja2.FileSystemLoader(template_folder()),
        # A misspelt variable would otherwise print nothing, and leave code that runs but lacks a statement.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # it is Python, not HTML
    )
    made.filters["dense"] = _dense
    made.filters["local"] = names.local_name
    return made


def render(template: str, **values: object) -> str:
    """Fill a template of generated code with values that passed `fit`, and format it."""
    text = environment().get_template(template).render({name: fit(value) for name, value in values.items()})
    return format_code(text)


def whole_module(source: str, parts: Iterable[str]) -> str:
    """Join parts of a module, the classes among them, with two empty lines between them.

    Args:
        source: the spec, or the package, that it is rendered from.
        parts: the parts, formatted.

    Raises:
        NameError: the module uses a name that it does not have, which is a defect of a template.
    """
    # Else the name would be missed at run time, and with the kernel most programs never run the line.
    text = "\n\n".join(parts)
    for name, where in _missing_names(symtable.symtable(text, "<generated>", "exec")):
        raise NameError(
            f"the code made from {source} uses {name!r} in {where}, and neither imports nor defines it: correct the "
            "template, or add the name to `__all__` of its module in kipwire.codec"
        )
    return text


def _missing_names(module: symtable.SymbolTable) -> Iterator[tuple[str, str]]:
    """Yield the names that a module does not have, each with the function or class that uses it."""
    own = {one.get_name() for one in module.get_symbols() if one.is_assigned() or one.is_imported()}
    blocks = [module]
    while blocks:
        block = blocks.pop()
        blocks += block.get_children()
        for one in block.get_symbols():
            if one.is_global() and one.get_name() not in own and not hasattr(builtins, one.get_name()):
                yield one.get_name(), f"{block.get_name()}, line {block.get_lineno()}"


def _dense(text: str) -> str:
    """Without the empty lines that conditions in a template leave."""
    return "\n".join(line for line in text.splitlines() if line.strip())


# Generated code is formatted as black does it: templates print what black would, and black itself breaks long lines. So
# black, which is slow, sees a few hundred lines of Kafka's messages. Nothing else needs it: `make lint` runs black over
# all generated files, and tests run it over what unusual specs become. It is imported when the first long line comes: a
# `kipgen generate` with nothing new takes 270 ms of processor time without black, and 420 ms with it.

_QUOTES = '"""'


def format_code(text: str) -> str:
    """Format the text of a block or a module as black does.

    Args:
        text: Python with a logical line on each line, with docstrings as `pymodel.docstring_text` makes them.

    Raises:
        black.InvalidInput: a long line is not Python, which is a defect of a template.
    """
    return "".join(f"{line}\n" for line in _lines(text))


def _lines(text: str) -> Iterator[str]:
    in_docstring = False
    for line in text.removesuffix("\n").split("\n"):
        is_start = not in_docstring and line.lstrip().startswith(_QUOTES)
        if in_docstring or is_start or not _may_be_long(line):
            yield line
        else:
            yield _broken(line)
        if in_docstring or is_start:
            in_docstring = not line.removeprefix(_QUOTES if is_start else "").endswith(_QUOTES)


def _may_be_long(line: str) -> bool:
    """True if black may find a line too long: it counts columns, and characters outside of ASCII may take two."""
    return len(line) * (1 if line.isascii() else 2) > LINE_LENGTH


def _broken(line: str) -> str:
    """Break a long line where black breaks it."""
    code = line.lstrip()
    indent = len(line) - len(code)
    if code.endswith(","):  # an element of a tuple or a dict, which black gets as the only one
        # In braces, so that black takes it for one element of many; they add a level of indentation, and go again.
        lines = _black(f"{{\n{code}\n}}", LINE_LENGTH - indent + 4).split("\n")[1:-1]
        indent -= 4
    elif code.endswith(":"):
        # The head of a block is a statement only with a body.
        lines = _black(f"{code} pass", LINE_LENGTH - indent).split("\n")[:-1]
    else:
        lines = _black(code, LINE_LENGTH - indent).split("\n")
    return "\n".join(" " * indent + one for one in lines)


@cache
def _black(code: str, line_length: int) -> str:
    import black  # here, see above
    from black.mode import TargetVersion

    mode = black.Mode(target_versions={TargetVersion.PY311}, line_length=line_length)
    return black.format_str(code, mode=mode).removesuffix("\n")
