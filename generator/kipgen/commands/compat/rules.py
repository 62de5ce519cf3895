"""The rules by which `kipgen compat` judges changes, the worst first: whom a change breaks, and what to do instead.

A rule has no code: `compare`, `tags`, `enums`, `columns` and `package` make changes under its id, and here is what a
change means; `enum_rules` has a part of them. Its two examples are its tests: the bad one is found by this rule and by
no other as severe, the good one breaks nothing. For every change that is not refused, another test proves that the
bytes stay the same, so a rule may only become milder together with that proof. An id is public: compat-allow.toml, JSON
and SARIF have it. The position is the one in `kipgen rules`.

Kafka's own checker judges some changes the other way round, and several of those break peers. These rules follow the
bytes and KIP-482; the comments below have the differences. The releases 4.0 and 4.3 of it were tried.
"""

from __future__ import annotations

from functools import partial

from kipgen.commands.compat.enum_rules import ENUM_RULES
from kipgen.commands.compat.model import SEVERITIES as SEVERITIES
from kipgen.commands.compat.model import CompatRule as CompatRule
from kipgen.commands.compat.model import Revisions as Revisions
from kipgen.commands.compat.model import Severity as Severity
from kipgen.commands.compat.model import change
from kipgen.commands.compat.notices import COLUMNS, NOTICES
from kipgen.reading.rules.examples import ALPHA, LEAF, field_of, layout, spec, tagged_field

_wire = partial(CompatRule, severity="wire")
_source = partial(CompatRule, severity="source")

_NEW_VERSION = "leave the released versions as they are, and make the change in a new one"
_BETA = field_of("int32", "Beta")
_MARK = '"noNewVersions": true'
_TAGGED_PACKED = tagged_field(encoding="packed32")
_BETA_IN_4 = field_of("int32", "Beta", versions="4+")


def _request(more: str = "", valid: str = "0-3") -> str:
    return spec(name="ProbeRequest", type_="request", valid=valid, more=f'"apiKey": 900{more}')


def _value(type_: str, api_key: str) -> str:
    return spec(name="ProbeValue", type_=type_, more=f'"apiKey": {api_key}')


