"""Packages with one mistake each, in one field of one version: the kit finds every one."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from kipgen.commands.app import app
from kipgen.language.spec import MessageSpec
from kipgen.reading.check import read_file
from kipgen.resolve import headers
from kipgen.resolve.wire import WireMessage, WireStruct, resolve
from kipgen.resources import kafka_spec, kafka_specs
from kipwire.conformance.vectors import read_index, read_vectors
from kipwire.console.conform.program import Program
from kipwire.console.conform.questions import Claims, Verdict, evaluate, questions
from kipwire.description.plan import Item
from kipwire.model.structs import Field
from kipwire.model.types import TYPES
from tests.support.places import ROOT
from tests.support.spec_package import write_package

ADAPTER = ROOT / "conformance" / "python" / "kipwire_adapter.py"
APIS = (
    "AlterPartition",
    "ApiVersions",
    "ConsumerGroupHeartbeat",
    "CreateTopics",
    "Fetch",
    "JoinGroup",
    "Metadata",
    "OffsetFetch",
    "Produce",
)
MESSAGES = [f"{api}{part}" for api in APIS for part in ("Request", "Response")]
FEW = ["ApiVersionsRequest", "ApiVersionsResponse"]
"""Messages with every kind of field that a mistake can be in."""
KINDS = ("width", "order", "tag", "null", "default", "encoding")
WIDER = {"int8": "int16", "int16": "int32", "uint16": "int32", "int32": "int64", "int64": "int32"}


class Mutant(NamedTuple):
    """One mistake."""

    kind: str
    message: str
    version: int
    struct: str
    field: int
    """Its number among the fields of the struct."""

    def apply(self, message: type[WireMessage]) -> None:
        """Put the mistake into the classes of the version."""
        for struct in (*message.STRUCTS, message):
            if struct.__name__ == self.struct:
                fields = list(struct.FIELDS)
                if self.kind == "order":
                    fields[self.field : self.field + 2] = reversed(fields[self.field : self.field + 2])
                else:
                    fields[self.field] = CHANGES[self.kind](fields[self.field])
                struct.FIELDS = tuple(fields)
                struct.__init_subclass__()


def changed(field: Field, *, type_: str = "", **arguments: Any) -> Field:
    return Field(field.name, field.spec_name, type_ or field.type, **{**field.arguments(), **arguments})


def widened(field: Field) -> Field:
    return changed(field, type_=field.type.replace(field.element, WIDER[field.element]))


def retagged(field: Field) -> Field:
    assert field.tag is not None
    return changed(field, tag=field.tag + 100)


def other_null(field: Field) -> Field:
    default = () if field.array or field.struct else "" if field.element == "string" else b""
    if field.nullable:
        return changed(field, nullable=False, default=field.default if field.default is not None else default)
    return changed(field, nullable=True)


def other_default(field: Field) -> Field:
    if field.array or field.struct:
        return changed(field, nullable=True, default=None) if field.default is not None else changed(field, default=())
    if field.element in ("string", "bytes"):
        is_text = field.default is None or field.element == "string"
        return changed(field, default="other" if is_text else b"\1")
    return changed(field, default=not field.default if field.element == "bool" else 77)


def other_encoding(field: Field) -> Field:
    if Item(field).prefix:
        return changed(field, compact=not field.compact)
    bits = TYPES[field.element].bits
    return changed(field, encoding=f"packed{bits}" if bits == 16 else f"upacked{bits}")


CHANGES: dict[str, Callable[[Field], Field]] = {
    "width": widened,
    "tag": retagged,
    "null": other_null,
    "default": other_default,
    "encoding": other_encoding,
}


def can_have(kind: str, struct: type[WireStruct], number: int) -> bool:
    """True if a field can have a mistake of this kind that changes the bytes."""
    field = struct.FIELDS[number]
    has_length = bool(Item(field).prefix)
    match kind:
        case "width":
            return field.element in WIDER
        case "order":
            after = struct.FIELDS[number + 1 : number + 2]
            return field.tag is None and any(one.tag is None for one in after)
        case "tag":
            return field.tag is not None
        case "null":
            return has_length
        case "default":
            return field.tag is not None and field.element not in ("uuid", "records")
        case _:
            return has_length or (not field.array and field.element in TYPES and TYPES[field.element].encodable)


def specs(names: Iterable[str]) -> Iterator[MessageSpec]:
    for name in names:
        file = kafka_spec(name)
        assert file is not None
        spec = read_file(file).spec
        assert spec is not None
        yield spec


def mutants(seed: int, count: int, names: Iterable[str] = MESSAGES) -> list[Mutant]:
    """Different mistakes in messages, as many of each kind."""
    rng = random.Random(seed)
    possible: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for spec in specs(names):
        for version in spec.valid_versions.each():
            message = resolve(spec, version)
            for struct in (*message.STRUCTS, message):
                for number in range(len(struct.FIELDS)):
                    for kind in KINDS:
                        if can_have(kind, struct, number):
                            mutant = Mutant(kind, spec.name, version, struct.__name__, number)
                            possible[kind].append(mutant)
    chosen = [rng.sample(possible[kind], -(-count // len(KINDS))) for kind in KINDS]
    return [mutant for group in zip(*chosen, strict=True) for mutant in group][:count]


def copy_specs(names: Iterable[str], folder: Path) -> None:
    """Copy specs of Kafka's, with the enums that they name, into a new folder."""
    shutil.copytree(kafka_specs() / "enums", folder / "enums")
    for name in names:
        file = kafka_spec(name)
        assert file is not None
        shutil.copy(file, folder)


