"""Time from a fresh interpreter to the first message decoded and encoded.

Interpreters that do nothing, that use kipwire and that use a peer are started in turn; what counts is the median
of how much longer one ran than the bare interpreter of the same round.

All programs run as in an ordinary installation: everything is compiled to byte code before, even if this environment
forbids writing it, and `hypothesis` cannot be imported. It is installed for tests only, and
kio, which uses it if it is found, would take many times as long.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from benchmarks.bodies import DATA
from kipwire import native

_FILE = str(DATA / "metadata_v12.bin")

_WITHOUT_HYPOTHESIS = "import sys; sys.modules['hypothesis'] = None\n"

_KIPWIRE = f"""
from kafka_messages.metadata_response.v12 import MetadataResponse
with open({_FILE!r}, "rb") as file:
    data = file.read()
assert MetadataResponse.decode(data).encode() == data
"""

_INTERPRETED = "import os; os.environ['KIPWIRE_NATIVE'] = '0'\n" + _KIPWIRE

PROGRAMS = {
    "bare interpreter": "pass",
    "interpreted": _INTERPRETED,
    **({"native": _KIPWIRE} if native.in_use else {}),
    "kio": f"""
import io
from kio.schema.metadata.v12 import MetadataResponse
from kio.serial import entity_reader, entity_writer
with open({_FILE!r}, "rb") as file:
    data = file.read()
message, _ = entity_reader(MetadataResponse)(data, 0)
buffer = io.BytesIO()
entity_writer(MetadataResponse)(buffer, message)
assert buffer.getvalue() == data
""",
}
"""Each does the same job: one MetadataResponse v12 from a file, decoded and encoded."""

BARE = "bare interpreter"


@dataclass(frozen=True)
class ColdStart:
    """Times of one program, in seconds."""

    name: str
    seconds: float
    """From the start of the interpreter to its end; median."""
    over_bare: float
    """Over a bare interpreter of the same round; median."""


def measure(runs: int) -> list[ColdStart]:
    """Start every program a number of times, in turn, after a round that compiles and fills caches."""
    samples: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as byte_code:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = byte_code
        for number in range(runs + 1):
            for name, program in PROGRAMS.items():
                seconds = _run(program, environment)
                if number:
                    samples[name].append(seconds)
    bare = samples[BARE]
    return [
        ColdStart(name, median(taken), median(one - other for one, other in zip(taken, bare, strict=True)))
        for name, taken in samples.items()
    ]


def _run(program: str, environment: dict[str, str]) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-c", _WITHOUT_HYPOTHESIS + program], check=True, env=environment)
    return perf_counter() - start
