"""The templates of the site's generated pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from kipgen.commands.docs.templating import TEMPLATES, Form
from kipgen.commands.docs.templating import environment as environment_of


def _heading(level: int, text: str) -> Markup:
    return Markup(f"{'#' * level} {escape(text)}")


def _code(python: str) -> Markup:
    return Markup(f"```python\n{python}\n```")


MARKDOWN = Form(_heading, _code, "served by Kafka 4.4")


@cache
def environment() -> jinja2.Environment:
    """Load the templates in `templates/`, and the templates of pages of messages."""
    return environment_of(MARKDOWN, Path(__file__).parent / "templates", TEMPLATES)


def render(template: str, **values: object) -> str:
    """Fill a template with values."""
    return environment().get_template(template).render(values)
