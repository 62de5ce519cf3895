"""Asks every adapter that is built about all vectors of Kafka's messages.

    .venv/bin/python conformance/run.py [NAME]...

Writes conformance/results.json, from which come the scoreboard of the documentation site, docs/conformance.md and
conformance/RESULTS.md. Each library is a row of `LIBRARIES`. A page with the matrix of each goes to build/conformance.
Libraries that are not named keep what their last run has left there.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "build" / "conformance"
HERE = ROOT / "conformance"
KIPWIRE = Path(sys.executable).with_name("kipwire")
KIPGEN = Path(sys.executable).with_name("kipgen")
RESULTS = HERE / "results.json"
PAGES = {"docs/conformance.md": "results.md.j2", "conformance/RESULTS.md": "failures.md.j2"}
"""The pages by path, with their templates."""
MOST_SEARCHED = 12
"""Messages of a library in which the page's failures are looked for: those that the fewest bytes show."""
MOST_BYTES = 40


class Library(NamedTuple):
    """A library, and how its adapter is started."""

    name: str
    command: list[str]
    needs: Path
    """The path that must exist."""


def python(adapter: str, *words: str) -> list[str]:
    return [sys.executable, str(HERE / "python" / adapter), *words]


LIBRARIES = [
    *(
        Library(f"kipwire-{way}", python("kipwire_adapter.py", way), HERE)
        for way in ("kernel", "plain", "columns", "projections")
    ),
    Library(
        "kafka-clients",
        ["java", "-cp", f"{BUILT}/java/*", str(HERE / "java" / "KafkaClients.java")],
        BUILT / "java" / "kafka-clients-4.4.0.jar",
    ),
    Library("kmsg", [str(BUILT / "kmsg")], BUILT / "kmsg"),
    Library("kafka-python", python("kafka_python_adapter.py"), HERE),
    Library("kio", python("kio_adapter.py"), HERE),
    Library("kafka-protocol-rs", [str(BUILT / "kafka-protocol")], BUILT / "kafka-protocol"),
    Library("sarama", [str(BUILT / "sarama")], BUILT / "sarama"),
    Library("tshark", python("tshark_adapter.py"), Path(shutil.which("tshark") or "tshark")),
]


def ask(library: Library, vectors: Path) -> dict[str, Any]:
    """Run one library, and return its results."""
    page = BUILT / f"{library.name}.html"
    words = ["--vectors", str(vectors), "--json", "--page", str(page), "--most-deaths", "100000", "--time-limit", "20"]
    done = subprocess.run([KIPWIRE, "conform", *words, "--", *library.command], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{library.name}: {done.stderr}")
    (BUILT / f"{library.name}.json").write_text(done.stdout, "utf-8")
    results: dict[str, Any] = json.loads(done.stdout)
    return results


def total(versions: list[dict[str, Any]]) -> dict[str, Any]:
    """Sum the results of a library for the table."""
    asked = [one for one in versions if one["passed"] or any(one["failed"].values())]
    return {
        "versions": sum(1 for one in asked if one["form"] == "message"),
        "passed": sum(one["passed"] for one in asked),
        "required": sum(one["failed"]["required"] for one in asked),
        "recommended": sum(one["failed"]["recommended"] for one in asked),
        "skipped": sum(one["skipped"] for one in versions),
        "wrong_versions": sum(1 for one in asked if one["failed"]["required"] and one["form"] == "message"),
    }


def shown(versions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one failure for each message that fails a required case: the one with the fewest bytes."""
    least: dict[str, dict[str, Any]] = {}
    for one in versions:
        found = one["smallest"]
        if one["form"] != "message" or not found or found["level"] != "required":
            continue
        known = least.get(one["message"])
        if known is None or len(found["bytes"]) < len(known["bytes"]):
            least[one["message"]] = {**found, "message": one["message"], "version": one["version"]}
    for one in sorted(least.values(), key=lambda found: (found["kind"] == "refuse", len(found["bytes"]))):
        if len(one["bytes"]) <= 2 * MOST_BYTES:
            reason = one["reason"].split("; its last line on standard error")[0]
            reason = reason.replace("accepts it, although", "accepts:").replace("refuses it:", "refuses:")
            kept = {name: one[name] for name in ("message", "version", "field", "case", "bytes", "given")}
            yield {**kept, "reason": reason}


def of_each_kind(failures: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the first failure of each kind.

    A reason in other words, but for numbers, bytes and the names of messages, is another kind: a library fails in a
    hundred messages for a few reasons.
    """
    kinds = set()
    for one in failures:
        kind = re.sub(r"-?[\w:]*(?:\d|::)[\w:]*|\b[0-9a-f]{2}\b", "", one["reason"])
        if kind not in kinds:
            kinds.add(kind)
            yield one


def main(names: list[str]) -> None:
    """Ask the libraries of these names, or all; the pages have the last results of each."""
    vectors = BUILT / "vectors"
    subprocess.run([KIPGEN, "vectors", "--out", vectors], check=True)
    libraries, missing = [], []
    for library in LIBRARIES:
        kept = BUILT / f"{library.name}.json"
        if names and library.name not in names and kept.exists():
            results = json.loads(kept.read_text("utf-8"))
        elif library.needs.exists():
            results = ask(library, vectors)
        else:
            missing.append(library.name)
            continue
        counts = total(results["versions"])
        print(f"{library.name}: {counts}", flush=True)
        failures = list(shown(results["versions"]))
        kinds = list(of_each_kind(failures[:MOST_SEARCHED]))
        program = {name: results["program"][name] for name in ("name", "release")}
        libraries.append({**program, **counts, "wrong_messages": len(failures), "failures": kinds})
    if missing:
        print(f"not built: {', '.join(missing)}; see conformance/README.md")
    count = sum(1 for file in vectors.glob("*.jsonl") for _ in file.open(encoding="utf-8"))
    day = datetime.now(UTC).date().isoformat()
    whole = {"day": day, "vectors": count, "missing": missing, "libraries": libraries}
    RESULTS.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for path, text in pages(whole).items():
        (ROOT / path).write_text(text, "utf-8")


def pages(results: dict[str, Any]) -> dict[str, str]:
    """Write the pages on the results, by path in the repository.

    Args:
        results: the content of results.json.
    """
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return {
        page: environment.from_string((HERE / template).read_text("utf-8")).render(results).rstrip() + "\n"
        for page, template in PAGES.items()
    }


if __name__ == "__main__":
    main(sys.argv[1:])
