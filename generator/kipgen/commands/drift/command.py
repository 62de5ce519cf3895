"""The command `kipgen drift`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from json import dumps
from pathlib import Path

import click

from kipgen.commands.console import SPECS_FOLDER, print_problems
from kipgen.commands.drift.compare import ORDER, WHOLE, Difference, Drift, compare, value_text
from kipgen.commands.drift.jars import JarError, Release, read_release
from kipgen.commands.drift.write import write_missing
from kipgen.reading import check
from kipgen.reading.draft import Draft
from kipgen.resources import kafka_specs, package_folder
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.cli.options import OutputFormat, one_format
from kipwire.tools.atomic import new_folder, rename_new
from kipwire.tools.text import count_of, print_err, print_out


@click.command
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=SPECS_FOLDER,
    metavar="[SPECS] KAFKA_JAR...",
    help="A folder of specs, one package, or nothing for the specs of Kafka's messages that kipgen has; then "
    "jars of one release of Kafka, such as kafka-clients-4.4.0.jar.",
)
@click.option(
    "--write",
    is_flag=True,
    help="Write what Kafka says into the specs; fields and messages that only they have stay.",
)
@click.option("--out", "-o", type=PATH, help="With --write, a new folder for a copy of the specs, which is written.")
@one_format
def drift(paths: Sequence[Path], write: bool, out: Path | None, format_: OutputFormat) -> None:
    """Show what a release of Kafka has that the specs lack, and the reverse; exit 1 if anything differs."""
    specs, jars = (kafka_specs(), paths) if paths[0].suffix == ".jar" else (paths[0], paths[1:])
    if not jars:
        fail(f"no jar to compare {specs} with; add the jars of a release, such as kafka-clients-4.4.0.jar")
    if out is not None and not write:
        fail("--out needs --write")
    if write and out is None and (specs is not paths[0] or specs.is_relative_to(package_folder())):
        fail("--write needs a folder of specs before the jars, or --out FOLDER for a copy of them")
    ours = _specs(specs)
    try:
        release = read_release(jars)
    except JarError as error:
        fail(*error.args)
    for broken in release.broken:
        print_problems(broken.errors)
        print_err((f"not compared: {one_line(broken.message)}", "yellow"), ": Kafka's spec has errors")
    refused = False
    if out is not None:
        _copy(specs, out)
        specs = out
        ours = _specs(specs)
    if write:
        refused = _write(specs, ours, release)
        # Read again: the report is about what is on the disk now.
        ours = _specs(specs)
    found = compare(ours, release)
    if format_ is OutputFormat.JSON:
        plain = {
            "messages": found.messages,
            "not_compared": [one.message for one in release.broken],
            "differences": [asdict(one) for one in found.differences],
        }
        print(dumps(plain, indent=2))
    else:
        _print_text(found)
    if found.differences or refused:
        sys.exit(1)


def _specs(folder: Path) -> dict[Path, Draft]:
    """Read the drafts of a package of specs, by file; exit with 2 if a spec has errors."""
    checked, problems = check.read_folder(folder)
    errors = [problem for problem in problems if problem.severity == "error"]
    print_problems(errors)
    if errors:
        fail(f"{folder}: specs with errors cannot be compared")
    return {Path(one.file): one.draft for one in checked if one.draft is not None}


def _copy(specs: Path, out: Path) -> None:
    """Copy specs, with the enums, to a folder that is new; exit with 2 if anything is there."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(out) as made:
        shutil.copytree(specs, made, dirs_exist_ok=True)
        try:
            rename_new(made, out)
        except FileExistsError:
            fail(f"{out} is there already; write to it without --out, as in kipgen drift {out} JAR... --write")


def _write(folder: Path, ours: Mapping[Path, Draft], release: Release) -> bool:
    """Add what the specs lack; return whether a spec could not be written."""
    refused = False
    for outcome in write_missing(folder, ours, release.messages):
        if outcome.problems:
            refused = True
            print_problems(outcome.problems)
            refusal = (f"not written: {one_line(outcome.file)}", "red")
            print_err(refusal, ": the spec would break a rule")
        else:
            print_err(f"wrote {one_line(outcome.file)}")
        for text in outcome.unexplained:
            note = f"{one_line(text)}: about is missing; describe it in your own words"
            print_err((note, "yellow"))
    return refused


def _print_text(found: Drift) -> None:
    for message, group in groupby(found.differences, lambda it: it.message):
        print_out((one_line(message), "bold"))
        for line in _lines(list(group)):
            print_out(f"  {one_line(line)}")
    verdict = count_of(len(found.differences), "difference") if found.differences else "no drift"
    print_out(f"{count_of(found.messages, 'message')} compared: {verdict}")


def _lines(differences: Sequence[Difference]) -> Iterator[str]:
    for one in differences:
        where = f"{one.location}: "
        if one.fact in WHOLE:
            side, facts = ("the specs", one.ours) if one.ours is not None else ("Kafka", one.kafka)
            name = f"{one.path} " if one.path else ""
            assert isinstance(facts, dict)
            listed = ", ".join(f"{key} {value}" for key, value in facts.items())
            yield f"{where}{name}only in {side} ({one.fact}: {listed})"
        else:
            ours = "none" if one.ours is None else value_text(one.ours)
            kafka = "none" if one.kafka is None else value_text(one.kafka)
            name = f"{one.path}." if one.path else ""
            fact = "order of fields" if one.fact == ORDER else one.fact
            yield f"{where}{name}{fact}: {ours} in the specs, {kafka} in Kafka"
