"""The templates of pages of messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from kipgen.commands.docs.related import with_kip_links

_LEXER = PythonLexer()
_FORMATTER = HtmlFormatter(cssclass="highlight")

TEMPLATES = Path(__file__).parent / "templates"
STYLE = Path(__file__).parent / "site.css"
"""The style of tables of versions, drawings of bytes and examples."""


class Form(NamedTuple):
    """Form of the pages, which are HTML but for these."""

    heading: Callable[[int, str], Markup]
    """Writes a heading of a level, 1 for the title, from plain text."""
    code: Callable[[str], Markup]
    """Writes Python."""
    served: str
    """The words for the versions that are served."""


def environment(form: Form, *folders: Path) -> jinja2.Environment:
    """Load the templates of folders, the first before the others; all values in them are escaped for HTML.

    Args:
        form: the form of the pages.
        folders: where the templates are.
    """
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["kip_links"] = with_kip_links
    found.filters["breakable"] = breakable
    found.filters["code"] = form.code
    found.globals["heading"] = form.heading
    found.globals["served"] = form.served
    return found


def breakable(path: str) -> Markup:
    """Return a field's path as HTML that a narrow table may break after a dot or an underscore.

    Args:
        path: such as `topics[0].partition_index`.
    """
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(path))))


def highlighted(python: str) -> Markup:
    """Python as HTML, with the classes that the theme colours."""
    return Markup(highlight(python, _LEXER, _FORMATTER))
