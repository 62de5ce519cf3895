"""Vectors: made again they are the same, the schema describes them, and no field of any version lacks a case."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import ModuleType

import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner

import kafka_messages
import kipwire
from kipgen.commands.app import app
from kipgen.commands.vectors.classes import classes_of
from kipgen.reading.check import read_file, read_folder
from kipgen.resources import kafka_spec, vector_schema_path
from kipwire.conformance import kafka
from kipwire.conformance.coverage import COLUMNS, Coverage
from kipwire.conformance.deriving import derive
from kipwire.conformance.field_values import batch_for
from kipwire.conformance.frames import derive_frames
from kipwire.conformance.vectors import COVERAGE, INDEX, KINDS, Vector, VectorError, read_index, read_vectors
from kipwire.conformance.writing import write
from kipwire.drafts import proposals
from kipwire.model.structs import Field, Struct
from tests.support import golden_data
from tests.support.cases import of_each
from tests.support.places import DATA, LAYOUTS, ROOT
from tests.support.places import FORMS as FORM_SPECS

FORMS = ("Nullables", "Primitives", "Sequences", "TaggedDefaults", "TaggedPrimitives")
"""Specs that have every type and every kind of vector between them, and take a second."""
SOME = ("FetchRequest", "MetadataResponse", "ConsumerGroupHeartbeatResponse", "StopReplicaRequest")
"""Messages with tags of other versions, nullable structs, lists of everything; one of a removed API."""
LINES = [line for origin in golden_data.ORIGINS for line in golden_data.lines(origin)]


def vectors_of(name: str) -> Iterator[Vector]:
    for version in kafka_messages.versions(name):
        yield from derive(kafka_messages.message(name, version))


def run(*words: object) -> str:
    result = CliRunner().invoke(app, ["vectors", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of vectors of a protocol that is not Kafka's, and beside it the specs."""
    folder = tmp_path_factory.mktemp("vectors")
    (folder / "specs").mkdir()
    for name in FORMS:
        shutil.copy(DATA / "forms" / f"{name}.json", folder / "specs")
    run(folder / "specs", "--out", folder / "forms")
    return folder / "forms"


@of_each("line", LINES, together=lambda line: str(line["message"]), label=lambda line: str(line["version"]))
def test_the_plain_writer_writes_what_java_writes(line: dict[str, object]) -> None:
    cls = kafka_messages.message(str(line["message"]), int(str(line["version"])))
    assert write(golden_data.message_of(cls, line)) == bytes.fromhex(str(line["hex"]))


@pytest.mark.parametrize("name", SOME)
def test_classes_straight_from_specs_give_the_vectors_of_generated_ones(name: str) -> None:
    file = kafka_spec(name)
    assert file is not None
    spec = read_file(file).spec
    assert spec is not None
    assert [vector for cls in classes_of(spec) for vector in derive(cls)] == list(vectors_of(name))


ARGUMENTS = [name for name in Field.__slots__ if name not in ("owner", "struct", "_compact")] + ["compact"]


def all_facts(cls: type[Struct]) -> Iterator[str]:
    """Yield the facts of a class, of each of its fields, and of the structs in them."""
    yield from (f"class {cls.__name__}", f"flexible {cls.FLEXIBLE}", f"other tags {sorted(cls.OTHER_TAGS)}")
    for field in cls.FIELDS:
        # As texts, so that NaN is equal to itself, and 0 is not False.
        yield from (f"{name} {getattr(field, name)!r}" for name in ARGUMENTS)
        if field.struct is not None:
            yield from all_facts(field.struct)


def test_classes_straight_from_specs_have_the_fields_of_generated_ones(
    layouts_package: ModuleType, forms_package: ModuleType
) -> None:
    packages = {LAYOUTS: layouts_package, FORM_SPECS: forms_package, ROOT / "schemas/proposals": proposals}
    seen: set[str] = set()
    for specs, package in packages.items():
        for checked in read_folder(specs)[0]:
            assert checked.spec is not None
            for cls in classes_of(checked.spec):
                facts = list(all_facts(cls))
                assert facts == list(all_facts(package.message(cls.NAME, cls.VERSION)))
                seen.update(facts)
    values = Counter(fact.split()[0] for fact in seen)
    assert [name for name in ARGUMENTS if values[name] < 2] == [], "no spec here gives the argument"


