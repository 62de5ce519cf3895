"""Advice as people and as programs read it: tables and lines to paste, or plain data for JSON.

Nothing is computed here but shares and means: `savings` and `times` have all figures, and both forms show the same. The
keys of `plain` are public (docs/advise.md); the lines of `report` are not. The text to paste is in the order of
lines in the spec, as one edits it from top to bottom, while tables begin with what saves most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kipgen.commands.advise.samples import Samples
from kipgen.commands.advise.savings import Advice, FieldAdvice
from kipgen.commands.advise.tag_savings import MessageAdvice
from kipgen.commands.advise.times import Times
from kipwire.tools.text import count_of

FAILURES_SHOWN = 5

ELEMENT_MARK = "[*]"
"""Follows the path of a field if its array's elements are meant."""


def plain(advice: Advice, samples: Samples, package: str, times: Times | None = None) -> dict[str, Any]:
    """Convert the advice to plain data for `json.dumps`; docs/advise.md explains the keys."""
    return {
        "message": advice.spec.name,
        "spec": advice.spec.location.file,
        "package": package,
        "next_version": advice.next_version,
        "samples": plain_samples(samples, advice.messages, advice.versions),
        "saved": advice.saved(elements=False),
        "saved_with_extension": advice.saved(elements=False) + advice.saved(elements=True),
        "fields": [_plain_field(field, advice.messages) for field in advice.fields],
        "times": None if times is None else {**asdict(times), "left_out": [*times.left_out]},
    }


def plain_samples(samples: Samples, messages: int, versions: Mapping[int, int]) -> dict[str, Any]:
    """Convert what is known about the samples to plain data."""
    return {
        "messages": messages,
        "bytes": samples.bytes,
        "by_version": {str(version): count for version, count in sorted(versions.items())},
        "not_decoded": samples.not_decoded,
        "failures": samples.failures,
        "other_frames": samples.others,
    }


def _plain_field(field: FieldAdvice, messages: int) -> dict[str, Any]:
    counts = field.counts
    return {
        "path": field.path,
        "paths": list(field.paths),
        "line": field.field.location.line,
        "type": str(field.field.type),
        "property": field.property_name,
        "needs_extension": field.is_element,
        "count": counts.count,
        "minimum": counts.minimum,
        "maximum": counts.maximum,
        "mean": counts.total / counts.count if counts.count else None,
        "negative": counts.negative,
        "negative_share": counts.negative / counts.count if counts.count else None,
        "values_by_packed_bytes": _by_bytes(counts.packed),
        "values_by_upacked_bytes": _by_bytes(counts.upacked),
        "bytes": dict(field.sizes),
        "current": str(field.current),
        "best": str(field.best),
        "saved": field.saved,
        "saved_per_message": field.saved / messages if messages else 0.0,
        "versions": {str(versions): str(encoding) for versions, encoding in field.encodings},
        "text": field.text,
        "note": field.note,
    }


def _by_bytes(histogram: Sequence[int]) -> dict[str, int]:
    return {str(size): count for size, count in enumerate(histogram, 1)}


def report(advice: Advice, samples: Samples, file: str, times: Times | None = None) -> Iterator[RenderableType]:
    """Write the advice for people, piece by piece.

    Args:
        advice: all advice on one message.
        samples: the samples that the advice comes from.
        file: the spec, as it is named where a line of it is shown.
        times: of the samples, if they were measured.
    """
    yield _heading(advice, samples)
    yield from omissions(samples)
    with_values = [field for field in advice.fields if field.counts.count]
    if with_values:
        yield ""
        yield _values_table(with_values)
        yield _lengths_table(with_values)
        yield _bytes_table(with_values, advice.messages)
        if any(field.is_element for field in with_values):
            yield Text(f"{ELEMENT_MARK}  the elements of an array. KIP-625 has encodings for single integers alone;")
            yield Text("     elementEncoding is kipwire's extension of it.")
    if times is not None:
        yield from _times(times, advice)
    yield from _notes(advice)
    yield ""
    yield _verdict(advice, samples)
    yield from to_paste(advice, file, f'"validVersions" is "{advice.spec.valid_versions.lowest}-{advice.next_version}"')


