"""The templates of the site's generated pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

from kipgen.commands.docs.templating import TEMPLATES
from kipgen.commands.docs.templating import environment as environment_of


@cache
def environment() -> jinja2.Environment:
    """Load the templates in `templates/`, and the templates of pages of messages."""
    return environment_of(Path(__file__).parent / "templates", TEMPLATES)


def render(template: str, **values: object) -> str:
    """Fill a template with values."""
    return environment().get_template(template).render(values)
