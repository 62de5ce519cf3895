"""Properties files for Kafka's clients, as Kafka's own tools accept them with --command-config."""

from __future__ import annotations

import re
from pathlib import Path

from kipspark.errors import SourceError
from kipspark.spark import properties

_NAME = re.compile(r"[\w.-]+", re.ASCII)


def client_options(file: Path) -> dict[str, str]:
    """The settings of a file as options of Spark's Kafka connector, whose names start with `kafka.`.

    No error shows content of the file, which may be a password or a part of a key.

    Raises:
        SourceError: the file cannot be read, or a part of it is not a client setting.
    """
    try:
        # The encoding that Java reads such files in; other characters are written as \uXXXX.
        settings = properties.load(file.read_bytes().decode("iso-8859-1"))
    except OSError as error:
        raise SourceError(f"{file}: cannot be read: {error.strerror or error}") from None
    except properties.MalformedError as error:
        raise SourceError(f"{file}:{error.args[0]}: a \\u needs four hexadecimal digits after it") from None
    for number, (name, value) in enumerate(settings.items(), 1):
        if not _NAME.fullmatch(name):
            raise SourceError(
                f"{file}: the name of setting {number} has characters other than letters, digits, dots, hyphens and "
                "underscores; a value that continues on the next line needs a backslash at the end of the line"
            )
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise SourceError(
                f"{file}: setting {number} has half a surrogate pair: a \\u escape without its other half"
            )
    return {f"kafka.{name}": value for name, value in settings.items()}
