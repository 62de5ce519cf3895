"""Rules, and the decorators that make them of plain functions.

A rule reports one fault, once, where it is. So it must not run on what is already known to be wrong: the decorators
with `needs` see to that by `SpecPart.broken`. Functions under `draft_rule`, `struct_rule`, `folder_rule` and
`enum_rule` get everything, and look at `broken` themselves.

The good example must pass, and the bad one must break this rule and no other. That keeps two rules from reporting the
same fault, and it is why some functions pass over what looks wrong: another rule has it.

The name of a function is its rule's id, which users see in problems, in SARIF and in `kipgen rules`. Renaming a
function is a change for them.

`severity` is about the language, `kafka` about specs that Kafka's generator must read, too. Most rules are errors for
both. A warning that becomes an error is a demand of the generator alone. None and "error" is something that the
generator cannot take, although the language has it, and None and "warning" what some of its releases cannot take;
"error" and None is a rule about such a property, which is not reported twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict, TypeVar, Unpack

from kipgen.language.problems import Problem, Severity
from kipgen.reading.draft import Draft, FieldDraft, SpecPart, StructDraft
from kipgen.reading.enum_spec import EnumDraft
from kipgen.reading.schema_check import properties_of
from kipwire.tools.text import did_you_mean


@dataclass(frozen=True, slots=True)
class Finding:
    """Report of a rule; the rule itself adds its id and severity."""

    part: SpecPart
    text: str
    """The fault, then the remedy."""
    property: str = "name"
    """The property whose location is reported."""
    below: tuple[str | int, ...] = ()
    """The path from there to a part of the property's value."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The messages of a folder of specs, its sub-folders included."""

    messages: tuple[Draft, ...]
    is_complete: bool
    """True if name, type and key of every file are known; if not, nothing is reported as missing."""
    enums: tuple[EnumDraft, ...] = ()


