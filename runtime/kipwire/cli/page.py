"""The shell of every page: one file that loads nothing and can be sent to others, with one palette, light and dark.

Texts of a page may come from an attacker, so each goes through `escaped`. A policy in the head is the second line of
defence: nothing is loaded or sent, and no script runs but the page's own, which is known by its hash.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from kipwire.tools.text import printable_line


def page(title: str, body: str, style: str, script: str = "") -> str:
    """Build a page as HTML text.

    Args:
        title: of the window, as plain text.
        body: HTML, whose texts are escaped.
        style: CSS of its own; the colours are the variables of page.css.
        script: JavaScript, run when the body is there; empty for none.
    """
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'"
    run = ""
    if script:
        policy += f"; script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
        run = f"<script>{script}</script>\n"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{part('kipwire.cli', 'page.css')}{style}</style>\n</head>\n"
        f"<body>\n{body}\n{run}</body>\n</html>\n"
    )


def escaped(text: object) -> str:
    """Escape text for HTML, in an element or in quotes; control characters are shown as escapes."""
    return escape(printable_line(str(text)))


def part(package: str, name: str) -> str:
    """Read a file of a package, such as its `page.css`."""
    return files(package).joinpath(name).read_text("utf-8")
