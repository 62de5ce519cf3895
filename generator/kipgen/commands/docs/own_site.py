"""The pages of a folder of specs as HTML: each in a file of its own, which loads nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup, escape

from kipgen.commands.docs.enums import enum_tables
from kipgen.commands.docs.example import Example, lines_of
from kipgen.commands.docs.pages import Package, by_kind, has_page, message_page
from kipgen.commands.docs.plain_message import plain_message
from kipgen.commands.docs.related import pairs
from kipgen.commands.docs.templating import STYLE, TEMPLATES, Form, environment, highlighted
from kipgen.commands.vectors.classes import classes_of
from kipgen.language import names
from kipgen.language.spec import MessageSpec, enum_of
from kipgen.python.render import registry_entry, render_message
from kipgen.reading.enum_spec import EnumSpec
from kipgen.resolve.headers import header_versions
from kipgen.resolve.wire import WireStruct
from kipwire.cli.page import page
from kipwire.conformance.writing import write
from kipwire.model.structs import Field, Root

INDEX = "index.html"
ENUMS = "enums.html"
_ABOUT = "What each message is for, its versions, and the bytes of each."
_ABOUT_ENUMS = Markup(
    "<p>What the numbers in messages mean. In Python they are the classes of <code>{}.enums</code>.</p>"
)


class Specs(NamedTuple):
    """The specs of one package, without problems."""

    name: str
    """Dotted name of the package."""
    messages: Sequence[tuple[str, MessageSpec]]
    """Path of each spec below the folder, as pages show it, and the message."""
    enums: Sequence[EnumSpec]


def pages_of(specs: Specs, progress: Callable[[int, int], object]) -> dict[str, str]:
    """Write the pages of a package, by file name: a list of messages, one for each, and one of all enums.

    Args:
        specs: the specs.
        progress: called from time to time with the messages that are done and the number of all.

    Raises:
        EncodeError: no example of a message can be made.
    """
    shown = [(source, spec) for source, spec in specs.messages if has_page(spec)]
    folders = [(source.rpartition("/")[0], spec) for source, spec in shown]
    headers = header_versions(spec for _, spec in specs.messages)
    package = Package(specs.name, headers, pairs(folders), frozenset(enum.name for enum in specs.enums))
    names_of = {enum.name: {one.number: one.name for one in enum.values} for enum in specs.enums}
    found = []
    for number, (source, spec) in enumerate(shown, 1):
        modules = {
            int(path.stem.removeprefix("v")): text
            for path, text in render_message(spec, headers, source).items()
            if path.stem != "__init__"
        }
        found.append(message_page(spec, source, package, modules, _example(spec, names_of)))
        progress(number, len(shown))
    groups = by_kind(found)
    tables = enum_tables(specs.enums, [registry_entry(spec, headers) for _, spec in specs.messages])
    listed = [(kind, [f"{one.spec.name}.html" for one in group]) for kind, group in groups]
    if tables:
        listed.append(("Numbers", [ENUMS]))
    bodies = {
        INDEX: _render("messages.md.j2", groups=groups, title=specs.name, about=_ABOUT, has_enums=bool(tables)),
        **({ENUMS: _render("enums.md.j2", enums=tables, about=_ABOUT_ENUMS.format(specs.name))} if tables else {}),
        **{f"{one.spec.name}.html": _render("message.md.j2", page=one, link="") for one in found},
    }
    return {name: _framed(specs.name, name, body, listed) for name, body in bodies.items()}


def _example(spec: MessageSpec, names_of: Mapping[str, Mapping[int, str]]) -> Example:
    """Make an example of the newest version, of plain values."""
    cls = classes_of(spec)[-1]
    message = plain_message(cls)
    data = write(message)
    enums = dict(_enums_of_fields(spec, cls))

    def name_of(field: Field, number: int) -> str:
        enum, is_bits = enums.get(id(field), ("", False))
        known = names_of.get(enum, {})
        if is_bits:
            return ", ".join(name for bit, name in known.items() if bit >= 0 and number >> bit & 1)
        return known.get(number, "")

    return Example(message, data, lines_of(cls, data, name_of))


def _enums_of_fields(spec: MessageSpec, cls: type[Root]) -> Iterator[tuple[int, tuple[str, bool]]]:
    """Yield the identity of each field that has an enum, with the enum and whether it names bits."""
    given = {
        (names.class_name(struct), names.attribute_name(field.name)): (enum, field.enum_bits)
        for struct, fields in spec.struct_fields.items()
        for field in fields
        if (enum := enum_of(field))
    }
    structs: tuple[type[WireStruct], ...] = getattr(cls, "STRUCTS", ())
    for struct in (*structs, cls):
        for field in struct.FIELDS:
            if (found := given.get((struct.__name__, field.name))) is not None:
                yield id(field), found


# HTML.


def _heading(level: int, text: str) -> Markup:
    return Markup('<h{0} id="{1}">{2}</h{0}>').format(level, text.lower().replace(" ", "-").replace(",", ""), text)


@cache
def _environment() -> jinja2.Environment:
    return environment(Form(_heading, highlighted, "served"), TEMPLATES)


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(values)


@cache
def _style() -> str:
    own = Path(__file__).parent / "page.css"
    return own.read_text("utf-8") + STYLE.read_text("utf-8")


def _framed(title: str, name: str, content: str, groups: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Put the content of a page into its frame: the way back to the list, and a list of all pages."""
    stem = name.removesuffix(".html")
    parts = []
    for kind, files in groups:
        rows = "".join(_link(file, file == name) for file in files)
        parts.append(f"<h2>{escape(kind)}</h2>\n<ul>\n{rows}</ul>\n")
    nav = f'<nav aria-label="Messages">\n{"".join(parts)}</nav>'
    body = (
        f'<header><a href="{INDEX}">{escape(title)}</a></header>\n<div class="columns">\n'
        f'<article class="md-typeset">\n{content}</article>\n{nav}\n</div>'
    )
    return page(title if name == INDEX else f"{stem} - {title}", body, _style())


def _link(file: str, is_here: bool) -> str:
    text = "Names for numbers" if file == ENUMS else file.removesuffix(".html")
    here = ' aria-current="page"' if is_here else ""
    return f'<li><a href="{escape(file)}"{here}>{re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "<wbr>", escape(text))}</a></li>\n'
