"""Refuse wording that makes readers guess, in docstrings and comments: `python scripts/words.py FOLDER...`.

A docstring states an action ("Return ..", "True if ..") or a value ("Length in bytes."), so no question word begins it.
A pronoun with "of" hides a noun, and code has no people in it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

FROZEN = "tests/data/generated_level_1/"  # output of an older kipgen
SUFFIXES = frozenset({".py", ".pyx", ".pxi", ".pxd"})
DOCSTRING = re.compile(r'^ *r?"""(.*?)"""', re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"(?:^ *|  )#:? (.*(?:\n *#:? .*)*)", re.MULTILINE)
FIRST_WORD = re.compile(r"(?:What|Whether|How|Who|Whose|Where|Which|When)\b")
WORDS = re.compile(r"\b(?:that|those)\s+(?:#\s+)?of\b|\b(?:no|every|some|any)body\b", re.IGNORECASE)


def faults(text: str) -> Iterator[tuple[int, str]]:
    """Find the refused words of a source text, each with the number of its line."""
    for found in (*DOCSTRING.finditer(text), *COMMENT.finditer(text)):
        first = FIRST_WORD.match(found[1]) if found.re is DOCSTRING else None
        for word in (*filter(None, [first]), *WORDS.finditer(found[1])):
            yield text.count("\n", 0, found.start(1) + word.start()) + 1, word[0]


def main(folders: list[str]) -> int:
    """Print the refused words of all files in folders; return 1 if there are any."""
    files = (path for folder in folders for path in Path(folder).rglob("*") if path.suffix in SUFFIXES)
    found = [
        f"{file}:{line}: docstring or comment with {word!r}; name the thing, or start with a verb or a noun"
        for file in sorted(files)
        if file.is_file() and not file.as_posix().startswith(FROZEN)
        for line, word in faults(file.read_text(encoding="utf-8"))
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