def _heading(advice: Advice, samples: Samples) -> Text:
    versions = versions_text(advice.versions)
    text = f"{advice.spec.name}: {count_of(advice.messages, 'message')} ({versions}), {count_of(samples.bytes, 'byte')}"
    return Text(text, style="bold")


def versions_text(versions: Mapping[int, int]) -> str:
    """Format the numbers of messages by version."""
    return ", ".join(f"v{version}: {count:,}" for version, count in sorted(versions.items()))


def omissions(samples: Samples) -> Iterator[Text]:
    """Report what of the samples is not in the figures."""
    if samples.others:
        yield Text(f"{count_of(samples.others, 'frame')} of other messages skipped", style="dim")
    if samples.not_decoded:
        yield from failures(samples)


def failures(samples: Samples) -> Iterator[Text]:
    """Report the messages that could not be decoded: how many, and why the first ones could not."""
    yield Text(f"not in the figures: {count_of(samples.not_decoded, 'message')} that cannot be decoded", style="red")
    for line in samples.failures[:FAILURES_SHOWN]:
        yield Text(f"  {line}", style="red")
    if samples.not_decoded > FAILURES_SHOWN:
        yield Text(f"  and {samples.not_decoded - FAILURES_SHOWN:,} more", style="red")


def table(title: str, first: str = "field") -> Table:
    """Make a table with the names of fields, or of something else, in its first column."""
    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    made.add_column(first, overflow="fold", min_width=16)
    return made


def _values_table(fields: Sequence[FieldAdvice]) -> Table:
    rows = table("Values")
    rows.add_column("type")
    for name in ("values", "lowest", "highest", "below 0"):
        rows.add_column(name, justify="right", no_wrap=True)
    for field in fields:
        counts = field.counts
        ends = str(counts.minimum), str(counts.maximum)
        negative = share(counts.negative, counts.count) if counts.negative else ""
        rows.add_row(label(field), str(field.field.type), f"{counts.count:,}", *ends, negative)
    return rows


def _lengths_table(fields: Sequence[FieldAdvice]) -> Table:
    rows = table("Bytes of a value as varint, with the share of values of that length")
    for name in ("packed", "upacked"):
        rows.add_column(name)
    for field in fields:
        counts = field.counts
        rows.add_row(label(field), _histogram(counts.packed, counts.count), _histogram(counts.upacked, counts.count))
    return rows


def _histogram(histogram: Sequence[int], count: int) -> str:
    """Return the shares of sizes in bytes, such as `1: 98%, 2: 2%`."""
    return ", ".join(f"{size}: {share(part, count)}" for size, part in enumerate(histogram, 1) if part)


def _bytes_table(fields: Sequence[FieldAdvice], messages: int) -> Table:
    rows = table("Bytes in total under each encoding of the type's width")
    for name in ("fixed", "packed", "upacked"):
        rows.add_column(name, justify="right", no_wrap=True)
    # Mostly no field has an encoding yet, and a column of equal words would only take room.
    show_current = any(str(field.current) != next(iter(field.sizes)) for field in fields)
    for name in ("now", "best") if show_current else ("best",):
        rows.add_column(name, no_wrap=True)
    for name in ("saved", "a message"):
        rows.add_column(name, justify="right", no_wrap=True)
    for field in fields:
        bits = field.field.type.bits
        cells = []
        for scheme in ("fixed", "packed", "upacked"):
            size = f"{field.sizes[f'{scheme}{bits}']:,}"
            cells.append(Text(size, style="bold green" if f"{scheme}{bits}" == str(field.best) else ""))
        saved = f"{field.saved:,}" if field.saved else ""
        each = f"{field.saved / messages:,.1f}" if field.saved else ""
        encodings = (str(field.current), str(field.best)) if show_current else (str(field.best),)
        rows.add_row(label(field), *cells, *encodings, saved, each)
    return rows


