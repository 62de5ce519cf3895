"""Changes of specs, and what is said about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import Revisions
from kipgen.reading.rules.examples import ALPHA, spec

if TYPE_CHECKING:
    from kipgen.commands.compat.finding import Finding


def _write(folder: Path, revisions: Revisions) -> tuple[Path, Path]:
    sides = folder / "old", folder / "new"
    for side, texts in zip(sides, (revisions.old, revisions.new), strict=True):
        side.mkdir(parents=True)
        for number, text in enumerate(texts):
            (side / f"{number}.json").write_text(text, encoding="utf-8")
    return sides


def _compare(folder: Path, old: str, new: str) -> tuple[Finding, ...]:
    return compare_paths(*_write(folder, Revisions((old,), (new,)))).findings


def _field(name: str, type_: str, versions: str = "0+", more: str = "") -> str:
    return f'{{"name": "{name}", "type": "{type_}", "versions": "{versions}"{more}}}'


def _tagged(name: str, tag: int, type_: str = "int32", more: str = "") -> str:
    return _field(name, type_, "2+", f', "taggedVersions": "2+", "tag": {tag}{more}')


def _struct(name: str, type_: str, *fields: str, versions: str = "0+", more: str = "") -> str:
    inner = ", ".join(fields)
    return f'{{"name": "{name}", "type": "{type_}", "versions": "{versions}"{more}, "fields": [{inner}]}}'


# The table of verdicts: what Kafka's own checker does not look at, or gets wrong, is among it

_BETA, _INNER = _field("Beta", "int32"), _struct("Alpha", "[]Inner", _field("Leaf", "int32"))
_REFUSED, _CODE, _WARNED, _FINE = "wire", "source", "notice", None
_VERDICTS: dict[str, tuple[str | None, str, str]] = {
    "identical, with an inline struct": (_FINE, spec(_INNER), spec(_INNER)),
    "nullability dropped in released versions": (
        _REFUSED,
        spec(_field("Alpha", "string", more=', "nullableVersions": "0+"')),
        spec(_field("Alpha", "string", more=', "nullableVersions": "0-2"')),
    ),
    "nullability added in a new version": (
        _WARNED,
        spec(_field("Alpha", "string")),
        spec(_field("Alpha", "string", more=', "nullableVersions": "4+"'), valid="0-4"),
    ),
    "tagged field added to released flexible versions": (_FINE, spec(), spec(ALPHA, _tagged("Beta", 0))),
    "tagged field removed, tag reserved": (
        _WARNED,
        spec(ALPHA, _tagged("Beta", 0)),
        spec(more='"reservedTags": [0]'),
    ),
    "tagged field removed, tag not reserved": (_REFUSED, spec(ALPHA, _tagged("Beta", 0)), spec()),
    "tag reused by a rename of the same type": (_REFUSED, spec(_tagged("Alpha", 0)), spec(_tagged("Beta", 0))),
    "two tags swapped": (
        _REFUSED,
        spec(_tagged("Alpha", 0), _tagged("Beta", 1)),
        spec(_tagged("Alpha", 1), _tagged("Beta", 0)),
    ),
    "tagged to positional in the same versions": (
        _REFUSED,
        spec(_tagged("Alpha", 0)),
        spec(_field("Alpha", "int32", "2+"), more='"reservedTags": [0]'),
    ),
    "positional to tagged in the same versions": (
        _REFUSED,
        spec(_field("Alpha", "int32", "2+")),
        spec(_tagged("Alpha", 0)),
    ),
    "tagged field's type change": (_REFUSED, spec(_tagged("Alpha", 0)), spec(_tagged("Alpha", 0, "int64"))),
    "tagged field's nullability change": (
        _REFUSED,
        spec(_tagged("Alpha", 0, "string")),
        spec(_tagged("Alpha", 0, "string", ', "nullableVersions": "2+"')),
    ),
    "released inflexible version made flexible": (_REFUSED, spec(flexible="3+"), spec(flexible="2+")),
    "flexible made inflexible": (_REFUSED, spec(flexible="2+"), spec(flexible="3+")),
    "plain field put into a released version": (_REFUSED, spec(), spec(ALPHA, _BETA)),
    "plain field taken out of a released version": (_REFUSED, spec(ALPHA, _BETA), spec()),
    "plain field taken out of some released versions": (
        _REFUSED,
        spec(ALPHA, _BETA),
        spec(ALPHA, _field("Beta", "int32", "0-2")),
    ),
    "default of a plain field changed": (_CODE, spec(), spec(_field("Alpha", "int32", more=', "default": "1"'))),
    "default of a tagged field changed": (
        _REFUSED,
        spec(_tagged("Alpha", 0)),
        spec(_tagged("Alpha", 0, more=', "default": "1"')),
    ),
    "default written in another way": (_FINE, spec(), spec(_field("Alpha", "int32", more=', "default": "0"'))),
    "type change": (_REFUSED, spec(), spec(_field("Alpha", "uint32"))),
    "highest version lowered": (_REFUSED, spec(), spec(valid="0-2")),
    "lowest version lowered": (_REFUSED, spec(valid="1-3"), spec(valid="0-3")),
    "field ends after the old highest version": (
        _WARNED,
        spec(ALPHA, _BETA),
        spec(ALPHA, _field("Beta", "int32", "0-3"), valid="0-4"),
    ),
    "new plain field in a new version": (_WARNED, spec(), spec(ALPHA, _field("Beta", "int32", "4+"), valid="0-4")),
    "lowest version raised": (_WARNED, spec(), spec(valid="1-3")),
    "rename": (_WARNED, spec(), spec(_BETA)),
    "same-type reorder": (_REFUSED, spec(ALPHA, _BETA), spec(_BETA, ALPHA)),
    "struct renamed in inflexible versions": (
        _CODE,
        spec(_INNER, flexible="none"),
        spec(_INNER.replace("Inner", "Other"), flexible="none"),
    ),
    "struct renamed in flexible versions": (_CODE, spec(_INNER), spec(_INNER.replace("Inner", "Other"))),
    "array of int32 to array of structs with one, inflexible": (
        _CODE,
        spec(_field("Alpha", "[]int32"), flexible="none"),
        spec(_INNER, flexible="none"),
    ),
    "array of int32 to array of structs with one, flexible": (_REFUSED, spec(_field("Alpha", "[]int32")), spec(_INNER)),
    "ignorable": (
        _WARNED,
        spec(_field("Alpha", "int32", "1+")),
        spec(_field("Alpha", "int32", "1+", ', "ignorable": true')),
    ),
    "mapKey": (
        _WARNED,
        spec(_INNER),
        spec(_struct("Alpha", "[]Inner", _field("Leaf", "int32", more=', "mapKey": true'))),
    ),
    "entityType": (
        _WARNED,
        spec(_field("Alpha", "string")),
        spec(_field("Alpha", "string", more=', "entityType": "topicName"')),
    ),
    "about": (_FINE, spec(), spec(_field("Alpha", "int32", more=', "about": "A letter."'))),
    # Where names, places and forms could be mixed up
    "array of structs spread out, inflexible": (
        _CODE,
        spec(_struct("Alpha", "Inner", _field("Leaf", "int32"), _field("Twig", "int8")), flexible="none"),
        spec(_field("Leaf", "int32"), _field("Twig", "int8"), flexible="none"),
    ),
    "integer widened with its old encoding": (
        _CODE,
        spec(valid="0-1"),
        spec(
            _field("Alpha", "int64", more=', "encoding": {"0-1": "fixed32", "2+": "fixed64"}'),
            valid="0-2",
        ),
    ),
    "encoding changed in a released version": (
        _REFUSED,
        spec(_field("Alpha", "int32", more=', "encoding": "packed32"')),
        spec(_field("Alpha", "int32", more=', "encoding": "upacked32"')),
    ),
    "element encoding added": (
        _REFUSED,
        spec(_field("Alpha", "[]int32")),
        spec(_field("Alpha", "[]int32", more=', "elementEncoding": "packed32"')),
    ),
    "records to bytes": (_CODE, spec(_field("Alpha", "records")), spec(_field("Alpha", "bytes"))),
    "string to bytes": (_REFUSED, spec(_field("Alpha", "string")), spec(_field("Alpha", "bytes"))),
    "tag valid in more released versions": (
        _REFUSED,
        spec(_field("Alpha", "int32", "3+", ', "taggedVersions": "3+", "tag": 0')),
        spec(_tagged("Alpha", 0)),
    ),
    "tag of a version that was never released": (
        _FINE,
        spec(ALPHA, _field("Beta", "int32", "9+", ', "taggedVersions": "9+", "tag": 0')),
        spec(),
    ),
    "tagged field made plain in a new version, tag not reserved": (
        _REFUSED,
        spec(ALPHA, _tagged("Beta", 0)),
        spec(ALPHA, _field("Beta", "int32", "4+"), valid="0-4"),
    ),
    "tagged field made plain in a new version, tag reserved": (
        _WARNED,
        spec(ALPHA, _tagged("Beta", 0)),
        spec(ALPHA, _field("Beta", "int32", "4+"), valid="0-4", more='"reservedTags": [0]'),
    ),
    "reserved tag used again": (
        _REFUSED,
        spec(ALPHA, more='"reservedTags": [0]'),
        spec(ALPHA, _tagged("Beta", 0)),
    ),
    "reserved tag no longer reserved": (_REFUSED, spec(more='"reservedTags": [0]'), spec()),
    "tag in a struct forgotten": (
        _REFUSED,
        spec(_struct("Alpha", "[]Inner", _field("Leaf", "int32"), _tagged("Twig", 0))),
        spec(_INNER),
    ),
    "tag in a struct reserved": (
        _WARNED,
        spec(_struct("Alpha", "[]Inner", _field("Leaf", "int32"), _tagged("Twig", 0))),
        spec(_struct("Alpha", "[]Inner", _field("Leaf", "int32"), more=', "reservedTags": [0]')),
    ),
    "old versions described, not served": (
        _WARNED,
        spec(ALPHA, valid="2-3"),
        spec(ALPHA, _field("Beta", "int32", "0-1"), valid="0-3", more='"servedVersions": "2+"'),
    ),
    "old versions served again": (_REFUSED, spec(valid="2-3"), spec(valid="0-3", more='"servedVersions": "1+"')),
    "versions no longer served": (_WARNED, spec(valid="0-3"), spec(valid="0-3", more='"servedVersions": "none"')),
    "all versions served in other words": (_FINE, spec(valid="0-3"), spec(valid="0-3", more='"servedVersions": "0-3"')),
    "tag of another type than the plain field before": (_FINE, spec(ALPHA), spec(ALPHA, _tagged("Beta", 0, "string"))),
}
