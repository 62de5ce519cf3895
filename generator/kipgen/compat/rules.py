"""The rules that `kipgen compat` judges changes by, the worst first."""

from __future__ import annotations

from kipgen.compat.rule import CompatRule, Revisions
from kipgen.rules.examples import ALPHA, spec

_NEW_VERSION = "leave the released versions as they are, and make the change in a new one"
_BETA = '{"name": "Beta", "type": "int32", "versions": "0+"}'
_BETA_IN_4 = '{"name": "Beta", "type": "int32", "versions": "4+"}'


def _tagged(name: str = "Alpha", tag: int = 0, more: str = "", type_: str = "int32", versions: str = "2+") -> str:
    properties = f'"versions": "{versions}", "taggedVersions": "{versions}", "tag": {tag}'
    return f'{{"name": "{name}", "type": "{type_}", {properties}{more}}}'


def _field(type_: str, more: str = "", versions: str = "0+") -> str:
    return f'{{"name": "Alpha", "type": "{type_}", "versions": "{versions}"{more}}}'


def _struct(name: str, leaf: str = "Leaf", versions: str = "0+") -> str:
    leaf = f'{{"name": "{leaf}", "type": "int32", "versions": "0+"}}'
    return f'{{"name": "Alpha", "type": "[]{name}", "versions": "{versions}", "fields": [\n      {leaf}]}}'


def _layout(more: str) -> str:
    field = f'{{"name": "Alpha", "type": "bytes", "versions": "0+"{more}}}'
    return spec(field, type_="layout", flexible="none")


def _request(more: str = "", *fields: str, valid: str = "0-3") -> str:
    key = f'"apiKey": 900{more}'
    return spec(*fields, name="ProbeRequest", type_="request", valid=valid, more=key)


def _change(old: str | tuple[str, ...], new: str | tuple[str, ...]) -> Revisions:
    return Revisions((old,) if isinstance(old, str) else old, (new,) if isinstance(new, str) else new)


