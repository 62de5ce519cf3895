"""The extras of kipwire; an error about a missing library always has the command that installs it."""

from __future__ import annotations

import sys
from importlib import import_module

from kipwire.model.errors import MissingExtraError

MODULES = {
    "generator": ("black", "click", "jinja2", "jsonschema", "rich", "pygments", "watchfiles"),
    "console": ("click",),
    "testing": ("hypothesis", "re2"),
    "records": ("cramjam", "google_crc32c"),
    "schema-registry": ("avro", "google"),
    "columns": ("pyarrow",),
    "tables": ("numpy",),
    "polars": ("polars",),
    "jobs": ("duckdb", "matplotlib"),
    "spark": ("click", "matplotlib", "pandas", "pyspark"),
    "plot": ("matplotlib",),
    "object-stores": ("fsspec", "s3fs"),
}
"""The modules of the libraries that an extra brings by itself."""

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells give it."""

WITH = {
    "testing": ("records",),
    "schema-registry": ("records", "console"),
    "tables": ("records", "columns"),
    "polars": ("tables",),
    "jobs": ("tables", "console"),
    "spark": ("tables",),
}
"""Other extras that an extra brings."""


def install(extra: str) -> str:
    """Return the command that installs an extra, in quotes, which zsh needs."""
    return f'pip install "kipwire[{extra}]"'


def missing_extra(what: str, library: str, extra: str) -> MissingExtraError:
    """Make the error for something that needs a library which is not installed.

    Args:
        what: the user of the library, with a verb: `CRC-32C needs`.
        library: the library.
        extra: the extra that brings it.
    """
    return MissingExtraError(f"{what} {library}, which is not installed: {install(extra)}")


def explain_missing(what: str, extra: str, error: ImportError) -> MissingExtraError | None:
    """Make the error for an import that failed; None if no extra brings what was to be imported.

    Args:
        what: the user of the library, with a verb.
        extra: the extra to name if it brings the library; otherwise the first that does.
        error: the failure.
    """
    library = (error.name or "").partition(".")[0]
    extras = [one for one, modules in MODULES.items() if library in modules]
    if not extras:
        return None
    is_brought = not _all_of(extra).isdisjoint(extras)
    return missing_extra(what, library.replace("_", "-"), extra if is_brought else extras[0])


def _all_of(extra: str) -> set[str]:
    """Return an extra, with those that it brings, too."""
    return {extra}.union(*(_all_of(one) for one in WITH.get(extra, ())))


def run_with_extra(program: str, extra: str, module: str) -> None:
    """Run `main` of a module; if a library is missing, say in one line what installs it, and exit with 2.

    Ctrl-C while modules are imported, before a command could take it, is one line, too.
    """
    try:
        import_module(module).main()
    except KeyboardInterrupt:
        sys.stderr.write(f"{program}: interrupted\n")
        sys.exit(INTERRUPTED)
    except ImportError as error:
        missing = error if isinstance(error, MissingExtraError) else explain_missing("needs", extra, error)
        if missing is None:
            raise
        sys.stderr.write(f"{program}: {missing}\n")
        sys.exit(2)