def of_api(message: str) -> list[str]:
    """Return the messages of the same API as a message."""
    api = message.removesuffix("Request").removesuffix("Response")
    return [f"{api}Request", f"{api}Response"]


def write_vectors(names: Iterable[str], folder: Path) -> Path:
    """Write a folder of vectors of the specs as they are, and beside it the specs."""
    copy_specs(names, folder / "specs")
    found = CliRunner().invoke(app, ["vectors", str(folder / "specs"), "--out", str(folder / "vectors")])
    assert found.exit_code == 0, found.output
    return folder / "vectors"


def first_failure(
    vectors: Path, package: Path, only: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> Verdict | None:
    """Return the first failure of a package, tried by kipwire's adapter with one version of a message."""
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    program = Program([sys.executable, str(ADAPTER), "plain", package.name], limit=20)
    index = read_index(vectors)
    try:
        claims = Claims.of_answer(program.hello())
        asked = (one for one in read_vectors(vectors) if (one.message, one.version) == only)
        for question, answer in program.ask(questions(asked, claims)):
            verdict = evaluate(question, answer, index)
            if verdict.outcome == "failed":
                return verdict
    finally:
        program.close()
    return None


def check(vectors: Path, chosen: list[Mutant], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Mutant]:
    """Return the mutants that no vector detects."""
    survivors = []
    for number, mutant in enumerate(chosen):
        with monkeypatch.context() as patch:

            def mutated(
                spec: MessageSpec, version: int, header_version: int | None = None, mutant: Mutant = mutant
            ) -> type[WireMessage]:
                message = resolve(spec, version, header_version)
                if (spec.name, version) == (mutant.message, mutant.version):
                    mutant.apply(message)
                return message

            patch.setattr(headers, "resolve", mutated)
            one = folder / f"specs_{number}"
            copy_specs(of_api(mutant.message), one)
            package = folder / f"mutant_{number}"
            write_package(one, package)
        if first_failure(vectors, package, (mutant.message, mutant.version), monkeypatch) is None:
            survivors.append(mutant)
    return survivors


def test_mutants_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = write_vectors(FEW, tmp_path)
    assert check(vectors, mutants(1, 2, FEW), tmp_path, monkeypatch) == []


@pytest.mark.night
def test_all_fifty_mutants_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = mutants(0, 50)
    assert len(set(chosen)) == 50
    assert {mutant.kind for mutant in chosen} == set(KINDS)
    vectors = write_vectors(MESSAGES, tmp_path)
    assert check(vectors, chosen, tmp_path, monkeypatch) == []


def test_a_package_without_a_mistake_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = write_vectors(FEW, tmp_path)
    write_package(tmp_path / "specs", tmp_path / "no_mutant")
    assert first_failure(vectors, tmp_path / "no_mutant", ("ApiVersionsResponse", 4), monkeypatch) is None