@pytest.mark.parametrize("name", SOME)
def test_vectors_are_what_the_classes_make_of_their_bytes(name: str) -> None:
    for vector in vectors_of(name):
        cls = kafka_messages.message(name, vector.version)
        if vector.kind in ("valid", "unknown_tags"):
            message = cls.decode(vector.data)
            assert json.dumps(message.to_json()) == json.dumps(vector.json)
            assert message.encode() == vector.written
        else:
            with pytest.raises(kipwire.DecodeError):
                cls.decode(vector.data)


def test_frames_are_what_the_registry_makes_of_their_bytes() -> None:
    registry = kafka_messages.REGISTRY
    for entry in registry.entries():
        if entry.type not in ("request", "response"):
            continue
        cls = registry.message(entry.name, entry.highest)
        find = registry.request if entry.type == "request" else registry.response
        if find(entry.api_key or 0, entry.highest) is not cls:  # of two names of one API a frame has the other's class
            continue
        of_type = "RequestHeader" if entry.type == "request" else "ResponseHeader"
        valid, full, *cut = derive_frames(registry.header_class(of_type, cls), cls)
        for vector in (valid, full, *cut):
            frame = vector.data[4:]
            assert len(frame) == int.from_bytes(vector.data[:4])

            def read(frame: bytes = frame, cls: type[kipwire.Message] = cls) -> tuple[kipwire.Message, kipwire.Message]:
                return (
                    registry.decode_request(frame)
                    if cls.TYPE == "request"
                    else registry.decode_response(frame, cls.API_KEY, cls.VERSION)
                )

            if vector.kind == "refuse":
                with pytest.raises(kipwire.DecodeError):
                    read()
                continue
            header, body = read()
            assert json.dumps({"header": header.to_json(), "body": body.to_json()}) == json.dumps(vector.json)
            assert header.encode() + body.encode() == frame


@pytest.mark.night
def test_no_field_of_any_version_lacks_a_case() -> None:
    coverage = Coverage()
    for name in kafka_messages.names():
        for version in kafka_messages.versions(name):
            cls = kafka_messages.message(name, version)
            assert list(coverage.count(derive(cls)))
            assert coverage.gaps(cls) == []
    assert sum(coverage.kinds().values()) > 75_000


@pytest.mark.parametrize(
    "files", ["forms/[!CE]*.json", "layouts/*.json", pytest.param("forms/[CE]*.json", marks=pytest.mark.night)]
)
def test_no_field_of_specs_with_every_property_lacks_a_case(files: str) -> None:
    coverage, found = Coverage(), sorted(DATA.glob(files))
    assert len(found) >= 8
    for file in found:
        spec = read_file(file).spec
        assert spec is not None
        for cls in classes_of(spec):
            assert list(coverage.count(derive(cls)))
            assert coverage.gaps(cls) == []


def test_a_gap_is_found() -> None:
    cls, coverage = kafka_messages.message("HeartbeatRequest", 4), Coverage()
    kept = [one for one in derive(cls) if (one.field, one.case) != ("memberId", "huge")]
    assert list(coverage.count(kept)) == kept
    assert coverage.gaps(cls) == ["HeartbeatRequest v4: memberId has no vector 'huge' (refuse)"]


def test_the_table_counts_what_the_files_have(forms: Path) -> None:
    rows = list(csv.DictReader(StringIO((forms / COVERAGE).read_text())))
    assert tuple(rows[0]) == COLUMNS
    vectors = list(read_vectors(forms))
    assert sum(int(row["vectors"]) for row in rows) == len(vectors)
    assert {row["kind"] for row in rows} == set(KINDS)
    assert len({vector.id for vector in vectors}) == len(vectors)


def test_every_vector_is_as_the_schema_says(forms: Path) -> None:
    check = jsonschema.Draft202012Validator(json.loads(vector_schema_path().read_text()))
    lines = [line for file in forms.glob("*.jsonl") for line in file.read_text().splitlines()[:60]]
    lines += [next(iter(some)).line() for some in (kafka.frames(), kafka.batches(), kafka.encodings())]
    lines += [one.line() for one in kafka.golden("ApiVersionsRequest")]
    for line in lines:
        assert not list(check.iter_errors(json.loads(line))), line
    assert list(check.iter_errors({**json.loads(lines[0]), "bytes": "0"}))


