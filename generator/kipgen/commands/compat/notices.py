"""The rules of `kipgen compat` whose changes harm no peer: what stored tables lack, and what is only worth knowing.

See `rules`, which has the others, for what a rule is and for its examples.
"""

from __future__ import annotations

from functools import partial

from kipgen.commands.compat.model import CompatRule, change
from kipgen.reading.rules.examples import ALPHA, LEAF, field_of, spec, tagged_field

_column = partial(CompatRule, severity="column")
_notice = partial(CompatRule, severity="notice")

_BETA = field_of("int32", "Beta")
_ALPHA_IN_2 = field_of("int32", versions="2+")
_BETA_IN_0 = field_of("int32", "Beta", versions="0")
_BETA_IN_3 = field_of("int32", "Beta", versions="3+")
_BETA_IN_4 = field_of("int32", "Beta", versions="4+")


_TABLE = spec(name="ApiVersionsResponse", type_="response", more='"apiKey": 18')


def _request(more: str = "", valid: str = "0-3") -> str:
    return spec(name="ProbeRequest", type_="request", valid=valid, more=f'"apiKey": 900{more}')


def _nullable(**more: str) -> str:
    return field_of("string", "Beta", versions="4+", nullableVersions="4+", ignorable=True, **more)


COLUMNS = (
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
"""The rules of columns, which count with `--columns` alone."""

NOTICES = (
    _notice(
        "message-retired",
        summary="A message without versions is no longer used; its name and key stay taken.",
        breaks="peers without a newer version are rejected",
        instead="make sure that no supported peer needs it",
        good=change(_request(), _request(valid="0-4")),
        bad=change(_request(), _request(valid="none")),
    ),
    _notice(
        "lowest-version-raised",
        summary="Old versions may be dropped once they are no longer used.",
        breaks="peers without a newer version are rejected, and records written in them can no longer be read",
        instead="make sure that no supported peer needs them",
        good=change(spec(valid="0-3"), spec(valid="0-4")),
        bad=change(spec(valid="0-3"), spec(valid="1-3")),
    ),
    _notice(
        "served-versions-narrowed",
        summary="Old versions may stop being served; as long as they are valid they have classes.",
        breaks="peers that have nothing newer are rejected; what was written in these versions can still be read",
        instead="make sure that no supported peer needs them",
        good=change(spec(valid="0-3"), spec(valid="0-4", more='"servedVersions": "0+"')),
        bad=change(spec(valid="0-3"), spec(valid="0-3", more='"servedVersions": "2+"')),
    ),
    _notice(
        "listeners-narrowed",
        summary="A request may stop being served on a listener.",
        breaks="peers of that listener are rejected",
        instead="make sure that no supported peer sends it there",
        good=change(_request(', "listeners": ["broker"]'), _request(', "listeners": ["broker", "controller"]')),
        bad=change(_request(', "listeners": ["broker", "controller"]'), _request(', "listeners": ["broker"]')),
    ),
    _notice(
        "old-versions-added",
        summary="Versions that were removed may be valid again without being served, for what was written in them.",
        breaks="nothing: peers are not offered them",
        instead="make sure that they are what they were; the comparison cannot show it",
        good=change(spec(valid="1-3"), spec(valid="1-3")),
        bad=change(spec(valid="1-3"), spec(valid="0-3", more='"servedVersions": "1+"')),
    ),
    _notice(
        "versions-added",
        summary="Changes of requests, responses and their headers are made in new versions.",
        breaks="nothing: peers agree on a version that both support",
        instead="nothing to do",
        good=change((_request(), _TABLE), (_request(), _TABLE)),
        bad=change((_request(), _TABLE), (_request(valid="0-4"), _TABLE)),
    ),
    _notice(
        "version-not-agreed",
        summary="Requests get new versions where peers have ApiVersions, by which they agree on one.",
        breaks="clients of the new version, which older servers do not answer: nothing tells them what a server has",
        instead="release ApiVersions first (kipgen new --negotiated), or upgrade all servers before the first client",
        good=change((_request(), _TABLE), (_request(valid="0-4"), _TABLE)),
        bad=change(_request(), _request(valid="0-4")),
    ),
    _notice(
        # Kafka had to (KIP-915): brokers must read the records that a newer release has left behind.
        "version-not-negotiated",
        summary="A record or data gets a new version only once all can read it: nobody negotiates it.",
        breaks="readers without the version cannot read what is written in it, also after a downgrade",
        instead="add a tagged field to the present version, or write the old version until all can read the new one; "
        'to rule new versions out, write "noNewVersions": true',
        good=change(spec(), spec(ALPHA, tagged_field("Beta", ignorable=True))),
        bad=change(spec(), spec(valid="0-4")),
    ),
    _notice(
        "new-versions-allowed",
        summary="A message that may get only tagged fields stays so.",
        breaks="nothing yet, but a new version is no longer refused",
        instead="keep noNewVersions if readers rely on it",
        good=change(spec(more='"noNewVersions": true'), spec(more='"noNewVersions": true')),
        bad=change(spec(more='"noNewVersions": true'), spec()),
    ),
    _notice(
        # The mistake that Kafka's own specs have had most often.
        "new-field-not-ignorable",
        summary="A new field is ignorable where it may be dropped for peers of other versions.",
        breaks="code that sets it cannot write to the versions without it: kipwire.convert refuses all but the default",
        instead='add "ignorable": true, or let code leave it at its default there',
        good=change(spec(), spec(ALPHA, field_of("int32", "Beta", versions="4+", ignorable=True), valid="0-4")),
        bad=change(spec(), spec(ALPHA, _BETA_IN_4, valid="0-4")),
    ),
    _notice(
        "new-field-reads-empty",
        summary="A new field that may be null is null where it is absent.",
        breaks="code that takes the empty value, which messages without the field have, for one that was sent",
        instead='add "default": "null", unless absent and empty mean the same',
        good=change(spec(), spec(ALPHA, _nullable(default="null"), valid="0-4")),
        bad=change(spec(), spec(ALPHA, _nullable(), valid="0-4")),
    ),
    _notice(
        "data-type-given",
        summary="Data may become a metadata or coordinator record: none of them follows a header.",
        breaks="nothing: the bytes are the same; the number before a record in its log is not part of them",
        instead="make sure that the apiKey is the number that the log already has",
        good=change(spec(), spec()),
        bad=change(spec(), spec(type_="metadata", more='"apiKey": 3')),
    ),
    _notice(
        "released-made-unstable",
        summary="A released version is not marked unstable afterwards.",
        breaks="nothing yet, but changes of the version are no longer reported",
        instead="mark a new version unstable",
        good=change(_request(), _request(', "latestVersionUnstable": true', valid="0-4")),
        bad=change(_request(), _request(', "latestVersionUnstable": true')),
    ),
    _notice(
        "field-renamed",
        summary="A plain field may be renamed without moving: names are not part of the bytes.",
        breaks="code that uses the attribute, and JSON with the key; peers only if the meaning changes too",
        instead="keep the name if you can; a new meaning needs a new field in a new version",
        good=change(spec(ALPHA), spec(ALPHA)),
        bad=change(spec(ALPHA), spec(_BETA)),
    ),
    _notice(
        "field-respelled",
        summary="A field may change letters between upper and lower case where its attribute stays the same.",
        breaks="JSON with the key; attribute, tag and bytes are the same",
        instead="keep the spelling if JSON is stored or exchanged",
        good=change(spec(), spec()),
        bad=change(spec(field_of("int32", "LastID")), spec(field_of("int32", "LastId"))),
    ),
    _notice(
        "tagged-field-removed",
        summary="A tagged field may be removed if its tag is reserved.",
        breaks="code that uses the attribute; what older peers send is kept among the unknown tagged fields",
        instead="make sure that the value is no longer needed",
        good=change(spec(ALPHA, tagged_field("Beta")), spec(ALPHA, tagged_field("Beta"))),
        bad=change(spec(ALPHA, tagged_field("Beta")), spec(ALPHA, more='"reservedTags": [0]')),
    ),
    _notice(
        "ignorable-changed",
        summary="Whether a value may be dropped where a version lacks the field has no effect on bytes; "
        "nor on anything if no version lacks it.",
        breaks="code that converts messages to versions without the field: it loses the value, or gets an error",
        instead="make sure that this is what you want",
        good=change(spec(field_of("int32", versions="1+")), spec(field_of("int32", versions="1+"))),
        bad=change(spec(field_of("int32", versions="1+")), spec(field_of("int32", versions="1+", ignorable=True))),
    ),
    _notice(
        "entity-type-changed",
        summary="What a value identifies has no effect on bytes.",
        breaks="tools that look for such values",
        instead="make sure that this is what you want",
        good=change(spec(field_of("string")), spec(field_of("string", about="The group."))),
        bad=change(spec(field_of("string")), spec(field_of("string", entityType="groupId"))),
    ),
    _notice(
        "map-key-changed",
        summary="The key of an array's elements has no effect on bytes.",
        breaks="code that assumes that the key is unique",
        instead="make sure that this is what you want",
        good=change(spec(field_of("[]Inner", fields=[LEAF])), spec(field_of("[]Inner", fields=[LEAF]), valid="0-4")),
        bad=change(
            spec(field_of("[]Inner", fields=[LEAF])),
            spec(field_of("[]Inner", fields=[field_of("int32", "Leaf", mapKey=True)])),
        ),
    ),
)
"""The rules of what is allowed."""
