"""Files of settings for Kafka's clients, as Kafka's own tools take them by --command-config."""

from __future__ import annotations

import re
from pathlib import Path

from kipspark.errors import SourceError

_SETTING = re.compile(r"([\w.-]+)\s*[=:]\s*(.*)")


def client_options(file: Path) -> dict[str, str]:
    """The settings of a file as options of Spark's Kafka connector, whose names start with `kafka.`.

    Raises:
        SourceError: there is no such file, or a line of it is no setting.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    options = {}
    # A line that ends with a backslash goes on in the next one.
    for line in re.sub(r"\\\r?\n\s*", "", text).splitlines():
        content = line.strip()
        if content and content[0] not in "#!":
            setting = _SETTING.fullmatch(content)
            if setting is None:
                raise SourceError(f"{file}: {content.split()[0]!r} starts no setting such as security.protocol=SSL")
            options[f"kafka.{setting[1]}"] = setting[2]
    return options
