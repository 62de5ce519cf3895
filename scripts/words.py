"""Refuse wording that makes readers guess, in docstrings and comments: `python scripts/words.py FOLDER...`.

A docstring states an action ("Return ..", "True if ..") or a value ("Length in bytes."), so no question word begins it.
A function acts, so a verb begins its docstring. Properties and fixtures are values, tests state what holds, and
commands have their help there. A pronoun with "of" hides a noun, and code has no people in it.
"""

import ast
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
NO_VERBS = frozenset(
    "The A An All As By Of In On At For From Each Every Those These That This If It Its With After Before No Not One"
    " Two Same Only Such Also Both There To".split()
)
"""Words that begin a phrase without a verb; no list can have the nouns themselves."""
NO_ACTION = re.compile(r"property|fixture|\.setter|\.command\b")
"""Decorators of functions whose docstrings state no action."""


def faults(text: str) -> Iterator[tuple[int, str]]:
    """Find the refused words of a source text, each with the number of its line."""
    for found in (*DOCSTRING.finditer(text), *COMMENT.finditer(text)):
        first = FIRST_WORD.match(found[1]) if found.re is DOCSTRING else None
        for word in (*filter(None, [first]), *WORDS.finditer(found[1])):
            yield text.count("\n", 0, found.start(1) + word.start()) + 1, word[0]


def nouns(text: str) -> Iterator[tuple[int, str]]:
    """Find the words other than verbs that begin docstrings of functions, each with the number of its line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("test_"):
            first = re.match(r"[\w'`]+", ast.get_docstring(node) or "")
            is_action = not any(NO_ACTION.search(ast.unparse(one)) for one in node.decorator_list)
            if first and first[0] in NO_VERBS and is_action:
                yield node.body[0].lineno, first[0]


def faults_of(file: Path) -> Iterator[str]:
    """Describe the refused words of a file."""
    text = file.read_text(encoding="utf-8")
    for line, word in faults(text):
        yield f"{file}:{line}: docstring or comment with {word!r}; name the thing, or start with a verb or a noun"
    for line, word in nouns(text) if file.suffix == ".py" else ():
        yield f"{file}:{line}: docstring of a function begins with {word!r}; start with a verb, such as Return or Find"


def main(folders: list[str]) -> int:
    """Print the refused words of all files in folders; return 1 if there are any, 2 if no folder is named."""
    if not folders:
        print("name the folders to check, or run make lint", file=sys.stderr)
        return 2
    files = (path for folder in folders for path in Path(folder).rglob("*") if path.suffix in SUFFIXES)
    found = [
        fault
        for file in sorted(files)
        if file.is_file() and not file.as_posix().startswith(FROZEN)
        for fault in faults_of(file)
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
