"""The rules that are checked while a file is read: its text, its JSON Schema, and the grammar of each property.

They have no function: the code that finds such a fault has the id as a text. These are rows all the same, so that
`kipgen rules` explains every id that a problem can have.
"""

from __future__ import annotations

from kipgen.reading.rules.examples import ALPHA, field_of, layout, spec, struct_named
from kipgen.reading.rules.rule import reading_rule
from kipgen.reading.source import MAX_DEPTH

RULES = (
    reading_rule(
        "unreadable", summary="A spec is a file of UTF-8 text that can be read and is not empty.", good=spec(), bad=""
    ),
    reading_rule(
        "syntax",
        summary="A file contains one JSON object; // and /* */ comments are allowed.",
        good="// Kept since version 0.\n" + spec(),
        bad=spec(ALPHA + ","),
    ),
    reading_rule(
        "duplicate-key",
        summary="An object has one value for each of its properties.",
        good=spec(ALPHA),
        bad=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "versions": "1+"}'),
    ),
    reading_rule(
        "repeated-key",
        summary="An object has each of its properties once, also where the values are the same.",
        good=spec(ALPHA),
        bad=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "versions": "0+"}'),
        severity="warning",
        kafka="warning",
    ),
    reading_rule(
        "nesting-depth",
        summary=f"Lists and objects are nested at most {MAX_DEPTH} deep.",
        good=spec(),
        bad="[" * (MAX_DEPTH + 1),
    ),
    reading_rule(
        "unknown-property",
        summary="An object has only properties of the language.",
        good=spec(field_of("string", nullableVersions="0+")),
        bad=spec(field_of("string", nullableVersion="0+")),
    ),
    reading_rule(
        "missing-property",
        summary="A message has name, type, validVersions and flexibleVersions (unless it is retired, or a layout); "
        "a common struct has name and versions; a field has name and type; "
        "a name for bits has name and bits; a checksum has algorithm and from.",
        good=spec(ALPHA),
        bad=spec(struct_named("Alpha")),
    ),
    reading_rule(
        "wrong-kind",
        summary="A property's value has the right kind: a string, a number, a list, an object.",
        good=spec(field_of("int32", versions="2+", tag=0, taggedVersions="2+")),
        bad=spec(field_of("int32", versions="2+", tag=0.7, taggedVersions="2+")),
    ),
    reading_rule(
        "control-character",
        summary="The text of an about, or of a register's column, has no control characters except line ends and tabs.",
        good=spec(more='"about": "One line.\\nAnother one."'),
        bad=spec(more='"about": "Ends here:\\u0000."'),
    ),
    reading_rule(
        "unknown-word",
        summary="Message types, listeners and the forms of layouts are words of the language, in their exact case; "
        "an entity type is some word.",
        good=spec(name="ProbeRequest", type_="request"),
        bad=spec(name="ProbeRequest", type_="Request"),
    ),
    reading_rule(
        "name-form",
        summary="A name is letters and digits, with a letter first; that of a message or struct with a capital first.",
        good=spec(field_of("int32", "First")),
        bad=spec(field_of("int32", "1st")),
    ),
    reading_rule(
        "api-key-range",
        summary="An API key is a 16-bit number.",
        good=spec(name="ProbeRequest", type_="request", more='"apiKey": 900'),
        bad=spec(name="ProbeRequest", type_="request", more='"apiKey": 90000'),
    ),
    reading_rule(
        "tag-range",
        summary="A tag is a 31-bit number (KIP-482).",
        good=spec(field_of("int32", versions="2+", tag=0, taggedVersions="2+")),
        bad=spec(field_of("int32", versions="2+", tag=-1, taggedVersions="2+")),
    ),
    reading_rule(
        "version-syntax",
        summary="A version range is none, N, N-M or N+ with versions from 0 to 32767, the lower one first.",
        good=spec(field_of("int32", versions="1-3")),
        bad=spec(field_of("int32", versions="3-1")),
    ),
    reading_rule(
        "header-version-syntax",
        summary="headerVersions has numbers: the versions of the header, from 0 to 32766.",
        good=spec(name="ProbeRequest", type_="request", more='"headerVersions": {"0-1": "1", "2+": "2"}'),
        bad=spec(name="ProbeRequest", type_="request", more='"headerVersions": {"0-1": "one", "2+": "2"}'),
    ),
    reading_rule(
        "versions-missing",
        summary="A field that is not tagged has versions.",
        good=spec(ALPHA),
        bad=spec('{"name": "Alpha", "type": "int32"}'),
    ),
    reading_rule(
        "type-syntax",
        summary="A type is a primitive, a struct's name with a capital first, or [] and one of those.",
        good=spec(field_of("float64")),
        bad=spec(field_of("float32")),
    ),
    reading_rule(
        "default-value",
        summary="A default is a value of the field's type; hex digits are a value, not a bit pattern.",
        good=spec(field_of("int8", default="0x7f")),
        bad=spec(field_of("int8", default="0xff")),
    ),
    reading_rule(
        "encoding-name",
        summary="An encoding is fixed, packed or upacked, then 16, 32 or 64 (KIP-625).",
        good=spec(field_of("int32", encoding="upacked32")),
        bad=spec(field_of("int32", encoding="unsigned32")),
    ),
    reading_rule(
        "not-in-layouts",
        summary="A field of a layout has no tag, taggedVersions, flexibleVersions or elementEncoding.",
        good=layout(field_of("int32", encoding="packed32")),
        bad=layout(field_of("int32", tag=0, taggedVersions="0+")),
    ),
    reading_rule(
        "constant-value",
        summary="A constant is a whole number, decimal or 0x and hex digits, or the word version.",
        good=layout(field_of("int8", constant="version")),
        bad=layout(field_of("int8", constant="two")),
    ),
    reading_rule(
        "bits-range",
        summary="Bits are one number or a range of numbers, the lower one first; 0 is the lowest bit.",
        good=layout(field_of("int8", bits=[{"name": "Codec", "bits": "0-2"}, {"name": "IsLast", "bits": "7"}])),
        bad=layout(field_of("int8", bits=[{"name": "Codec", "bits": "2-0"}, {"name": "IsLast", "bits": "7"}])),
    ),
)
