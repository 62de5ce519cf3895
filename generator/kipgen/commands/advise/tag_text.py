"""Advice on tags as people and as programs read it; the keys of `plain_message` and `plain_package` are public."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kipgen.commands.advise.samples import Samples
from kipgen.commands.advise.tag_counts import Forms
from kipgen.commands.advise.tag_savings import MessageAdvice, TagAdvice
from kipgen.commands.advise.text import omissions, plain_samples, share, table, to_paste, versions_text
from kipwire.tools.text import count_of

MOST_ROWS = 20
"""Fields that are shown of all messages together."""


def plain_message(advice: MessageAdvice, samples: Samples, package: str) -> dict[str, Any]:
    """Convert the advice on one message to plain data for `json.dumps`; docs/advise.md explains the keys."""
    return {
        "package": package,
        "samples": plain_samples(samples, advice.messages, advice.counts.versions),
        **_plain(advice),
    }


def plain_package(advices: Sequence[MessageAdvice], samples: Samples, package: str) -> dict[str, Any]:
    """Convert the advice on several messages to plain data for `json.dumps`."""
    flexible, others = _sums(advices)
    return {
        "package": package,
        "samples": plain_samples(samples, flexible.messages + others.messages, {}),
        "flexible": _plain_forms(flexible),
        "inflexible": _plain_forms(others),
        "saved": sum(advice.saved for advice in advices),
        "messages": [_plain(advice) for advice in advices],
    }


def _plain(advice: MessageAdvice) -> dict[str, Any]:
    return {
        "message": advice.spec.name,
        "spec": advice.spec.location.file,
        "next_version": advice.next_version,
        "next_is_flexible": advice.is_flexible_next,
        "flexible": _plain_forms(advice.counts.flexible),
        "inflexible": _plain_forms(advice.counts.others),
        "saved": advice.saved,
        "fields": [_plain_field(field) for field in advice.fields],
    }


def _plain_forms(forms: Forms) -> dict[str, int]:
    return {
        "messages": forms.messages,
        "bytes": forms.bytes,
        "saved_by_lengths": forms.lengths,
        "empty_sections": forms.empty_sections,
        "other_sections": forms.other_sections,
    }


def _plain_field(field: TagAdvice) -> dict[str, Any]:
    return {
        "path": field.path,
        "paths": list(field.paths),
        "line": field.field.location.line,
        "type": str(field.field.type),
        "tagged": field.is_tagged,
        "tag": field.tag,
        "count": field.use.values,
        "at_default": field.use.at_default,
        "saves": field.saves,
        "costs": field.costs,
        "net": field.net,
        "text": field.text,
        "note": field.note,
    }


def report_message(advice: MessageAdvice, samples: Samples, file: str) -> Iterator[RenderableType]:
    """Write the advice on one message for people, piece by piece; `file` is the spec as it is named."""
    versions = versions_text(advice.counts.versions)
    text = f"{advice.spec.name}: {count_of(advice.messages, 'message')} ({versions}), {_bytes(advice.forms.bytes)}"
    yield Text(text, style="bold")
    yield from omissions(samples)
    yield from _forms(advice.counts.flexible, advice.counts.others)
    yield ""
    yield _fields_table("Fields as tagged ones", [(field.path, field) for field in advice.fields], advice.messages)
    notes: dict[str, list[str]] = {}
    for field in advice.fields:
        if field.note:
            notes.setdefault(field.note, []).append(field.path)
    for note, paths in notes.items():
        yield Text(f"{', '.join(paths)}: {note}", style="dim")
    yield ""
    yield _verdict(advice.saved, advice.forms)
    yield from to_paste(advice, file, _due(advice))


def report_package(advices: Sequence[MessageAdvice], samples: Samples) -> Iterator[RenderableType]:
    """Write the advice on several messages for people."""
    flexible, others = _sums(advices)
    both = _both(flexible, others)
    text = f"{count_of(len(advices), 'spec')}: {count_of(both.messages, 'message')}, {_bytes(both.bytes)}"
    yield Text(text, style="bold")
    yield from omissions(samples)
    yield from _forms(flexible, others)
    yield ""
    rows = table("Bytes by message", "message")
    for name in ("messages", "bytes", "lengths save", "empty sections", "tags would save"):
        rows.add_column(name, justify="right", no_wrap=True)
    for advice in advices:
        forms = advice.forms
        numbers = (forms.messages, forms.bytes, forms.lengths, forms.empty_sections, advice.saved)
        rows.add_row(advice.spec.name, *(f"{number:,}" for number in numbers))
    yield rows
    fields = [(f"{one.spec.name}.{field.path}", field) for one in advices for field in one.fields]
    better = sorted((pair for pair in fields if pair[1].text), key=lambda pair: -pair[1].net)
    worse = sorted((pair for pair in fields if pair[1].is_tagged and pair[1].net < 0), key=lambda pair: pair[1].net)
    if better:
        yield _fields_table(_title("Fields to tag", better), better[:MOST_ROWS], both.messages)
    if worse:
        title = _title("Tagged fields that cost more than they save", worse)
        yield _fields_table(title, worse[:MOST_ROWS], both.messages)
    yield _verdict(sum(advice.saved for advice in advices), both)


def _title(title: str, fields: Sequence[object]) -> str:
    return f"{title}: {MOST_ROWS} of {len(fields)}" if len(fields) > MOST_ROWS else title


def _sums(advices: Sequence[MessageAdvice]) -> tuple[Forms, Forms]:
    flexible, others = Forms(), Forms()
    for advice in advices:
        flexible.add(advice.counts.flexible)
        others.add(advice.counts.others)
    return flexible, others


def _both(flexible: Forms, others: Forms) -> Forms:
    both = Forms()
    both.add(flexible)
    both.add(others)
    return both


def _bytes(size: int) -> str:
    return count_of(size, "byte")


def _forms(flexible: Forms, others: Forms) -> Iterator[Text]:
    if flexible.messages:
        sections = count_of(flexible.empty_sections, "empty tag section")
        yield Text(f"Compact lengths save {_bytes(flexible.lengths)}; {sections} cost as many bytes.")
    if others.messages:
        text = f"{count_of(others.messages, 'message')} of versions that are not flexible: compact lengths would save "
        text += f"{_bytes(others.lengths)}, and {count_of(others.empty_sections, 'tag section')} cost as many bytes."
        yield Text(text)


def _fields_table(title: str, fields: Sequence[tuple[str, TagAdvice]], messages: int) -> RenderableType:
    rows = table(title)
    rows.add_column("type", overflow="fold")
    for name in ("tag", "values", "at default", "saves", "costs", "in all", "a message"):
        rows.add_column(name, justify="right", no_wrap=True)
    for path, field in fields:
        tag = str(field.tag) if field.is_tagged or field.text else ""
        percent = share(field.use.at_default, field.use.values)
        net = Text(f"{field.net:,}", style="bold green" if field.text else "")
        numbers = (f"{field.use.values:,}", percent, f"{field.saves:,}", f"{field.costs:,}", net)
        rows.add_row(path, str(field.field.type), tag, *numbers, f"{field.net / messages:,.1f}")
    return rows


def _verdict(saved: int, forms: Forms) -> Text:
    if not saved:
        return Text("Nothing to change: no tag takes fewer bytes than what the spec has.", style="bold")
    text = f"Saved by tags in all: {saved:,} of {_bytes(forms.bytes)} ({share(saved, forms.bytes)})"
    return Text(f"{text}; {saved / forms.messages:,.1f} bytes a message.", style="bold")


def _due(advice: MessageAdvice) -> str:
    """Format the properties that the spec must have before it gets the tags."""
    due = f'"validVersions" is "{advice.spec.valid_versions.lowest}-{advice.next_version}"'
    return due if advice.is_flexible_next else f'{due} and "flexibleVersions" is "{advice.next_version}+"'
