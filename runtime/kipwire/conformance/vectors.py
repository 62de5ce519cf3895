"""Vectors, and how they are kept: JSON lines in a folder, a file for each message, with an index.

A vector is a question and its answer, independent of kipwire: programs in other languages read the lines, and
schemas/vector.schema.json describes them. A key without content is left out, and reading checks every value, since a
folder may come from elsewhere. The index has what a reader of the JSON form needs besides: which tagged fields are left
out at which default.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from kipwire.tools.files import need_file, read_regular
from kipwire.tools.text import json_words

Kind = Literal["valid", "refuse", "may_refuse", "unknown_tags"]
Level = Literal["required", "recommended"]
VectorForm = Literal["message", "frame", "records", "encoding"]

KINDS: tuple[Kind, ...] = ("valid", "unknown_tags", "refuse", "may_refuse")
LEVELS: tuple[Level, ...] = ("required", "recommended")
VECTOR_FORMS: tuple[VectorForm, ...] = ("message", "frame", "records", "encoding")
INDEX = "index.json"
COVERAGE = "coverage.csv"
_UNFINISHED = "unfinished"
"""Format of the index while files are replaced."""
_PLURALS = {"frame": "frames", "records": "record-batches", "encoding": "encodings"}
_LONGEST_INDEX = 2**26
"""Bytes."""
SPEC = "spec"
"""The origin of what is derived from a spec."""


class VectorError(ValueError):
    """A folder of vectors that cannot be read; the text names the place."""


@dataclass(frozen=True, slots=True)
class Vector:
    """Bytes, and what a reader must make of them."""

    id: str
    """Unique, and the same whenever vectors are made again."""
    message: str
    version: int
    form: VectorForm
    """Form of the bytes: a message without header; a frame with its size; record batches, whose version is the magic;
    a number in an encoding of KIP-625, which is the message."""
    kind: Kind
    level: Level
    origin: str
    """`SPEC`, or the release of Java that made the bytes."""
    field: str
    """The field that it is about, by JSON names, such as `topics.name`; "" for the message."""
    case: str
    """The tested case, in a word or two."""
    data: bytes
    json: Any = None
    """The JSON form; None where the bytes must be refused, and where Java's is not what they say."""
    unknown: tuple[Mapping[str, Any], ...] = ()
    """The unknown tagged fields: `path` as a JSON pointer to their struct, `tag`, `hex`."""
    encodes: bytes | None = None
    """The bytes of the JSON form, where a writer writes others than these; None where they are the same."""
    why: str = ""
    """Reason why the bytes must or may be refused."""
    is_canonical: bool = True
    """True if a writer gives the same bytes; not for compressed records, where they depend on the library."""

    @property
    def written(self) -> bytes:
        """The bytes that a writer must give for the JSON form."""
        return self.data if self.encodes is None else self.encodes

    def line(self) -> str:
        """Write the vector as a line of JSON."""
        result: dict[str, Any] = {"id": self.id, "message": self.message, "version": self.version}
        if self.form != "message":
            result["form"] = self.form
        result |= {"kind": self.kind, "level": self.level, "origin": self.origin}
        result |= {"field": self.field, "case": self.case, "bytes": self.data.hex()}
        if self.json is not None:
            result["json"] = self.json
        if self.unknown:
            result["unknown"] = list(self.unknown)
        if self.encodes is not None:
            result["encodes"] = self.encodes.hex()
        if not self.is_canonical:
            result["canonical"] = False
        if self.why:
            result["why"] = self.why
        return json.dumps(result, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def of_line(cls, text: str, place: str) -> Vector:
        """Parse the vector that a line describes.

        Raises:
            VectorError: it does not describe one.
        """
        try:
            value = _object(json.loads(text))
            encodes = value.get("encodes")
            vector = cls(
                id=_text(value["id"]),
                message=_text(value["message"]),
                version=_whole(value["version"]),
                form=_one_of(value.get("form", "message"), VECTOR_FORMS),
                kind=_one_of(value["kind"], KINDS),
                level=_one_of(value["level"], LEVELS),
                origin=_text(value["origin"]),
                field=_text(value["field"]),
                case=_text(value["case"]),
                data=_bytes(value["bytes"]),
                json=value.get("json"),
                unknown=tuple(map(_object, _list(value.get("unknown", [])))),
                encodes=None if encodes is None else _bytes(encodes),
                why=_text(value.get("why", "")),
                is_canonical=bool(value.get("canonical", True)),
            )
        except KeyError as error:
            raise VectorError(f"{place}: the key {error} is missing; see kipgen vectors --schema") from None
        except (ValueError, RecursionError) as error:
            raise VectorError(f"{place}: is not a vector: {error}; see kipgen vectors --schema") from None
        if vector.kind in ("valid", "unknown_tags") and vector.json is None:
            raise VectorError(f"{place}: the key 'json' is missing; only invalid vectors omit it")
        return vector


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{json_words(value)} is not text")
    return value


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{json_words(value)} is not a whole number")
    return value


def _bytes(value: object) -> bytes:
    try:
        return bytes.fromhex(_text(value))
    except ValueError:
        raise ValueError(f"{json_words(value)} is not hex text") from None


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{json_words(value)} is not an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{json_words(value)} is not a list")
    return value


def _one_of(value: object, known: tuple[Any, ...]) -> Any:
    if value not in known:
        raise ValueError(f"{json_words(value)} must be one of {', '.join(known)}")
    return value


TaggedDefaults = Mapping[str, Any]
"""The tagged fields of a message in one version by their path in JSON names, with the defaults at which the JSON form
leaves them out."""


@dataclass(frozen=True, slots=True)
class Index:
    """Facts about all vectors of a folder."""

    seed: int
    specs: str
    """Origin of the specs: `Kafka 4.4`, or the name of a folder of specs."""
    messages: Mapping[str, Mapping[int, TaggedDefaults]]

    def tagged(self, message: str, version: int) -> TaggedDefaults:
        """Return the tagged fields with their defaults; none for what is not in the index."""
        return self.messages.get(message, {}).get(version, {})

    def text(self) -> str:
        """Write the index as JSON."""
        return json.dumps(
            {
                "format": 1,
                "seed": self.seed,
                "specs": self.specs,
                "messages": {
                    name: {str(version): dict(tagged) for version, tagged in versions.items()}
                    for name, versions in self.messages.items()
                },
            },
            indent=1,
            ensure_ascii=False,
        )

    @classmethod
    def of_text(cls, text: str, place: str) -> Index:
        """Parse the index that a text describes.

        Raises:
            VectorError: it is not one.
        """
        try:
            value = _object(json.loads(text))
            if value["format"] == _UNFINISHED:
                raise VectorError(
                    f"{place}: kipgen vectors was interrupted while it replaced these files; run it again"
                )
            if value["format"] != 1:
                raise VectorError(f"{place}: has the format {json_words(value['format'])}; this release reads format 1")
            messages = {
                name: {int(version): _object(tagged) for version, tagged in _object(versions).items()}
                for name, versions in _object(value["messages"]).items()
            }
            return cls(_whole(value["seed"]), _text(value["specs"]), messages)
        except VectorError:
            raise
        except KeyError as error:
            raise VectorError(f"{place}: is not the index of a folder of vectors: the key {error} is missing") from None
        except (ValueError, RecursionError) as error:
            raise VectorError(f"{place}: is not the index of a folder of vectors: {error}") from None


def read_index(folder: Path) -> Index:
    """Read the index of a folder of vectors.

    Raises:
        VectorError: there is none, or it is not one.
        OSError: it cannot be read.
    """
    file = folder / INDEX
    if not file.exists():
        raise VectorError(f"{folder} has no {INDEX}; give a folder written by kipgen vectors")
    try:
        return Index.of_text(read_regular(file, _LONGEST_INDEX).decode(), str(file))
    except UnicodeDecodeError as error:
        raise VectorError(f"{file}: is not UTF-8: {error.reason}") from None


def read_vectors(folder: Path) -> Iterator[Vector]:
    """Read the vectors of a folder, file by file in the order of their names.

    Raises:
        VectorError: a line is not a vector.
        OSError: a file cannot be read.
    """
    for file in sorted(folder.glob("*.jsonl")):
        need_file(file)
        with file.open(encoding="utf-8") as lines:
            try:
                for number, line in enumerate(lines, 1):
                    yield Vector.of_line(line, f"{file}:{number}")
            except UnicodeDecodeError as error:
                raise VectorError(f"{file}: is not UTF-8: {error.reason}") from None


def file_of(vector: Vector) -> str:
    """Name the file that a vector belongs to."""
    return f"{_PLURALS.get(vector.form, vector.message)}.jsonl"


def unfinished_index(files: Iterable[str]) -> str:
    """Write the index of a folder in which these files are being replaced: it is no index, and has their names."""
    return json.dumps({"format": _UNFINISHED, "files": sorted(files)})


def files_of(folder: Path) -> frozenset[str]:
    """Name the files that `kipgen vectors` may have written to a folder; other files are the user's.

    Raises:
        VectorError: there is no index, or it is not one.
        OSError: it cannot be read.
    """
    file = folder / INDEX
    with suppress(ValueError, RecursionError):
        value = json.loads(read_regular(file, _LONGEST_INDEX))
        if isinstance(value, dict) and value.get("format") == _UNFINISHED:
            return frozenset(name for name in map(_text, _list(value.get("files"))) if Path(name).name == name)
    messages = read_index(folder).messages
    return frozenset(f"{name}.jsonl" for name in (*messages, *_PLURALS.values())) | {INDEX, COVERAGE}


def text_of(vectors: Iterable[Vector]) -> str:
    """Vectors as the text of a file."""
    return "".join(f"{one.line()}\n" for one in vectors)


def without_defaults(value: Any, tagged: TaggedDefaults, path: str = "") -> Any:
    """Remove the tagged fields that are at their defaults from a JSON form, as Java's converters leave them out."""
    if not tagged:
        return value
    if isinstance(value, list):
        return [without_defaults(one, tagged, path) for one in value]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, one in cast("dict[str, Any]", value).items():
        inner = f"{path}.{key}" if path else key
        one = without_defaults(one, tagged, inner)
        if inner not in tagged or not same_json(one, tagged[inner]):
            result[key] = one
    return result


def same_json(one: Any, other: Any) -> bool:
    """True if two JSON values are the same: numbers by their value, so that 1 is 1.0, but true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)
