"""The rules about tables that were stored with the columns of all versions of a message."""

from __future__ import annotations

from functools import partial

from kipgen.commands.compat.model import CompatRule, change
from kipgen.reading.rules.examples import ALPHA, field_of, spec, tagged_field

_column = partial(CompatRule, severity="column")

_ALPHA_IN_2 = field_of("int32", versions="2+")
_BETA = field_of("int32", "Beta")
_BETA_IN_0 = field_of("int32", "Beta", versions="0")
_BETA_IN_3 = field_of("int32", "Beta", versions="3+")

ALL = (
    _column(
        "column-removed",
        summary="A message keeps the columns of all versions that it ever had.",
        breaks="queries of the column; it is read from stored tables only where they give the columns",
        instead="keep the versions that have the field in validVersions, and leave them out of servedVersions",
        good=change(spec(ALPHA, _BETA_IN_0), spec(ALPHA, _BETA_IN_0, more='"servedVersions": "1+"')),
        bad=change(spec(ALPHA, _BETA_IN_0), spec(ALPHA, _BETA_IN_0, valid="1-3")),
    ),
    _column(
        "column-renamed",
        summary="A column keeps its name: stored tables are read by it.",
        breaks="queries of the column; tables stored before and after have two columns, each empty in the other",
        instead="keep the name, or read older tables with the column renamed",
        good=change(spec(ALPHA), spec(ALPHA, tagged_field("Beta"))),
        bad=change(spec(ALPHA), spec(_BETA)),
    ),
    _column(
        "column-type-changed",
        summary="A column keeps its type, even where no version is in both revisions.",
        breaks="readers of tables stored before and after, which cannot merge the two types",
        instead="give the field of another type another name",
        good=change(spec(field_of("int32"), valid="0-1"), spec(field_of("int32"), valid="2-3")),
        bad=change(spec(field_of("int32"), valid="0-1"), spec(field_of("int64"), valid="2-3")),
    ),
    _column(
        "column-moved",
        summary="Columns keep their order: by the first version of each field, and in it by its position or tag.",
        breaks="what takes columns by position, such as INSERT and UNION; readers by name do not notice",
        instead="keep old versions in validVersions, and leave them out of servedVersions",
        good=change(spec(_ALPHA_IN_2, _BETA), spec(_ALPHA_IN_2, _BETA, more='"servedVersions": "2+"')),
        bad=change(spec(_ALPHA_IN_2, _BETA), spec(_ALPHA_IN_2, _BETA, valid="2-3")),
    ),
    _column(
        "column-not-last",
        summary="A new column comes after all others.",
        breaks="what takes columns by position, such as INSERT and UNION; readers by name do not notice",
        instead="let the versions of a new tagged field start with the highest version, and choose a tag above the "
        "others; peers skip the tags that they do not know in any version",
        good=change(spec(ALPHA, _BETA_IN_3), spec(ALPHA, _BETA_IN_3, tagged_field("Gamma", versions="3+"))),
        bad=change(spec(ALPHA, _BETA_IN_3), spec(ALPHA, _BETA_IN_3, tagged_field("Gamma"))),
    ),
)
"""Every rule, in the order in which `kipgen rules` lists them."""
