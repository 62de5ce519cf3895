"""The templates of the site's generated pages."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from docs.site.related import with_kip_links

_LEXER = PythonLexer()
_FORMATTER = HtmlFormatter(cssclass="highlight")


@cache
def environment() -> jinja2.Environment:
    """Load the templates in `templates/`; all values in them are escaped for HTML."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["kip_links"] = with_kip_links
    found.filters["breakable"] = breakable
    return found


def render(template: str, **values: object) -> str:
    """Fill a template with values."""
    return environment().get_template(template).render(values)


def breakable(path: str) -> Markup:
    """Return a field's path as HTML that a narrow table may break after a dot or an underscore.

    Args:
        path: such as `topics[0].partition_index`.
    """
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(path))))


def highlighted(python: str) -> Markup:
    """Python as HTML, with the classes that the theme colours."""
    return Markup(highlight(python, _LEXER, _FORMATTER))