_RULES = (
    _wire(
        "message-removed",
        summary="A message stays. One that is no longer used gets validVersions none, which keeps its name and key.",
        breaks="peers that still send it are not understood, and its apiKey looks free for another message",
        instead='keep the file, with "validVersions": "none"',
        good=change((spec(), spec(name="Other")), (spec(), spec(name="Other", valid="none"))),
        bad=change((spec(), spec(name="Other")), spec()),
    ),
    _wire(
        "message-type-changed",
        summary="The type of a message does not change, except between data, metadata and coordinator records.",
        breaks="requests and responses follow headers of their own, so peers misread what is sent",
        instead="make a new message",
        good=change(spec(type_="header"), spec(type_="header")),
        bad=change(spec(type_="header"), spec(type_="data")),
    ),
    _wire(
        "api-key-changed",
        summary="The apiKey of a message does not change.",
        breaks="peers know the message by its old number, and take the new number for another message or reject it",
        instead="keep the apiKey; give new messages new keys",
        good=change(_request(), _request(valid="0-4")),
        bad=change(_request(), _request().replace("900", "901")),
    ),
    _wire(
        # Kafka's checker lets a released version become flexible, which KIP-482 rules out.
        "flexible-versions-changed",
        summary="A released version stays flexible or inflexible; new versions may become flexible (KIP-482).",
        breaks="peers expect fixed lengths instead of varints, or the reverse, and tag sections where there are none",
        instead="let flexibleVersions start with the first version that is not released yet",
        good=change(spec(flexible="none"), spec(flexible="4+", valid="0-4")),
        bad=change(spec(flexible="none"), spec(flexible="3+")),
    ),
    _wire(
        "header-changed",
        summary="A released version keeps the version of the header before it; new versions may have another "
        "(KIP-1313).",
        breaks="peers expect the old header, and read the fields of the new one as the message, or the reverse",
        instead="let headerVersions give the new header to the first version that is not released; where the header "
        "itself has a new version, write the old one into the headerVersions of messages without them",
        good=change(
            _request(', "headerVersions": {"0-1": "1", "2+": "2"}'),
            _request(', "headerVersions": {"0-1": "1", "2-3": "2", "4+": "3"}', valid="0-4"),
        ),
        bad=change(
            _request(', "headerVersions": {"0+": "1"}'), _request(', "headerVersions": {"0-2": "1", "3+": "2"}')
        ),
    ),
    _wire(
        "highest-version-lowered",
        summary="The highest version stays or rises.",
        breaks="peers that have agreed on the version are rejected, and records written in it can no longer be read",
        instead="keep the version; a new version may undo its changes",
        good=change(spec(valid="0-3"), spec(valid="0-4")),
        bad=change(spec(valid="0-3"), spec(valid="0-2")),
    ),
    _wire(
        # No byte of a released version changes, but the peers break to whom the mark is a promise.
        "new-version-refused",
        summary="A message that is marked noNewVersions gets no new version.",
        breaks="readers without the version cannot read what is written in it, also after a downgrade",
        instead="add a tagged field to the highest version, or remove the mark in a release before the new version",
        good=change(spec(more=_MARK), spec(ALPHA, tagged_field("Beta", versions="3+", ignorable=True), more=_MARK)),
        bad=change(spec(more=_MARK), spec(valid="0-4", more=_MARK)),
    ),
    _wire(
        "lowest-version-lowered",
        summary="A version that was dropped does not come back.",
        breaks="peers that once used the version may have other bytes for it, and these revisions do not show them",
        instead="leave validVersions unchanged, or bring the version back exactly as it was and allow this finding",
        good=change(spec(valid="1-3"), spec(valid="1-4")),
        bad=change(spec(valid="1-3"), spec(valid="0-3")),
    ),
    _wire(
        "field-removed",
        summary="A plain field stays in the released versions; it may end with the last of them.",
        breaks="peers still send its bytes, which are then read as the next field",
        instead='let its versions end with the last released one, as in "versions": "0-3"',
        good=change(spec(ALPHA, _BETA), spec(ALPHA, field_of("int32", "Beta", versions="0-3"), valid="0-4")),
        bad=change(spec(ALPHA, _BETA), spec(ALPHA)),
    ),
    _wire(
        # Kafka's checker refuses every field that a released version gets, tagged ones as well.
        "field-added",
        summary="A new plain field starts with a new version; only tagged fields are added to released ones (KIP-482).",
        breaks="peers do not send its bytes, so the bytes of the next field are read instead",
        instead="let its versions start with the first one that is not released, or make it a tagged field",
        good=change(spec(ALPHA), spec(ALPHA, _BETA_IN_4, valid="0-4")),
        bad=change(spec(ALPHA), spec(ALPHA, _BETA)),
    ),
    _wire(
        # Kafka's checker accepts it between fields of one type, as it compares field by field without names.
        "field-moved",
        summary="Plain fields keep their order, even those of the same type.",
        breaks="peers send the fields in the old order, so each is read as another",
        instead="restore the order; fields that exist in released versions cannot be reordered in a new one",
        good=change(spec(ALPHA, _BETA), spec(ALPHA, _BETA)),
        bad=change(spec(ALPHA, _BETA), spec(_BETA, ALPHA)),
    ),
    _wire(
        "type-changed",
        summary="A field keeps its type; a value of another type is another field.",
        breaks="peers send the bytes of the old type",
        instead="end the field with the last released version and add a field of the new type with a new version",
        good=change(
            spec(field_of("int32")),
            spec(field_of("int32", versions="0-3"), field_of("int64", "Beta", versions="4+"), valid="0-4"),
        ),
        bad=change(spec(field_of("int32")), spec(field_of("int64"))),
    ),
    _wire(
        # Kafka's checker has its operands exchanged here: it refuses null in a new version, and accepts that a released
        # one loses it.
        "nullability-changed",
        summary="Released versions keep what may be null.",
        breaks="the side that does not expect null rejects it, and structs gain or lose the byte that marks null",
        instead="let nullableVersions change with a version that is not released",
        good=change(spec(field_of("string")), spec(field_of("string", nullableVersions="4+"), valid="0-4")),
        bad=change(spec(field_of("string", nullableVersions="0+")), spec(field_of("string"))),
    ),
    _wire(
        "length-form-changed",
        summary="The flexibleVersions of a field stay in released versions.",
        breaks="peers expect a length of fixed width instead of a varint, or the reverse",
        instead=_NEW_VERSION,
        good=change(spec(field_of("string", flexibleVersions="none")), spec(field_of("string", flexibleVersions="4+"))),
        bad=change(spec(field_of("string")), spec(field_of("string", flexibleVersions="none"))),
    ),
    _wire(
        "encoding-changed",
        summary="An integer keeps its encoding in released versions (KIP-625).",
        breaks="peers send the integer in the old form, of another length",
        instead='give each version its encoding, as in "encoding": {"0-3": "fixed32", "4+": "packed32"}',
        good=change(
            spec(field_of("int32")), spec(field_of("int32", encoding={"0-3": "fixed32", "4+": "packed32"}), valid="0-4")
        ),
        bad=change(spec(field_of("int32")), spec(field_of("int32", encoding="packed32"))),
    ),
    _wire(
        "tag-changed",
        summary="A tagged field keeps its tag.",
        breaks="peers send the field under its old tag, which is no longer read as this field",
        instead="keep the tag",
        good=change(spec(tagged_field()), spec(tagged_field(), tagged_field("Beta", 1))),
        bad=change(spec(tagged_field(tag=0)), spec(tagged_field(tag=1), more='"reservedTags": [0]')),
    ),
    _wire(
        # Kafka's checker accepts it while the type is the same. So it does with two tags that change places.
        "tag-reused",
        summary="A tag belongs to its field forever, even after the field is removed (KIP-482).",
        breaks="peers still send the old field under this tag, and its bytes are read as the new field",
        instead="choose a tag that was never used, and list the old one in reservedTags. "
        "If only the name is new, keep the old one, or allow this finding",
        good=change(spec(tagged_field("Alpha", 0)), spec(tagged_field("Beta", 1), more='"reservedTags": [0]')),
        bad=change(spec(tagged_field("Alpha", 0)), spec(tagged_field("Beta"))),
    ),
    _wire(
        # KIP-482 forbids to use a tag again, but has no place for used ones: `reservedTags` is kipwire's.
        "tag-forgotten",
        summary="The tag of a removed field is listed in reservedTags.",
        breaks="nothing prevents the tag from being used again, while older peers still send the removed field",
        instead="list it in the reservedTags of the message or struct that had the field",
        good=change(spec(ALPHA, tagged_field("Beta")), spec(ALPHA, more='"reservedTags": [0]')),
        bad=change(spec(ALPHA, tagged_field("Beta")), spec(ALPHA)),
    ),
    _wire(
        "tagged-and-plain",
        summary="In a released version, a tagged field stays tagged and a plain one stays plain.",
        breaks="peers expect the field where it was, and misread the bytes that are there now",
        instead='change it with a new version, as in "versions": "0+", "taggedVersions": "4+"',
        good=change(spec(field_of("int32")), spec(field_of("int32", taggedVersions="4+", tag=0), valid="0-4")),
        bad=change(spec(field_of("int32", versions="2+")), spec(tagged_field())),
    ),
    _wire(
        "tagged-versions-changed",
        summary="A tag keeps the released versions in which it is valid. Where the released spec has "
        "extensibleTaggedVersions, it may get more.",
        breaks="a strict reader rejects a tag that it knows only from other versions",
        instead="restore taggedVersions; for more versions, add a field with a tag of its own",
        good=change(spec(tagged_field(versions="2+")), spec(tagged_field(versions="2+"), valid="0-4")),
        bad=change(spec(tagged_field(versions="3+")), spec(tagged_field(versions="2+"))),
    ),
    _wire(
        "tagged-default-changed",
        summary="A tagged field keeps its default: it is left out where it has that value (KIP-482). So do the fields "
        "of a tagged struct, whose default they are.",
        breaks="peers leave the field out to send the old default, and the new default is read",
        instead="keep the default, or make a new field with a new tag",
        good=change(spec(tagged_field(default="0")), spec(tagged_field())),
        bad=change(spec(tagged_field()), spec(tagged_field(default="-1"))),
    ),
    _wire(
        "tagged-form-changed",
        summary="A tagged field keeps its form in new versions, too: encoding, nullability, default, and the plain "
        "fields of the structs in it (KIP-482).",
        breaks="peers read a tagged field by its tag, in any version, and expect the form that it had first",
        instead="keep the form, or add a field of the new form with another tag",
        good=change(spec(_TAGGED_PACKED), spec(_TAGGED_PACKED, field_of("int32", "Beta", versions="4+"), valid="0-4")),
        bad=change(
            spec(_TAGGED_PACKED),
            spec(tagged_field(encoding={"2-3": "packed32", "4+": "upacked32"}), valid="0-4"),
        ),
    ),
    _wire(
        "part-changed",
        summary="The parts of a layout keep their sizes, counts, bits, checksums and constants in released versions.",
        breaks="bytes that were written earlier, or by others, can no longer be read",
        instead=_NEW_VERSION,
        good=change(
            layout(field_of("bytes", size="int16")), layout(field_of("bytes", size="int16", about="A letter."))
        ),
        bad=change(layout(field_of("bytes", size="int16")), layout(field_of("bytes", size="uvarint"))),
    ),
    _source(
        "message-renamed",
        summary="A message keeps its name: code depends on it, although bytes do not.",
        breaks="code that imports its class, and JSON that names it",
        instead="keep the name, or allow this finding and inform users of the package",
        good=change(_request(), _request()),
        bad=change(_request(), _request().replace("ProbeRequest", "TrialRequest")),
    ),
    _source(
        "message-moved",
        summary="A message stays in its package.",
        breaks="code that imports its class from the old package",
        instead="leave the file in its folder, or allow this finding and inform users of the package",
        good=change(f"// schemas/core/Probe.json\n{spec()}", f"// schemas/core/more/Probe.json\n{spec()}"),
        bad=change(f"// schemas/core/Probe.json\n{spec()}", f"// schemas/group/Probe.json\n{spec()}"),
    ),
    _source(
        "record-type-changed",
        summary="A metadata or coordinator record keeps its type: its bytes stay, but not its place in a registry.",
        breaks="code that finds the class by type and apiKey",
        instead="keep the type, or allow this finding and inform users of the package",
        good=change(_value("data", "4"), _value("coordinator-value", "4")),
        bad=change(_value("coordinator-value", "4"), _value("metadata", "4")),
    ),
    _source(
        "struct-renamed",
        summary="A struct keeps its name: code depends on it, although bytes do not.",
        breaks="code that imports its class",
        instead="keep the name, or allow this finding and inform users of the package",
        good=change(spec(field_of("[]Inner", fields=[LEAF])), spec(field_of("[]Inner", fields=[LEAF]))),
        bad=change(spec(field_of("[]Inner", fields=[LEAF])), spec(field_of("[]Other", fields=[LEAF]))),
    ),
    _source(
        "type-same-bytes",
        summary="A field keeps its type even where another has the same bytes.",
        breaks="code that sets or reads the attribute, which now has another type",
        instead="keep the type, or allow this finding and inform users of the package. An integer is widened that way, "
        "with the encoding of its old width in the released versions (KIP-625)",
        good=change(spec(field_of("[]int32")), spec(field_of("[]int32"), valid="0-4")),
        bad=change(spec(field_of("[]int32", versions="0-1")), spec(field_of("[]Inner", versions="0-1", fields=[LEAF]))),
    ),
    _source(
        "default-changed",
        summary="A plain field keeps its default.",
        breaks="code that relies on it: where it sets no value, it now sends another one",
        instead="keep the default, or allow this finding and inform users of the package",
        good=change(spec(field_of("int32")), spec(field_of("int32", default="0x0"))),
        bad=change(spec(field_of("int32")), spec(field_of("int32", default="-1"))),
    ),
    *COLUMNS,
    *NOTICES,
)
ALL = tuple(sorted((*_RULES, *ENUM_RULES), key=lambda rule: SEVERITIES.index(rule.severity)))
"""Every rule, in the order in which `kipgen rules` lists them."""

BY_ID = {rule.id: rule for rule in ALL}