WIRE = (
    CompatRule(
        id="message-removed",
        severity="wire",
        summary="A message stays. One that is no longer spoken gets validVersions none, which keeps its name and key.",
        breaks="peers that still send it are not understood, and its apiKey looks free for something else",
        instead='keep the file, with "validVersions": "none"',
        good=_change((spec(), spec(name="Other")), (spec(), spec(name="Other", valid="none"))),
        bad=_change((spec(), spec(name="Other")), spec()),
    ),
    CompatRule(
        id="message-type-changed",
        severity="wire",
        summary="The type of a message stays.",
        breaks="requests, responses and records stand behind different headers, so peers misread what is sent",
        instead="make a new message",
        good=_change(spec(type_="header"), spec(type_="header")),
        bad=_change(spec(type_="header"), spec(type_="data")),
    ),
    CompatRule(
        id="api-key-changed",
        severity="wire",
        summary="The apiKey of a message stays.",
        breaks="peers know the message by its old number, and take the new one for another message or for none",
        instead="keep the apiKey; give new messages new ones",
        good=_change(_request(), _request(valid="0-4")),
        bad=_change(_request(), _request().replace("900", "901")),
    ),
    CompatRule(
        id="flexible-versions-changed",
        severity="wire",
        summary="A released version stays flexible or inflexible; new versions may become flexible (KIP-482).",
        breaks="peers expect fixed lengths where varints stand, or the reverse, and tag sections where none are",
        instead="let flexibleVersions start with the first version that is not released yet",
        good=_change(spec(flexible="none"), spec(flexible="4+", valid="0-4")),
        bad=_change(spec(flexible="none"), spec(flexible="3+")),
    ),
    CompatRule(
        id="highest-version-lowered",
        severity="wire",
        summary="The highest version stays or rises.",
        breaks="peers that have agreed on the version are refused, and records written in it can no longer be read",
        instead="keep the version; a new one may undo what it did",
        good=_change(spec(valid="0-3"), spec(valid="0-4")),
        bad=_change(spec(valid="0-3"), spec(valid="0-2")),
    ),
    CompatRule(
        id="lowest-version-lowered",
        severity="wire",
        summary="A version that was given up does not come back.",
        breaks="peers that once spoke the version may have other bytes for it; nothing here shows what they were",
        instead="leave validVersions, or bring the version back just as it was and allow this finding",
        good=_change(spec(valid="1-3"), spec(valid="1-4")),
        bad=_change(spec(valid="1-3"), spec(valid="0-3")),
    ),
    CompatRule(
        id="field-removed",
        severity="wire",
        summary="A plain field stays in the released versions; it may end with the last of them.",
        breaks="peers still send its bytes, which are then taken for the next field's",
        instead='let its versions end with the last released one, as in "versions": "0-3"',
        good=_change(spec(ALPHA, _BETA), spec(ALPHA, _BETA.replace("0+", "0-3"), valid="0-4")),
        bad=_change(spec(ALPHA, _BETA), spec(ALPHA)),
    ),
    CompatRule(
        id="field-added",
        severity="wire",
        summary="A new plain field starts with a new version; only tagged fields are added to released ones (KIP-482).",
        breaks="peers do not send its bytes, so the next field's are taken for it",
        instead="let its versions start with the first one that is not released, or make it a tagged field",
        good=_change(spec(ALPHA), spec(ALPHA, _BETA_IN_4, valid="0-4")),
        bad=_change(spec(ALPHA), spec(ALPHA, _BETA)),
    ),
    CompatRule(
        id="field-moved",
        severity="wire",
        summary="Plain fields keep their order, even those of one type.",
        breaks="peers send the fields in the old order, so each is taken for the other",
        instead="put the fields back in their order; no version can reorder fields that it shares with released ones",
        good=_change(spec(ALPHA, _BETA), spec(ALPHA, _BETA)),
        bad=_change(spec(ALPHA, _BETA), spec(_BETA, ALPHA)),
    ),
    CompatRule(
        id="type-changed",
        severity="wire",
        summary="A field keeps its type; what is of another type is another field.",
        breaks="peers send the bytes of the old type",
        instead="end the field with the last released version and add a field of the new type with a new version",
        good=_change(
            spec(_field("int32")),
            spec(_field("int32", versions="0-3"), _BETA_IN_4.replace("int32", "int64"), valid="0-4"),
        ),
        bad=_change(spec(_field("int32")), spec(_field("int64"))),
    ),
    CompatRule(
        id="nullability-changed",
        severity="wire",
        summary="Released versions keep what may be null; a tagged field keeps it for ever (KIP-482).",
        breaks="the side that does not know of null refuses it, and structs get or lose the byte that tells it",
        instead="let nullableVersions change with a version that is not released",
        good=_change(spec(_field("string")), spec(_field("string", ', "nullableVersions": "4+"'), valid="0-4")),
        bad=_change(spec(_field("string", ', "nullableVersions": "0+"')), spec(_field("string"))),
    ),
    CompatRule(
        id="length-form-changed",
        severity="wire",
        summary="The flexibleVersions of a field stay in released versions.",
        breaks="peers expect a length of fixed width where a varint stands, or the reverse",
        instead=_NEW_VERSION,
        good=_change(
            spec(_field("string", ', "flexibleVersions": "none"')), spec(_field("string", ', "flexibleVersions": "4+"'))
        ),
        bad=_change(spec(_field("string")), spec(_field("string", ', "flexibleVersions": "none"'))),
    ),
    CompatRule(
        id="encoding-changed",
        severity="wire",
        summary="An integer keeps its encoding in released versions (KIP-625).",
        breaks="peers send the integer in the old form, of another length",
        instead='give each version its encoding, as in "encoding": {"0-3": "fixed32", "4+": "packed32"}',
        good=_change(
            spec(_field("int32")),
            spec(_field("int32", ', "encoding": {"0-3": "fixed32", "4+": "packed32"}'), valid="0-4"),
        ),
        bad=_change(spec(_field("int32")), spec(_field("int32", ', "encoding": "packed32"'))),
    ),
    CompatRule(
        id="tag-changed",
        severity="wire",
        summary="A tagged field keeps its tag.",
        breaks="peers send the field under its old tag, where it is no longer looked for",
        instead="keep the tag",
        good=_change(spec(_tagged()), spec(_tagged(), _tagged("Beta", 1))),
        bad=_change(spec(_tagged(tag=0)), spec(_tagged(tag=1), more='"reservedTags": [0]')),
    ),
    CompatRule(
        id="tag-reused",
        severity="wire",
        summary="A tag belongs to its field for ever, even when the field is gone (KIP-482).",
        breaks="peers still send the old field under this tag, and its bytes are taken for the new one's",
        instead="choose a tag that was never used, and list the old one in reservedTags. "
        "If only the name is new, keep the old one, or allow this finding",
        good=_change(spec(_tagged("Alpha", 0)), spec(_tagged("Beta", 1), more='"reservedTags": [0]')),
        bad=_change(spec(_tagged("Alpha", 0)), spec(_tagged("Beta", 0))),
    ),
    CompatRule(
        id="tag-forgotten",
        severity="wire",
        summary="The tag of a field that is gone is listed in reservedTags.",
        breaks="nothing keeps the tag from being used again, while older peers still send what it meant",
        instead="list it in reservedTags of what the field belonged to: the message, or the struct",
        good=_change(spec(ALPHA, _tagged("Beta")), spec(ALPHA, more='"reservedTags": [0]')),
        bad=_change(spec(ALPHA, _tagged("Beta")), spec(ALPHA)),
    ),
    CompatRule(
        id="tagged-and-plain",
        severity="wire",
        summary="In a released version a field stays tagged, or stays plain.",
        breaks="peers look for it in the other place, and take the bytes there for something else",
        instead='change it with a new version, as in "versions": "0+", "taggedVersions": "4+"',
        good=_change(spec(_field("int32")), spec(_field("int32", ', "taggedVersions": "4+", "tag": 0'), valid="0-4")),
        bad=_change(spec(_field("int32", versions="2+")), spec(_tagged())),
    ),
    CompatRule(
        id="tagged-versions-changed",
        severity="wire",
        summary="A tag keeps the released versions in which it is valid.",
        breaks="a strict reader refuses a tag that it knows from other versions only",
        instead="put taggedVersions back; a field for more versions gets a tag of its own",
        good=_change(spec(_tagged(versions="2+")), spec(_tagged(versions="2+"), valid="0-4")),
        bad=_change(spec(_tagged(versions="3+")), spec(_tagged(versions="2+"))),
    ),
    CompatRule(
        id="tagged-default-changed",
        severity="wire",
        summary="A tagged field keeps its default: it is left out where it has that value (KIP-482).",
        breaks="peers leave the field out to say the old default, and the new one is understood",
        instead="keep the default, or make a new field with a new tag",
        good=_change(spec(_tagged(more=', "default": "0"')), spec(_tagged())),
        bad=_change(spec(_tagged()), spec(_tagged(more=', "default": "-1"'))),
    ),
    CompatRule(
        id="part-changed",
        severity="wire",
        summary="The parts of a layout keep their sizes, counts, bits, checksums and constants in released versions.",
        breaks="bytes that were written before, or by others, no longer fit",
        instead=_NEW_VERSION,
        good=_change(_layout(', "size": "int16"'), _layout(', "size": "int16", "about": "A letter."')),
        bad=_change(_layout(', "size": "int16"'), _layout(', "size": "uvarint"')),
    ),
)

