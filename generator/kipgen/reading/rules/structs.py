"""The structs of a message: one flat name space of inline and common structs.

Names of structs become names of classes in one module, so inline and common structs share one name space. Common
structs may use each other, but never in a circle: generated readers and the kernel's plans need a finite depth, and
`struct-depth` bounds it.

Kafka's StructRegistry has the same name space and fewer checks: a circle, or a common struct in a version without it,
ends in an internal null error, and a type without a definition is an empty struct. So each has a rule with a text.

These rules run on specs that may have circles and chains of any length, so nothing here is recursive.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.language.foreign_types import advice_on_struct
from kipgen.reading.draft import Draft, FieldDraft, StructDraft
from kipgen.reading.rules.examples import LEAF, field_of, spec, struct_named
from kipgen.reading.rules.rule import Finding, draft_rule, repeats
from kipgen.reading.source import MAX_DEPTH
from kipwire.model.types import TYPES
from kipwire.tools.text import did_you_mean

MAX_STRUCTS = MAX_DEPTH // 2
"""Limit for the nesting of common structs: the same as for inline ones, which take two levels of a file each."""

_SHARED = struct_named("Shared", LEAF)


def _chain(count: int) -> tuple[str, ...]:
    """Common structs S1, S2 and so on, each in the one before."""
    users = [struct_named(f"S{number}", field_of(f"S{number + 1}", "Next")) for number in range(1, count)]
    return (*users, struct_named(f"S{count}"))


@draft_rule(
    summary="A struct that several fields use is a common struct; an inline struct has one use.",
    good=spec(field_of("Shared"), field_of("[]Shared", "Beta"), common=(_SHARED,)),
    bad=spec(field_of("Inner", fields=[LEAF]), field_of("[]Inner", "Beta", fields=[])),
)
def inline_struct_twice(draft: Draft) -> Iterator[Finding]:
    inline = (struct for struct in draft.structs if struct.kind == "inline" and not _in_common_struct(struct))
    for struct, first in repeats((one for one in inline if "type" not in one.part.broken), lambda it: it.spec.name):
        text = f"{struct.spec.name} is already used in line {first.part.location('type').line}"
        yield Finding(struct.part, f"{text}; move it to commonStructs, or rename one of the two", "type")


@draft_rule(
    summary="The structs that a common struct uses are common structs, too.",
    good=spec(field_of("Outer"), common=(struct_named("Outer", field_of("Shared", "Inside")), _SHARED)),
    bad=spec(field_of("Outer"), common=(struct_named("Outer", field_of("Inner", "Inside", fields=[])),)),
)
def inline_in_common(draft: Draft) -> Iterator[Finding]:
    # Kafka registers the inline structs of the message's fields alone, and refuses others.
    inline = _defined_names(draft) - draft.common.keys()
    for struct in draft.structs:
        for field in struct.fields if struct.kind == "common" else ():
            type_ = field.spec.type
            if type_.element in inline and "type" not in field.part.broken:
                text = f"{type_.element} is used by the common struct {struct.spec.name}"
                yield Finding(field.part, f"{text}; move its definition to commonStructs", "type")


@draft_rule(
    summary="A field that uses a common struct has no fields of its own.",
    good=spec(field_of("Shared"), common=(_SHARED,)),
    bad=spec(field_of("Shared", fields=[LEAF]), common=(_SHARED,)),
)
def common_struct_fields(draft: Draft) -> Iterator[Finding]:
    for field, struct in _common_uses(draft):
        if field.fields_given:
            text = f"{struct.spec.name} is a common struct (line {struct.part.location().line}) with its own fields"
            yield Finding(field.part, f"{text}; leave these out", "fields")


@draft_rule(
    summary="A common struct exists in all versions in which it is used.",
    good=spec(field_of("Shared", versions="1+"), common=(struct_named("Shared", versions="1+"),)),
    bad=spec(field_of("Shared"), common=(struct_named("Shared", versions="1+"),)),
)
def common_struct_versions(draft: Draft) -> Iterator[Finding]:
    for field, struct in _common_uses(draft):
        if field.present is None or "versions" in struct.part.broken:
            continue
        if not struct.spec.versions.contains(field.present):
            name = struct.spec.name
            text = f"the field exists in versions {field.present}, but {name} in {struct.spec.versions} only"
            yield Finding(field.part, f"{text}; widen {name}'s versions", "versions")


@draft_rule(
    summary="No struct contains itself, directly or through others.",
    good=spec(field_of("Node"), common=(struct_named("Node"),)),
    bad=spec(field_of("Node"), common=(struct_named("Node", field_of("[]Node", "Next")),)),
)
def recursive_struct(draft: Draft) -> Iterator[Finding]:
    common = draft.common
    depths = _depths(common)
    reported: set[str] = set()
    for name, struct in common.items():
        # A circle is one mistake, though each struct in it contains itself. One that only leads into it has no way
        # back.
        circle = () if name in depths or name in reported else _way_back(name, common)
        if circle and reported.isdisjoint(circle):
            reported.update(circle)
            way = " -> ".join((*circle, name))
            yield Finding(struct.part, f"{name} contains itself ({way}); remove one of these fields")


@draft_rule(
    summary=f"Common structs are nested at most {MAX_STRUCTS} levels deep.",
    good=spec(field_of("S1"), common=_chain(MAX_STRUCTS)),
    bad=spec(field_of("S1"), common=_chain(MAX_STRUCTS + 1)),
)
def struct_depth(draft: Draft) -> Iterator[Finding]:
    common = draft.common
    for name, depth in _depths(common).items():
        if depth == MAX_STRUCTS + 1:  # those that use it are too deep because of it
            text = f"{name} nests structs {depth} levels deep; the limit is {MAX_STRUCTS}"
            yield Finding(common[name].part, f"{text}; move the fields of an inner struct into the one that uses it")


@draft_rule(
    summary="Common structs have different names.",
    good=spec(field_of("Shared"), common=(_SHARED,)),
    bad=spec(field_of("Shared"), common=(struct_named("Shared"), struct_named("Shared"))),
)
def duplicate_struct(draft: Draft) -> Iterator[Finding]:
    for struct in draft.structs:
        if struct.kind == "common" and "name" not in struct.part.broken:
            first = draft.common[struct.spec.name]
            if first is not struct:
                text = f"the common struct in line {first.part.location().line} already has this name; rename one"
                yield Finding(struct.part, text)


@draft_rule(
    summary="A struct does not have the name of its message: both become classes of one module.",
    good=spec(field_of("ProbeAlpha", fields=[])),
    bad=spec(field_of("Probe", fields=[])),
)
def struct_name_clash(draft: Draft) -> Iterator[Finding]:
    for struct in draft.structs:
        if struct.kind in ("inline", "common") and struct.spec.name == draft.message.name and struct.spec.name:
            text = f"{struct.spec.name} is the name of the message; give the struct another name"
            yield Finding(struct.part, text, "type" if struct.kind == "inline" else "name")


@draft_rule(
    summary="A struct has a definition: in commonStructs, or in the fields of the field that uses it. To Kafka's "
    "generator one without a definition is an empty struct.",
    good=spec(field_of("[]Item", fields=[LEAF])),
    bad=spec(field_of("[]Item", fields=[LEAF]), field_of("[]Itme", "Beta")),
)
def undefined_struct(draft: Draft) -> Iterator[Finding]:
    defined = _defined_names(draft)
    for struct in _undefined_uses(draft):
        name = struct.spec.name
        # These have a rule of their own: earlier revisions may break it and are still compared (`BETWEEN_REVISIONS`).
        if name.lower() in TYPES and not _in_common_struct(struct):
            continue
        guess = f"; did you mean {name.lower()}?" if name.lower() in TYPES else did_you_mean(name, sorted(defined))
        where = "define it in commonStructs" if _in_common_struct(struct) else "give it fields, if only an empty list"
        advice = advice_on_struct(name)
        hint = f"; {advice}" if advice else guess or f"; {where}"
        yield Finding(struct.part, f"the struct {name} is not defined{hint}", "type")


@draft_rule(
    summary="A struct that has the name of a primitive, but with capitals, has a definition. To Kafka's generator one "
    "without is an empty struct.",
    good=spec(field_of("int32")),
    bad=spec(field_of("INT32")),
)
def primitive_in_capitals(draft: Draft) -> Iterator[Finding]:
    for struct in _undefined_uses(draft):
        name = struct.spec.name
        if name.lower() in TYPES and not _in_common_struct(struct):
            text = f"{name} is not a type but the name of a struct, which has no definition; write {name.lower()}"
            yield Finding(struct.part, text, "type")


def _defined_names(draft: Draft) -> set[str]:
    """Return the names of the structs that have a definition, if only an empty one."""
    return {struct.spec.name for struct in draft.structs if struct.kind == "common" or "fields" in struct.part.given}


def _undefined_uses(draft: Draft) -> Iterator[StructDraft]:
    """Yield the uses of structs without a definition."""
    defined = _defined_names(draft)
    for struct in draft.structs:
        is_known = struct.part.broken.isdisjoint(("type", "fields"))
        if struct.kind == "inline" and struct.spec.name not in defined and is_known:
            yield struct


def _in_common_struct(struct: StructDraft) -> bool:
    return struct.part.path[:1] == ("commonStructs",)


def _common_uses(draft: Draft) -> Iterator[tuple[FieldDraft, StructDraft]]:
    common = draft.common
    for field in draft.fields:
        struct = common.get(field.spec.type.element)
        if struct is not None:
            yield field, struct


def _uses(struct: StructDraft, common: dict[str, StructDraft]) -> set[str]:
    """Return the names of the common structs that the fields of a struct have."""
    return {field.spec.type.element for field in struct.fields} & common.keys()


def _depths(common: dict[str, StructDraft]) -> dict[str, int]:
    """Compute the nesting depth of each common struct; structs that lead into a circle are left out."""
    left = {name: _uses(struct, common) for name, struct in common.items()}
    users: dict[str, list[str]] = {name: [] for name in common}
    for name, used in left.items():
        for one in used:
            users[one].append(name)
    depths = {name: 1 for name, used in left.items() if not used}
    waiting = list(depths)
    for name in waiting:  # which grows; a loop, since a chain may be longer than Python's limit of recursion
        for user in users[name]:
            left[user].remove(name)
            if not left[user]:
                # Last of what it uses; none of it is deeper, as shallow structs are done first.
                depths[user] = depths[name] + 1
                waiting.append(user)
    return depths


def _way_back(name: str, common: dict[str, StructDraft]) -> tuple[str, ...]:
    """Find the common structs on a path from one to itself; empty without such a path."""
    before: dict[str, str] = {}
    waiting = [name]
    for one in waiting:  # which grows
        for used in sorted(_uses(common[one], common)):
            if used == name:
                way = [one]
                while way[-1] != name:
                    way.append(before[way[-1]])
                return tuple(reversed(way))
            if used not in before:
                before[used] = one
                waiting.append(used)
    return ()
