"""Changes of specs, and the findings about them.

The text of a spec may begin with its path, as in `// schemas/core/Probe.json`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import Revisions
from kipgen.reading.rules.examples import ALPHA, file_name, spec

if TYPE_CHECKING:
    from kipgen.commands.compat.model import Finding


def write_revisions(folder: Path, revisions: Revisions) -> tuple[Path, Path]:
    sides = folder / "old", folder / "new"
    for side, texts in zip(sides, (revisions.old, revisions.new), strict=True):
        side.mkdir(parents=True)
        for number, text in enumerate(texts):
            path = text.partition("\n")[0][3:] if text.startswith("// schemas/") else file_name(text, str(number))
            (side / path).parent.mkdir(parents=True, exist_ok=True)
            (side / path).write_text(text, encoding="utf-8")
    return sides


def commit_all(folder: Path) -> None:
    """Commit all that is in a folder, which becomes a repository if it is none."""
    who = ("-c", "user.name=Probe", "-c", "user.email=probe@example.org", "-c", "commit.gpgsign=false")
    commit = ("commit", "--quiet", "--message=Change")
    for arguments in (("init", "--quiet", "--initial-branch=main"), ("add", "."), commit):
        subprocess.run(["git", "-C", folder, *who, *arguments], capture_output=True, check=True)


def package_of(file: str) -> str:
    """Name the package of a file in `schemas/`."""
    return file.partition("/schemas/")[2].partition("/")[0]


VERSIONS = spec(name="ApiVersionsResponse", type_="response", more='"apiKey": 18')
"""The answer by which peers agree on versions."""


def compare_texts(folder: Path, old: str, new: str, *more: str) -> tuple[Finding, ...]:
    """Compare two revisions of a spec, in packages that have more specs, which stay as they are."""
    return compare_paths(*write_revisions(folder, Revisions((old, *more), (new, *more)))).findings


def plain_field(name: str, type_: str, versions: str = "0+", more: str = "") -> str:
    return f'{{"name": "{name}", "type": "{type_}", "versions": "{versions}"{more}}}'


def tagged_field(name: str, tag: int, type_: str = "int32", more: str = "") -> str:
    return plain_field(name, type_, "2+", f', "taggedVersions": "2+", "tag": {tag}{more}')


def struct_field(name: str, type_: str, *fields: str, versions: str = "0+", more: str = "") -> str:
    inner = ", ".join(fields)
    return f'{{"name": "{name}", "type": "{type_}", "versions": "{versions}"{more}, "fields": [{inner}]}}'


# The table of verdicts, with changes that Kafka's own checker does not check, or gets wrong

BETA, INNER = plain_field("Beta", "int32"), struct_field("Alpha", "[]Inner", plain_field("Leaf", "int32"))
_NULL_STRUCT = (
    '{"name": "Beta", "type": "Beta", "versions": "0+", "nullableVersions": "0+",'
    ' "fields": [{"name": "Gamma", "type": "int8", "versions": "0+"}]}'
)
_WITHOUT_BYTES = struct_field("Beta", "Empty")
_BITS = ', "bits": [{"name": "Kind", "bits": "0-2"}, {"name": "IsLast", "bits": "7"}]'
REFUSED, CODE, WARNED, FINE = "wire", "source", "notice", None
VERDICTS: dict[str, tuple[str | None, str, str]] = {
    "identical, with an inline struct": (FINE, spec(INNER), spec(INNER)),
    "nullability dropped in released versions": (
        REFUSED,
        spec(plain_field("Alpha", "string", more=', "nullableVersions": "0+"')),
        spec(plain_field("Alpha", "string", more=', "nullableVersions": "0-2"')),
    ),
    "nullability added in a new version": (
        WARNED,
        spec(plain_field("Alpha", "string")),
        spec(plain_field("Alpha", "string", more=', "nullableVersions": "4+"'), valid="0-4"),
    ),
    "tagged field added to released flexible versions": (
        FINE,
        spec(),
        spec(ALPHA, tagged_field("Beta", 0, more=', "ignorable": true')),
    ),
    "tagged field that is not ignorable where inflexible versions lack it": (
        WARNED,
        spec(),
        spec(ALPHA, tagged_field("Beta", 0)),
    ),
    "tagged field that is not ignorable where all versions have it": (
        FINE,
        spec(valid="2-3"),
        spec(ALPHA, tagged_field("Beta", 0), valid="2-3"),
    ),
    "tagged field removed, tag reserved": (
        WARNED,
        spec(ALPHA, tagged_field("Beta", 0)),
        spec(more='"reservedTags": [0]'),
    ),
    "tagged field removed, tag not reserved": (REFUSED, spec(ALPHA, tagged_field("Beta", 0)), spec()),
    "tag reused by a rename of the same type": (REFUSED, spec(tagged_field("Alpha", 0)), spec(tagged_field("Beta", 0))),
    "two tags swapped": (
        REFUSED,
        spec(tagged_field("Alpha", 0), tagged_field("Beta", 1)),
        spec(tagged_field("Alpha", 1), tagged_field("Beta", 0)),
    ),
    "tagged to positional in the same versions": (
        REFUSED,
        spec(tagged_field("Alpha", 0)),
        spec(plain_field("Alpha", "int32", "2+"), more='"reservedTags": [0]'),
    ),
    "positional to tagged in the same versions": (
        REFUSED,
        spec(plain_field("Alpha", "int32", "2+")),
        spec(tagged_field("Alpha", 0)),
    ),
    "tagged field's type change": (REFUSED, spec(tagged_field("Alpha", 0)), spec(tagged_field("Alpha", 0, "int64"))),
    "tagged field's nullability change": (
        REFUSED,
        spec(tagged_field("Alpha", 0, "string")),
        spec(tagged_field("Alpha", 0, "string", ', "nullableVersions": "2+"')),
    ),
    "released inflexible version made flexible": (REFUSED, spec(flexible="3+"), spec(flexible="2+")),
    "flexible made inflexible": (REFUSED, spec(flexible="2+"), spec(flexible="3+")),
    "plain field put into a released version": (REFUSED, spec(), spec(ALPHA, BETA)),
    "plain field taken out of a released version": (REFUSED, spec(ALPHA, BETA), spec()),
    "plain field taken out of some released versions": (
        REFUSED,
        spec(ALPHA, BETA),
        spec(ALPHA, plain_field("Beta", "int32", "0-2")),
    ),
    "default of a plain field changed": (CODE, spec(), spec(plain_field("Alpha", "int32", more=', "default": "1"'))),
    "default of a tagged field changed": (
        REFUSED,
        spec(tagged_field("Alpha", 0)),
        spec(tagged_field("Alpha", 0, more=', "default": "1"')),
    ),
    "default written in another way": (FINE, spec(), spec(plain_field("Alpha", "int32", more=', "default": "0"'))),
    "type change": (REFUSED, spec(), spec(plain_field("Alpha", "uint32"))),
    "highest version lowered": (REFUSED, spec(), spec(valid="0-2")),
    "lowest version lowered": (REFUSED, spec(valid="1-3"), spec(valid="0-3")),
    "field ends after the old highest version": (
        WARNED,
        spec(ALPHA, BETA),
        spec(ALPHA, plain_field("Beta", "int32", "0-3"), valid="0-4"),
    ),
    "new plain field in a new version": (WARNED, spec(), spec(ALPHA, plain_field("Beta", "int32", "4+"), valid="0-4")),
    "lowest version raised": (WARNED, spec(), spec(valid="1-3")),
    "rename": (WARNED, spec(), spec(BETA)),
    "same-type reorder": (REFUSED, spec(ALPHA, BETA), spec(BETA, ALPHA)),
    "struct renamed in inflexible versions": (
        CODE,
        spec(INNER, flexible="none"),
        spec(INNER.replace("Inner", "Other"), flexible="none"),
    ),
    "struct renamed in flexible versions": (CODE, spec(INNER), spec(INNER.replace("Inner", "Other"))),
    "array of int32 to array of structs with one, inflexible": (
        CODE,
        spec(plain_field("Alpha", "[]int32"), flexible="none"),
        spec(INNER, flexible="none"),
    ),
    "array of int32 to array of structs with one, flexible": (
        REFUSED,
        spec(plain_field("Alpha", "[]int32")),
        spec(INNER),
    ),
    "ignorable": (
        WARNED,
        spec(plain_field("Alpha", "int32", "1+")),
        spec(plain_field("Alpha", "int32", "1+", ', "ignorable": true')),
    ),
    "mapKey": (
        WARNED,
        spec(INNER),
        spec(struct_field("Alpha", "[]Inner", plain_field("Leaf", "int32", more=', "mapKey": true'))),
    ),
    "entityType": (
        WARNED,
        spec(plain_field("Alpha", "string")),
        spec(plain_field("Alpha", "string", more=', "entityType": "topicName"')),
    ),
    "about": (FINE, spec(), spec(plain_field("Alpha", "int32", more=', "about": "A letter."'))),
    # Changes in which names, places and forms could be mixed up
    "array of structs spread out, inflexible": (
        CODE,
        spec(
            struct_field("Alpha", "Inner", plain_field("Leaf", "int32"), plain_field("Twig", "int8")), flexible="none"
        ),
        spec(plain_field("Leaf", "int32"), plain_field("Twig", "int8"), flexible="none"),
    ),
    "integer widened with its old encoding": (
        CODE,
        spec(valid="0-1"),
        spec(
            plain_field("Alpha", "int64", more=', "encoding": {"0-1": "fixed32", "2+": "fixed64"}'),
            valid="0-2",
        ),
    ),
    "encoding changed in a released version": (
        REFUSED,
        spec(plain_field("Alpha", "int32", more=', "encoding": "packed32"')),
        spec(plain_field("Alpha", "int32", more=', "encoding": "upacked32"')),
    ),
    "element encoding added": (
        REFUSED,
        spec(plain_field("Alpha", "[]int32")),
        spec(plain_field("Alpha", "[]int32", more=', "elementEncoding": "packed32"')),
    ),
    "records to bytes": (CODE, spec(plain_field("Alpha", "records")), spec(plain_field("Alpha", "bytes"))),
    "string to bytes": (REFUSED, spec(plain_field("Alpha", "string")), spec(plain_field("Alpha", "bytes"))),
    "tag valid in more released versions": (
        REFUSED,
        spec(plain_field("Alpha", "int32", "3+", ', "taggedVersions": "3+", "tag": 0')),
        spec(tagged_field("Alpha", 0)),
    ),
    "tag of a version that was never released": (
        FINE,
        spec(ALPHA, plain_field("Beta", "int32", "9+", ', "taggedVersions": "9+", "tag": 0')),
        spec(),
    ),
    "tag of a version that was never released, used by another field": (
        REFUSED,
        spec(ALPHA, plain_field("Beta", "int32", "9+", ', "taggedVersions": "9+", "tag": 0')),
        spec(ALPHA, tagged_field("Gamma", 0)),
    ),
    "tagged field made plain in a new version, tag not reserved": (
        REFUSED,
        spec(ALPHA, tagged_field("Beta", 0)),
        spec(ALPHA, plain_field("Beta", "int32", "4+"), valid="0-4"),
    ),
    "tagged field made plain in a new version, tag reserved": (
        WARNED,
        spec(ALPHA, tagged_field("Beta", 0)),
        spec(ALPHA, plain_field("Beta", "int32", "4+"), valid="0-4", more='"reservedTags": [0]'),
    ),
    "reserved tag used again": (
        REFUSED,
        spec(ALPHA, more='"reservedTags": [0]'),
        spec(ALPHA, tagged_field("Beta", 0)),
    ),
    "reserved tag no longer reserved": (REFUSED, spec(more='"reservedTags": [0]'), spec()),
    "tag in a struct forgotten": (
        REFUSED,
        spec(struct_field("Alpha", "[]Inner", plain_field("Leaf", "int32"), tagged_field("Twig", 0))),
        spec(INNER),
    ),
    "tag in a struct reserved": (
        WARNED,
        spec(struct_field("Alpha", "[]Inner", plain_field("Leaf", "int32"), tagged_field("Twig", 0))),
        spec(struct_field("Alpha", "[]Inner", plain_field("Leaf", "int32"), more=', "reservedTags": [0]')),
    ),
    "old versions described, not served": (
        WARNED,
        spec(ALPHA, valid="2-3"),
        spec(ALPHA, plain_field("Beta", "int32", "0-1"), valid="0-3", more='"servedVersions": "2+"'),
    ),
    "old versions served again": (REFUSED, spec(valid="2-3"), spec(valid="0-3", more='"servedVersions": "1+"')),
    "versions no longer served": (WARNED, spec(valid="0-3"), spec(valid="0-3", more='"servedVersions": "none"')),
    "all versions served in other words": (FINE, spec(valid="0-3"), spec(valid="0-3", more='"servedVersions": "0-3"')),
    "apiKey of data, which nobody writes": (FINE, spec(), spec(more='"apiKey": 3')),
    "struct without bytes added": (FINE, spec(flexible="none"), spec(ALPHA, _WITHOUT_BYTES, flexible="none")),
    "struct without bytes removed": (CODE, spec(ALPHA, _WITHOUT_BYTES, flexible="none"), spec(flexible="none")),
    "struct without bytes moved": (
        FINE,
        spec(ALPHA, _WITHOUT_BYTES, flexible="none"),
        spec(_WITHOUT_BYTES, ALPHA, flexible="none"),
    ),
    "struct that may be null put into a struct": (
        CODE,
        spec(_NULL_STRUCT, flexible="none"),
        spec(f'{{"name": "Around", "type": "Around", "versions": "0+", "fields": [{_NULL_STRUCT}]}}', flexible="none"),
    ),
    "struct with a tag section added": (REFUSED, spec(flexible="3+"), spec(ALPHA, _WITHOUT_BYTES, flexible="3+")),
    "sign of an integer with named bits": (
        FINE,
        spec(plain_field("Alpha", "int16", more=_BITS), type_="layout", flexible="none"),
        spec(plain_field("Alpha", "uint16", more=_BITS), type_="layout", flexible="none"),
    ),
    "width of an integer with named bits": (
        REFUSED,
        spec(plain_field("Alpha", "int16", more=_BITS), type_="layout", flexible="none"),
        spec(plain_field("Alpha", "int8", more=_BITS), type_="layout", flexible="none"),
    ),
    "tag of another type than the plain field before": (
        FINE,
        spec(ALPHA),
        spec(ALPHA, tagged_field("Beta", 0, "string", ', "ignorable": true')),
    ),
}
