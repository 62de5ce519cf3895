"""Formats generated code as black does: templates print what black would, and black itself breaks the long lines.

So black, which is slow, sees a few hundred lines of Kafka's messages. Nothing else needs it: `make lint` runs black
over all generated files, and tests run it over what unusual specs become.

It is imported when the first long line comes: a `kipgen generate` with nothing new takes 270 ms of processor time
without black, and 420 ms with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kipgen.python.pymodel import LINE_LENGTH

_QUOTES = '"""'


def format_code(text: str) -> str:
    """The text of a block or a module, as black formats it.

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
    """Whether black may find a line too long: it counts columns, and characters outside of ASCII may take two."""
    return len(line) * (1 if line.isascii() else 2) > LINE_LENGTH


def _broken(line: str) -> str:
    """A long line, broken where black breaks it."""
    code = line.lstrip()
    indent = len(line) - len(code)
    if code.endswith(","):  # an element of a tuple or a dict, which black gets as the only one
        lines = _black(f"{{\n{code}\n}}", LINE_LENGTH - indent + 4).split("\n")[1:-1]
        indent -= 4
    elif code.endswith(":"):
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