SOURCE = (
    CompatRule(
        id="message-renamed",
        severity="source",
        summary="A message keeps its name; bytes do not tell it, code does.",
        breaks="code that imports its class, and JSON that names it",
        instead="keep the name, or allow this finding and tell users of the package",
        good=_change(_request(), _request()),
        bad=_change(_request(), _request().replace("ProbeRequest", "TrialRequest")),
    ),
    CompatRule(
        id="struct-renamed",
        severity="source",
        summary="A struct keeps its name; bytes do not tell it, code does.",
        breaks="code that imports its class",
        instead="keep the name, or allow this finding and tell users of the package",
        good=_change(spec(_struct("Inner")), spec(_struct("Inner"))),
        bad=_change(spec(_struct("Inner")), spec(_struct("Other"))),
    ),
    CompatRule(
        id="type-same-bytes",
        severity="source",
        summary="A field keeps its type even where another has the same bytes.",
        breaks="code that fills in or reads the attribute, which has another type now",
        instead="keep the type, or allow this finding and tell users of the package. An integer is widened that way, "
        "with the encoding of its old width in the released versions (KIP-625)",
        good=_change(spec(_field("[]int32")), spec(_field("[]int32"), valid="0-4")),
        bad=_change(
            spec(_field("[]int32", versions="0-1")),
            spec(_struct("Inner", versions="0-1")),
        ),
    ),
    CompatRule(
        id="default-changed",
        severity="source",
        summary="A plain field keeps its default.",
        breaks="code that relies on it: it sends another value where it gives none",
        instead="keep the default, or allow this finding and tell users of the package",
        good=_change(spec(_field("int32")), spec(_field("int32", ', "default": "0x0"'))),
        bad=_change(spec(_field("int32")), spec(_field("int32", ', "default": "-1"'))),
    ),
)

