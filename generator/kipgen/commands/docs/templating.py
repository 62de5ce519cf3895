"""The templates of pages of messages."""

from __future__ import annotations

import re
from pathlib import Path

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


def environment(*folders: Path) -> jinja2.Environment:
    """Load the templates of folders, the first before the others; all values in them are escaped for HTML."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["kip_links"] = with_kip_links
    found.filters["breakable"] = breakable
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