T = TypeVar("T")
Subject = Draft | Folder | EnumDraft
"""Subject of a rule: a message, the messages of a folder together, or an enum."""
Check = Callable[[T], Iterable[Finding]]
PartCheck = Callable[[T, Draft], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the language."""

    id: str
    summary: str
    good: tuple[str, ...]
    """Specs that obey the rule, one text a file."""
    bad: tuple[str, ...]
    """Specs that break the rule, and no other."""
    severity: Severity | None = "error"
    """Severity in the language itself; None if only Kafka's generator has the rule."""
    kafka: Severity | None = "error"
    """Severity in a spec for Kafka's own generator."""
    subject: type[Subject] | None = None
    """Type of the subject; None if the rule is applied while a file is read."""
    check: Check[Any] = lambda _: ()

    def severity_for(self, kafka: bool) -> Severity | None:
        return self.kafka if kafka else self.severity

    def judge(self, subject: Subject, kafka: bool) -> Iterator[Problem]:
        """Yield the rule's problems; none for another type of subject."""
        severity = self.severity_for(kafka)
        # So `check` can give every subject to every rule.
        if type(subject) is not self.subject or severity is None:
            return
        for finding in self.check(subject):
            location = finding.part.location(finding.property, *finding.below)
            yield Problem(location, finding.part.names, self.id, finding.text, severity)


class Profile(TypedDict):
    """All of a rule except its check and its id, as the decorators take it."""

    summary: str
    good: str | tuple[str, ...]
    bad: str | tuple[str, ...]
    severity: NotRequired[Severity | None]
    kafka: NotRequired[Severity | None]


def reading_rule(id_: str, **profile: Unpack[Profile]) -> Rule:
    """Make a rule that is applied while a file is read."""
    return _rule(id_, profile, None)


def repeats(items: Iterable[T], key: Callable[[T], object]) -> Iterator[tuple[T, T]]:
    """Yield the items with the key of an earlier item, each with the first one that has the key."""
    first: dict[object, T] = {}
    for item in items:
        earlier = first.setdefault(key(item), item)
        if earlier is not item:
            yield item, earlier


# The decorators. A rule has the name of its function, with hyphens: `tag_gap` makes the rule `tag-gap`.


def message_rule(needs: tuple[str, ...], **profile: Unpack[Profile]) -> Callable[[Check[Draft]], Rule]:
    """Make a rule of a function that judges a message by its own properties.

    Args:
        needs: the properties that the function looks at; it is not called if one of them is known to be wrong, or if
            the message is retired.
        profile: how the rule is explained.
    """
    _need_properties("message", needs)
    return _of_drafts(lambda draft: not draft.is_retired and draft.part.broken.isdisjoint(needs), profile)


def draft_rule(**profile: Unpack[Profile]) -> Callable[[Check[Draft]], Rule]:
    """Make a rule of a function that judges a whole message with its structs."""
    return _of_drafts(lambda _: True, profile)


def layout_rule(**profile: Unpack[Profile]) -> Callable[[Check[Draft]], Rule]:
    """Make a rule of a function that judges a whole layout; not called while a field is known to be wrong.

    Where a struct ends, and if it can be empty, depends on all fields in it and in the structs below.
    """
    return _of_drafts(lambda draft: _is_layout(draft) and not _is_any_broken(draft.fields), profile)


def field_rule(
    needs: tuple[str, ...] = (), message: tuple[str, ...] = (), **profile: Unpack[Profile]
) -> Callable[[PartCheck[FieldDraft]], Rule]:
    """Make a rule of a function that judges a field by its own properties and its message's.

    Args:
        needs: the field's properties that the function reads; it is not called if one of them is known to be wrong.
        message: the message's properties that the function reads; likewise, and not in a retired message either.
        profile: how the rule is explained.
    """
    _need_properties("field", needs)
    _need_properties("message", message)

    def fields(draft: Draft) -> Iterator[FieldDraft]:
        if not message or (not draft.is_retired and draft.part.broken.isdisjoint(message)):
            yield from _unbroken(draft.fields, needs)

    return _of_parts(fields, profile)


def layout_field_rule(
    needs: tuple[str, ...] = (), **profile: Unpack[Profile]
) -> Callable[[PartCheck[FieldDraft]], Rule]:
    """Make a rule of a function that judges a field of a layout; for the arguments see `field_rule`."""
    _need_properties("field", needs)
    return _of_parts(lambda draft: _unbroken(draft.fields, needs) if _is_layout(draft) else (), profile)


def struct_rule(**profile: Unpack[Profile]) -> Callable[[PartCheck[StructDraft]], Rule]:
    """Make a rule of a function that judges the fields of one message or struct together."""
    return _of_parts(lambda draft: draft.structs, profile)


def layout_struct_rule(**profile: Unpack[Profile]) -> Callable[[PartCheck[StructDraft]], Rule]:
    """Make a rule of a function that judges the fields of a layout, or of a struct in it, together.

    The function is not called while one of these fields is known to be wrong.
    """

    def structs(draft: Draft) -> Iterator[StructDraft]:
        if _is_layout(draft):
            yield from (struct for struct in draft.structs if not _is_any_broken(struct.fields))

    return _of_parts(structs, profile)


def folder_rule(**profile: Unpack[Profile]) -> Callable[[Check[Folder]], Rule]:
    """Make a rule of a function that judges the messages of a folder together."""
    return lambda check: _rule(_id_of(check), profile, Folder, check)


def enum_rule(**profile: Unpack[Profile]) -> Callable[[Check[EnumDraft]], Rule]:
    """Make a rule of a function that judges an enum."""
    return lambda check: _rule(_id_of(check), profile, EnumDraft, check)


def _need_properties(part: Literal["message", "field"], needs: Iterable[str]) -> None:
    """Refuse a need that is no property: nothing would ever be broken by that name, and the guard would be open.

    Raises:
        ValueError: a rule names such a need.
    """
    for name in needs:
        if name not in properties_of(part):
            guess = did_you_mean(name, properties_of(part)) or "; message-spec.schema.json has them all"
            raise ValueError(f"a rule needs {name!r}, which is no property of a {part}{guess}")


def _of_drafts(applies_to: Callable[[Draft], bool], profile: Profile) -> Callable[[Check[Draft]], Rule]:
    """Make the decorator for functions that check some messages."""
    return lambda judge: _rule(_id_of(judge), profile, Draft, lambda draft: judge(draft) if applies_to(draft) else ())


def _of_parts(parts: Callable[[Draft], Iterable[T]], profile: Profile) -> Callable[[PartCheck[T]], Rule]:
    """Make the decorator for functions that check some parts of a message."""

    def decorate(judge: PartCheck[T]) -> Rule:
        def check(draft: Draft) -> Iterator[Finding]:
            for part in parts(draft):
                yield from judge(part, draft)

        return _rule(_id_of(judge), profile, Draft, check)

    return decorate


def _unbroken(fields: Iterable[FieldDraft], needs: Iterable[str]) -> Iterator[FieldDraft]:
    return (field for field in fields if field.part.broken.isdisjoint(needs))


def _is_any_broken(fields: Iterable[FieldDraft]) -> bool:
    return any(field.part.broken for field in fields)


def _is_layout(draft: Draft) -> bool:
    """True if the message is certainly a layout with versions."""
    return draft.message.is_layout and not draft.is_retired and draft.part.broken.isdisjoint(("type", "validVersions"))


def _id_of(function: Callable[..., object]) -> str:
    return function.__name__.replace("_", "-")


def _rule(id_: str, profile: Profile, subject: type[Subject] | None, check: Check[Any] = lambda _: ()) -> Rule:
    good, bad = profile["good"], profile["bad"]
    return Rule(
        id=id_,
        summary=profile["summary"],
        good=(good,) if isinstance(good, str) else good,
        bad=(bad,) if isinstance(bad, str) else bad,
        severity=profile.get("severity", "error"),
        kafka=profile.get("kafka", "error"),
        subject=subject,
        check=check,
    )