def _times(times: Times, advice: Advice) -> Iterator[RenderableType]:
    """Compare the times of the present encodings and of the advised ones."""
    rows = table(f"Time of a message in version {advice.next_version}", first="")
    for name in ("now", "advised", "advised / now"):
        rows.add_column(name, justify="right", no_wrap=True)
    for name, now, advised, ratio in (
        ("encode", times.now.encode, times.advised.encode, times.encode_ratio),
        ("decode", times.now.decode, times.advised.decode, times.decode_ratio),
    ):
        rows.add_row(name, f"{now * 1e6:,.2f} µs", f"{advised * 1e6:,.2f} µs", f"{ratio:.2f}")
    yield rows
    engine = "the compiled kernel" if times.kernel else "plain Python"
    yield Text(f"By {engine}: medians over {count_of(times.messages, 'message')} spread over the samples.", style="dim")
    if times.left_out:
        what = f"{count_of(len(times.left_out), 'message')} that version {advice.next_version} cannot carry"
        yield Text(f"not timed: {what}: {times.left_out[0]}", style="red")


def _notes(advice: Advice) -> Iterator[Text]:
    """Explain what is not in the tables; fields with the same note together."""
    notes: dict[str, list[str]] = {}
    for field in advice.fields:
        if field.note:
            notes.setdefault(field.note, []).append(label(field))
    if notes:
        yield Text()
    for note, labels in notes.items():
        yield Text(f"{', '.join(labels)}: {note}", style="dim")


def _verdict(advice: Advice, samples: Samples) -> Text:
    single, elements = advice.saved(elements=False), advice.saved(elements=True)
    saved = single + elements
    if not advice.fields:
        return Text(f"{advice.spec.name} has no field of int16, int32 or int64, so there is nothing to choose.")
    if not saved:
        return Text("Nothing to change: no encoding takes fewer bytes than what the spec has.", style="bold")
    text = f"Saved in all: {saved:,} of {count_of(samples.bytes, 'byte')} ({share(saved, samples.bytes)})"
    if elements:
        text += f", {elements:,} of them with elementEncoding"
    return Text(f"{text}; {saved / advice.messages:,.1f} bytes a message.", style="bold")


def to_paste(advice: Advice | MessageAdvice, file: str, due: str) -> Iterator[Text]:
    """Format the texts for the spec, in the order of its lines; nothing where nothing should change.

    Args:
        advice: the advice on the fields of one message.
        file: the name of the spec's file.
        due: the properties that the spec must have before.
    """
    changed = sorted((field for field in advice.fields if field.text), key=lambda field: field.field.location.line)
    if not changed:
        return
    yield Text()
    pair = {"request": " and in its response", "response": " and in its request"}.get(advice.spec.type, "")
    yield Text(f"To paste into the spec, once {due} there{pair}:", style="bold")
    for field in changed:
        yield Text(f"{file}:{field.field.location.line}: {' and '.join(field.paths)}", style="dim")
        yield Text(f"    {field.text}", style="green")


def label(field: FieldAdvice) -> str:
    """Format the field's path, marked if it is about an array's elements; of several paths the first and a count."""
    more = f" (and {len(field.paths) - 1} more)" if len(field.paths) > 1 else ""
    return f"{field.path}{ELEMENT_MARK if field.is_element else ''}{more}"


def share(part: int, whole: int) -> str:
    """Format a part in percent, never 0% or 100% unless it is exactly that."""
    percent = 100 * part / whole if whole else 0.0
    # 0.0% would say that there is none, and 100.0% that there is nothing else.
    if 0 < percent < 0.1:
        return "<0.1%"
    if 99.9 < percent < 100:
        return ">99.9%"
    return f"{percent:.0f}%" if percent in (0, 100) else f"{percent:.1f}%"
