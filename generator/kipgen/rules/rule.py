"""What a rule is, and how a plain function becomes one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NotRequired, TypedDict, Unpack

from kipgen.draft import Body, Draft, FieldDraft, Part
from kipgen.enum_spec import EnumDraft
from kipgen.problems import Problem, Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule objects to; the rule itself adds its id and severity."""

    part: Part
    text: str
    """What is wrong; what would be right."""
    property: str = "name"
    """The property that the place is taken from."""
    below: tuple[str | int, ...] = ()
    """The way on from there, to a part of the property's value."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a folder of specs."""

    draft: Draft
    folder: str
    """Its own folder; one folder is one registry of metadata or coordinator records."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The messages of a folder of specs, its sub-folders included."""

    entries: tuple[Entry, ...]
    is_complete: bool
    """Whether name, type and key of every file are known; if not, nothing can be said to be missing."""
    enums: tuple[EnumDraft, ...] = ()


Check = Callable[[Draft], Iterable[Finding]]
FolderCheck = Callable[[Folder], Iterable[Finding]]
EnumCheck = Callable[[EnumDraft], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the language. Rules without a check are enforced while a file is read."""

    id: str
    summary: str
    good: tuple[str, ...]
    """Specs that obey it, one text a file."""
    bad: tuple[str, ...]
    """Specs that break it, and no other rule."""
    severity: Severity | None = "error"
    """How bad it is by the language itself; None if only Kafka's generator minds."""
    kafka: Severity | None = "error"
    """How bad it is in a spec that is meant for Kafka's own generator."""
    check: Check | None = None
    folder_check: FolderCheck | None = None
    enum_check: EnumCheck | None = None

    def severity_for(self, kafka: bool) -> Severity | None:
        return self.kafka if kafka else self.severity

    def judge(self, draft: Draft, kafka: bool) -> Iterator[Problem]:
        """What the rule finds in one message."""
        severity = self.severity_for(kafka)
        if self.check is not None and severity is not None:
            for finding in self.check(draft):
                yield self._problem(finding, severity)

    def judge_folder(self, folder: Folder, kafka: bool) -> Iterator[Problem]:
        """What the rule finds between the messages of a folder."""
        severity = self.severity_for(kafka)
        if self.folder_check is not None and severity is not None:
            for finding in self.folder_check(folder):
                yield self._problem(finding, severity)

    def judge_enum(self, draft: EnumDraft, kafka: bool) -> Iterator[Problem]:
        """What the rule finds in one enum."""
        severity = self.severity_for(kafka)
        if self.enum_check is not None and severity is not None:
            for finding in self.enum_check(draft):
                yield self._problem(finding, severity)

    def _problem(self, finding: Finding, severity: Severity) -> Problem:
        place = finding.part.place(finding.property, *finding.below)
        return Problem(place, finding.part.names, self.id, finding.text, severity)


class Profile(TypedDict):
    """All of a rule but its check, as the decorators take it."""

    id: str
    summary: str
    good: str | tuple[str, ...]
    bad: str | tuple[str, ...]
    severity: NotRequired[Severity | None]
    kafka: NotRequired[Severity | None]


def reading_rule(**profile: Unpack[Profile]) -> Rule:
    """A rule that is enforced while a file is read."""
    return _rule(profile)


def message_rule(*needs: str, **profile: Unpack[Profile]) -> Callable[[Callable[[Draft], Finding | None]], Rule]:
    """Make a rule of a function that judges a message by its own properties.

    Args:
        needs: the properties that it looks at; it is not asked when one of them is known to be wrong. Nor is it asked
            about a retired message.
        profile: what the rule is called and how it is explained.
    """

    def decorate(judge: Callable[[Draft], Finding | None]) -> Rule:
        def check(draft: Draft) -> Iterator[Finding]:
            if not draft.is_retired and draft.part.broken.isdisjoint(needs) and (finding := judge(draft)):
                yield finding

        return _rule(profile, check)

    return decorate


def field_rule(
    *needs: str, message: tuple[str, ...] = (), **profile: Unpack[Profile]
) -> Callable[[Callable[[FieldDraft, Draft], Finding | None]], Rule]:
    """Make a rule of a function that judges a field by its own properties and by those of its message.

    Args:
        needs: the field's properties that it looks at; it is not asked when one of them is known to be wrong.
        message: the message's properties that it looks at; likewise, and not in a retired message either.
        profile: what the rule is called and how it is explained.
    """

    def decorate(judge: Callable[[FieldDraft, Draft], Finding | None]) -> Rule:
        def check(draft: Draft) -> Iterator[Finding]:
            if message and (draft.is_retired or not draft.part.broken.isdisjoint(message)):
                return
            for field in draft.fields:
                if field.part.broken.isdisjoint(needs) and (finding := judge(field, draft)):
                    yield finding

        return _rule(profile, check)

    return decorate


def body_rule(**profile: Unpack[Profile]) -> Callable[[Callable[[Body, Draft], Iterable[Finding]]], Rule]:
    """Make a rule of a function that judges the fields of one message or struct together."""

    def decorate(judge: Callable[[Body, Draft], Iterable[Finding]]) -> Rule:
        def check(draft: Draft) -> Iterator[Finding]:
            for body in draft.bodies:
                yield from judge(body, draft)

        return _rule(profile, check)

    return decorate


def layout_field_rule(
    *needs: str, **profile: Unpack[Profile]
) -> Callable[[Callable[[FieldDraft, Draft], Iterable[Finding]]], Rule]:
    """Make a rule of a function that judges a field of a layout by its own properties.

    Args:
        needs: the field's properties that it looks at; it is not asked when one of them is known to be wrong.
        profile: what the rule is called and how it is explained.
    """

    def decorate(judge: Callable[[FieldDraft, Draft], Iterable[Finding]]) -> Rule:
        def check(draft: Draft) -> Iterator[Finding]:
            for field in draft.fields if _is_layout(draft) else ():
                if field.part.broken.isdisjoint(needs):
                    yield from judge(field, draft)

        return _rule(profile, check)

    return decorate


def layout_body_rule(**profile: Unpack[Profile]) -> Callable[[Callable[[Body], Iterable[Finding]]], Rule]:
    """Make a rule of a function that judges the fields of a layout, or of a struct in it, together.

    It is not asked while something about one of these fields is known to be wrong.
    """

    def decorate(judge: Callable[[Body], Iterable[Finding]]) -> Rule:
        def check(draft: Draft) -> Iterator[Finding]:
            for body in draft.bodies if _is_layout(draft) else ():
                if not any(field.part.broken for field in body.fields):
                    yield from judge(body)

        return _rule(profile, check)

    return decorate


def layout_rule(**profile: Unpack[Profile]) -> Callable[[Check], Rule]:
    """Make a rule of a function that judges a whole layout; not asked while something about a field is wrong."""

    def decorate(judge: Check) -> Rule:
        def check(draft: Draft) -> Iterator[Finding]:
            if _is_layout(draft) and not any(field.part.broken for field in draft.fields):
                yield from judge(draft)

        return _rule(profile, check)

    return decorate


def draft_rule(**profile: Unpack[Profile]) -> Callable[[Check], Rule]:
    """Make a rule of a function that judges a whole message with its structs."""
    return lambda check: _rule(profile, check)


def folder_rule(**profile: Unpack[Profile]) -> Callable[[FolderCheck], Rule]:
    """Make a rule of a function that judges the messages of a folder together."""
    return lambda check: _rule(profile, folder_check=check)


def enum_rule(**profile: Unpack[Profile]) -> Callable[[EnumCheck], Rule]:
    """Make a rule of a function that judges an enum."""
    return lambda check: _rule(profile, enum_check=check)


def _is_layout(draft: Draft) -> bool:
    """Whether the message is known to be a layout that has versions."""
    return draft.message.is_layout and not draft.is_retired and draft.part.broken.isdisjoint(("type", "validVersions"))


def _rule(
    profile: Profile,
    check: Check | None = None,
    folder_check: FolderCheck | None = None,
    enum_check: EnumCheck | None = None,
) -> Rule:
    good, bad = profile["good"], profile["bad"]
    return Rule(
        id=profile["id"],
        summary=profile["summary"],
        good=(good,) if isinstance(good, str) else good,
        bad=(bad,) if isinstance(bad, str) else bad,
        severity=profile.get("severity", "error"),
        kafka=profile.get("kafka", "error"),
        check=check,
        folder_check=folder_check,
        enum_check=enum_check,
    )
