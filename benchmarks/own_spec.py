"""A user's own spec, just compiled, against the same message as shipped."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bodies import METADATA
from benchmarks.peers import codec_of, interpreted_codec_of
from benchmarks.timing import interleaved
from kipwire import native
from kipwire.message.messages import Message

SPECS = Path(__file__).parent.parent / "schemas/kafka_messages"
FILES = ("clients/MetadataRequest.json", "clients/MetadataResponse.json", "enums/AclOperation.enum.json")
PACKAGE = "a_users_own_package"


@contextmanager
def generated() -> Iterator[type[Message]]:
    """Generate MetadataResponse v12 into its own package, which exists within the block, and give the class."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        specs = folder / "specs"
        specs.mkdir()
        for file in FILES:
            shutil.copy(SPECS / file, specs)
        command = [sys.executable, "-m", "kipgen", "generate", str(specs), "--package", PACKAGE, "--out", name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        sys.path.insert(0, name)
        try:
            made: type[Message] = import_module(f"{PACKAGE}.metadata_response.v12").MetadataResponse
            yield made
        finally:
            sys.path.remove(name)


def measure(rounds: int, seconds: float) -> dict[tuple[str, str], tuple[list[float], list[float]]]:
    """Time the user's class and the shipped one: by codec and operation, seconds per call, one figure per round."""
    shipped = import_module("kafka_messages.metadata_response.v12").MetadataResponse
    data = METADATA.golden
    makers = {"interpreted": interpreted_codec_of, **({"native": codec_of} if native.in_use else {})}
    measured = {}
    with generated() as own:
        for name, maker in makers.items():
            mine, theirs = maker(own, data), maker(shipped, data)
            for operation in ("decode", "encode"):
                functions = {"own": getattr(mine, operation), "shipped": getattr(theirs, operation)}
                samples = interleaved(functions, rounds, seconds)
                measured[name, operation] = (samples["own"], samples["shipped"])
    return measured