def test_vectors_of_a_seed_are_the_same_again(forms: Path, tmp_path: Path) -> None:
    run(forms.parent / "specs", "--out", tmp_path / "again")
    files = sorted(file.name for file in forms.iterdir())
    assert files == sorted(file.name for file in (tmp_path / "again").iterdir())
    assert all((forms / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in files)


def test_another_seed_changes_the_random_messages_alone() -> None:
    cls = kafka_messages.message("FetchRequest", 13)
    pairs = list(zip(derive(cls, 0), derive(cls, 1), strict=True))
    assert all(one == other for one, other in pairs if not one.case.startswith("random"))
    assert any(one.data != other.data for one, other in pairs if one.case.startswith("random"))


def test_lines_come_back_as_vectors(forms: Path) -> None:
    vectors = [*read_vectors(forms), *kafka.golden("FetchRequest"), *kafka.encodings(), *kafka.batches()]
    assert len(vectors) > 5_000
    again = [Vector.of_line(one.line(), "here") for one in vectors]
    assert [one.line() for one in again] == [one.line() for one in vectors]


def test_specs_with_mistakes_give_no_vectors(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "A.json").write_text('{"name": "A", "type": "data"}')
    result = CliRunner().invoke(app, ["vectors", str(tmp_path / "specs"), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("precious")
    result = CliRunner().invoke(app, ["vectors", str(DATA / "forms"), "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not a folder of vectors" in result.output
    assert (tmp_path / "mine.jsonl").read_text() == "precious"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nonsense", "is not a vector"),
        ("[]", "is not a vector"),
        ("{}", "the key 'id' is missing"),
        ('{"id": 1}', "is not text"),
        ("[" * 100_000, "is not a vector"),
    ],
)
def test_lines_that_are_no_vectors_are_refused_with_their_place(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / INDEX).write_text('{"format": 1, "seed": 0, "specs": "x", "messages": {}}')
    (tmp_path / "A.jsonl").write_text(f"{line}\n")
    assert read_index(tmp_path).specs == "x"
    with pytest.raises(VectorError, match=r"A\.jsonl:1: ") as caught:
        list(read_vectors(tmp_path))
    assert says in str(caught.value)


def test_what_is_shipped_of_javas_batches_is_all_but_the_longest() -> None:
    with gzip.open(ROOT / "runtime" / "kipwire" / "conformance" / "record-batches.jsonl.gz", "rt") as lines:
        shipped = [json.loads(line) for line in lines]
    assert shipped == [line for line in golden_data.lines("record-batches") if len(line["hex"]) < 8000]
    codecs = {(line["magic"], word) for line in shipped for word in line["label"].replace("/", " ").split()[:1]}
    assert codecs >= {(magic, codec) for magic in (0, 1, 2) for codec in ("none", "gzip", "snappy", "lz4")}
    assert (2, "zstd") in codecs


def test_batches_of_fields_have_the_format_of_the_version() -> None:
    found = [batch_for("ProduceRequest", version)[16] for version in (0, 1, 2, 3, 9)]
    assert found == [0, 0, 1, 2, 2]


def test_messages_of_very_many_structs_are_refused_at_once(tmp_path: Path) -> None:
    """Thirty structs, each with two fields of the next: a message with all of them has a billion."""
    fields: list[dict[str, object]] = [{"name": "Leaf", "type": "int8", "versions": "0+"}]
    structs = []
    for number in range(30, 0, -1):
        name = f"Level{number}"
        structs.append({"name": name, "versions": "0+", "fields": fields})
        fields = [{"name": one, "type": name, "versions": "0+"} for one in ("Left", "Right")]
    spec = {"type": "data", "name": "Deep", "validVersions": "0", "flexibleVersions": "none", "about": "Deep."}
    (tmp_path / "specs").mkdir()
    text = json.dumps({**spec, "fields": fields, "commonStructs": structs})
    (tmp_path / "specs" / "Deep.json").write_text(text)
    result = CliRunner().invoke(app, ["vectors", str(tmp_path / "specs"), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2, result.output
    assert "structs; there are vectors for up to 10,000" in result.output