NOTICE = (
    CompatRule(
        id="message-retired",
        severity="notice",
        summary="A message without versions is no longer spoken; its name and key stay taken.",
        breaks="peers that speak nothing newer are refused",
        instead="make sure that no supported peer needs it",
        good=_change(_request(), _request(valid="0-4")),
        bad=_change(_request(), _request(valid="none")),
    ),
    CompatRule(
        id="lowest-version-raised",
        severity="notice",
        summary="Old versions may be given up, when nobody speaks them any more.",
        breaks="peers that speak nothing newer are refused, and records written in them can no longer be read",
        instead="make sure that no supported peer needs them",
        good=_change(spec(valid="0-3"), spec(valid="0-4")),
        bad=_change(spec(valid="0-3"), spec(valid="1-3")),
    ),
    CompatRule(
        id="served-versions-narrowed",
        severity="notice",
        summary="Old versions may stop being served; as long as they are valid they have classes.",
        breaks="peers that speak nothing newer are refused; what was written in them can still be read",
        instead="make sure that no supported peer needs them",
        good=_change(spec(valid="0-3"), spec(valid="0-4", more='"servedVersions": "0+"')),
        bad=_change(spec(valid="0-3"), spec(valid="0-3", more='"servedVersions": "2+"')),
    ),
    CompatRule(
        id="old-versions-added",
        severity="notice",
        summary="Versions that were given up may be valid again without being served, for what was written in them.",
        breaks="nobody: no peer is offered them",
        instead="make sure that they are what they were; nothing here shows it",
        good=_change(spec(valid="1-3"), spec(valid="1-3")),
        bad=_change(spec(valid="1-3"), spec(valid="0-3", more='"servedVersions": "1+"')),
    ),
    CompatRule(
        id="versions-added",
        severity="notice",
        summary="New versions are what changes are made in.",
        breaks="nobody: peers agree on a version that both know",
        instead="go on",
        good=_change(spec(valid="0-3"), spec(valid="0-3")),
        bad=_change(spec(valid="0-3"), spec(ALPHA, _BETA_IN_4, valid="0-4")),
    ),
    CompatRule(
        id="released-made-unstable",
        severity="notice",
        summary="A version that was released is not called unstable afterwards.",
        breaks="nobody yet, but changes of the version will pass unseen from now on",
        instead="call a new version unstable",
        good=_change(_request(), _request(', "latestVersionUnstable": true', valid="0-4")),
        bad=_change(_request(), _request(', "latestVersionUnstable": true')),
    ),
    CompatRule(
        id="field-renamed",
        severity="notice",
        summary="A plain field may have another name in the same place: bytes do not tell names.",
        breaks="code that uses the attribute, and JSON with the key; peers only if the meaning changes too",
        instead="keep the name if you can; a new meaning needs a new field in a new version",
        good=_change(spec(ALPHA), spec(ALPHA)),
        bad=_change(spec(ALPHA), spec(_BETA)),
    ),
    CompatRule(
        id="tagged-field-removed",
        severity="notice",
        summary="A tagged field may go, if its tag stays reserved.",
        breaks="code that uses the attribute; what older peers send is kept among the unknown tagged fields",
        instead="make sure that nobody needs the value",
        good=_change(spec(ALPHA, _tagged("Beta")), spec(ALPHA, _tagged("Beta"))),
        bad=_change(spec(ALPHA, _tagged("Beta")), spec(ALPHA, more='"reservedTags": [0]')),
    ),
    CompatRule(
        id="ignorable-changed",
        severity="notice",
        summary="Whether a value may be dropped where a version lacks the field has no effect on bytes.",
        breaks="code that converts messages to versions without the field: it loses the value, or gets an error",
        instead="make sure that this is what you want",
        good=_change(spec(_field("int32", versions="1+")), spec(_field("int32", versions="1+"))),
        bad=_change(spec(_field("int32", versions="1+")), spec(_field("int32", ', "ignorable": true', versions="1+"))),
    ),
    CompatRule(
        id="entity-type-changed",
        severity="notice",
        summary="What a value identifies has no effect on bytes.",
        breaks="tools that look for such values",
        instead="make sure that this is what you want",
        good=_change(spec(_field("string")), spec(_field("string", ', "about": "The group."'))),
        bad=_change(spec(_field("string")), spec(_field("string", ', "entityType": "groupId"'))),
    ),
    CompatRule(
        id="map-key-changed",
        severity="notice",
        summary="What an array's elements are found by has no effect on bytes.",
        breaks="code that takes the key for unique",
        instead="make sure that this is what you want",
        good=_change(spec(_struct("Inner")), spec(_struct("Inner"), valid="0-4")),
        bad=_change(
            spec(_struct("Inner")),
            spec(_struct("Inner").replace('"versions": "0+"}', '"versions": "0+", "mapKey": true}')),
        ),
    ),
)

ALL = (*WIRE, *SOURCE, *NOTICE)
"""Every rule, in the order in which `kipgen rules` lists them."""

BY_ID = {rule.id: rule for rule in ALL}
