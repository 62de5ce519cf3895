"""The golden data checked by the Python that imports this, for one without pytest: CPython 3.14 as WebAssembly."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from typing import Any

import kafka_messages
from kipwire import native
from tests.support.golden_data import message_of, messages, unknown_tagged_fields

_MOST_SHOWN = 20


def checked() -> str:
    """Decode, encode and convert every golden message; return what was done as JSON.

    Returns:
        `python`: the version; `native`: True if the kernel is used; `messages`, `versions`: how many were checked;
        `seconds`; `wrong`: the first that are not what Java has.
    """
    start = time.monotonic()
    counts: Counter[str] = Counter()
    wrong = []
    for (name, version), lines in messages().items():
        cls = kafka_messages.message(name, version)
        counts["versions"] += 1
        for line in lines:
            counts["messages"] += 1
            data = bytes.fromhex(line["hex"])
            message = cls.decode(data)
            rebuilt = message_of(cls, line)
            is_right = (
                message.encode() == rebuilt.encode() == data
                and message.encoded_size() == len(data)
                and message.to_json() == line["json"]
                and (rebuilt == message or "NaN" in json.dumps(line["json"]))
                and _sorted(unknown_tagged_fields(message)) == _sorted(line.get("unknown", []))
            )
            if not is_right:
                wrong.append(f"{name} v{version}: {line['hex'][:100]}")
    seconds = round(time.monotonic() - start, 1)
    shown = {"wrong": wrong[:_MOST_SHOWN], "wrongs": len(wrong), "seconds": seconds}
    return json.dumps({"python": sys.version.split()[0], "native": native.in_use, **counts, **shown})


def _sorted(unknown: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True) for one in unknown)
