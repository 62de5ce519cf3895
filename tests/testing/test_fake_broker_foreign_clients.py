"""Clients of Go, JavaScript and Rust do ten steps each against the fake broker."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafka_messages.enums import ApiKey
from kipwire.records import read_batches
from kipwire.testing import FakeBroker
from tests.support.places import ROOT, SUPPORT

SOURCES = SUPPORT / "foreign"
BUILD = ROOT / "build" / "foreign"
BUILD_SECONDS = 600
"""Time limit of a build, downloads included."""
RUN_SECONDS = 120
CODECS = {"none", "gzip", "snappy", "lz4", "zstd"}

STEPS = [
    "create topic",
    "list topic",
    "produce",
    "consume",
    "commit in a group",
    "resume after a restart",
    "share a group of two",
    "read committed transactions",
    "alter configs and delete records",
    "delete group and topic",
]
STEPS_WITHOUT_GROUPS = [
    *STEPS[:4],
    "list offsets",
    "fetch at offsets",
    "produce in batches",
    "consume a stream",
    "delete records",
    "delete topic",
]
"""rskafka has neither groups nor transactions."""


@dataclass(frozen=True)
class Program:
    """A client's program."""

    tools: tuple[str, ...]
    """Commands that build or run it."""
    build: Callable[[], list[str]]
    """Builds it if anything changed; the command that takes the broker's addresses."""
    steps: list[str]


def _run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr or done.stdout}"


def _build_go(client: str) -> list[str]:
    program = BUILD / client
    _run(SOURCES / "go", "go", "build", "-mod=readonly", "-o", str(program), f"./{client}")
    return [str(program)]


def _build_js() -> list[str]:
    folder = BUILD / "js"  # npm puts its modules where the program is
    shutil.copytree(SOURCES / "js", folder, dirs_exist_ok=True)
    _run(folder, "npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
    return ["node", str(folder / "kafkajs.js")]


def _build_rust() -> list[str]:
    folder = BUILD / "rust"
    _run(SOURCES / "rust", "cargo", "build", "--quiet", "--locked", "--target-dir", str(folder))
    return [str(folder / "debug" / "kipwire-foreign-clients")]


PROGRAMS = {
    "franz-go": Program(("go",), lambda: _build_go("franz-go"), STEPS),
    "sarama": Program(("go",), lambda: _build_go("sarama"), STEPS),
    "kafkajs": Program(("node", "npm"), _build_js, STEPS),
    "rskafka": Program(("cargo",), _build_rust, STEPS_WITHOUT_GROUPS),
}


@cache
def command(client: str) -> list[str]:
    """Build a program; the command that starts it."""
    return PROGRAMS[client].build()


def sent_codecs(broker: FakeBroker) -> set[str]:
    """Return the codecs of all batches that clients have produced, deleted ones included."""
    bodies: list[Any] = [request.body for request in broker.requests(ApiKey.PRODUCE)]
    return {
        batch.compression
        for body in bodies
        for topic in body.topic_data
        for partition in topic.partition_data
        for batch in read_batches(partition.records)
    }


@pytest.mark.night
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("client", list(PROGRAMS))
def test_a_client_of_another_language_does_its_steps(client: str, nodes: int) -> None:
    program = PROGRAMS[client]
    missing = [tool for tool in program.tools if not shutil.which(tool)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not found")
    with FakeBroker(nodes=nodes) as broker:
        done = subprocess.run(
            [*command(client), broker.bootstrap_servers],
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
    assert done.stdout.splitlines() == [f"ok {step}" for step in program.steps], done.stderr
    assert done.returncode == 0, done.stderr
    assert sent_codecs(broker) == CODECS
    assert all(broker.requests(ApiKey.PRODUCE, node=node) for node in broker.node_ids)
    assert broker.topics() == {}
